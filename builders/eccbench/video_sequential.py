"""`video-sequential`: was this run of letters on belts in the video? (eccbench.txt, 4.1 and A.3)."""

from __future__ import annotations

from .video_questions import SEQUENTIAL
from .video_text import VideoText


class VideoSequential(VideoText):
    """The sequential variant: a candidate that did not occur is the absent candidate of `text`, rendered.

    Its letters lie on the belts that the stream gave them, so that only their order can tell.
    """

    configuration = "video-sequential"
    variant = SEQUENTIAL
