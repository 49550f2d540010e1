"""`video-spatial`: was this run of letters on these very belts? (eccbench.txt, 4.1 and A.3)."""

from __future__ import annotations

from .video_questions import SPATIAL
from .video_text import VideoText


class VideoSpatial(VideoText):
    """The spatial variant: a candidate that did not occur has a true window's letters, one of them on a wrong belt.

    Where a letter keeps its belt through the stream, one who remembers the belt of each letter needs no order.
    """

    configuration = "video-spatial"
    variant = SPATIAL
