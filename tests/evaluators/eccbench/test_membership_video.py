"""The video prompt to the letter, what stands around the videos, and the same question as symbols."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from eccdata.errors import EccdataError
from eccdata.evaluators.eccbench.membership_video import MembershipVideo
from eccdata.evaluators.eccbench.prompts import Arm
from eccdata.keys import messages_digest, request_key
from eccdata.media import File, Sent
from eccdata.requests import Payoff, Request, Response, Status
from eccdata.systems.memories import Exact
from eccdata.video.manifest import FrameManifest
from eccdata.video.mp4 import mp4_bytes
from eccdata.video.reading import read_events
from eccdata.video.sampling import sampler

# The prompt as the paper prints it: quoted pieces, the longer ones wrapped with a hanging blank.
PRINTED = """\
"In the main video and option video, letters moved down three
 conveyer belts."
"A letter that appeared in any of the videos on a specific
 conveyer belt ALWAYS stayed on the same conveyer belt and
 only moved down, not left or right."
"The letters appeared sequentially. Only one was on the screen
 at a time."
"The letters continued moving down the conveyer belt until
 they left the screen."
"Examine the main video and the option video closely."
"Did this option video show events that exactly appeared
 SOMEWHERE in the main video, down to the order they appeared
 and which conveyer belt each letter was on?"
"Write {0} if yes, {1} if no, or {2} if unsure.
 Please put your answer in curly braces, e.g, {2}."
"""
SCORING = {
    "none": "",
    "a": "\nScoring: a correct answer earns +3 points, a wrong answer costs -1 point, and {2} earns 0 points. Answer "
    "only if you are more than 25% confident; otherwise answer {2}.",
    "b": "\nScoring: a correct answer earns +1 point, a wrong answer costs -4 points, and {2} earns 0 points. Answer "
    "only if you are more than 80% confident; otherwise answer {2}.",
}

STREAM, LANES = [8, 1, 4, 6, 2, 1, 0, 15], [0, 2, 1, 0, 2, 2, 1, 0]


def events(symbols: list[int], lanes: list[int]) -> np.ndarray[Any, Any]:
    return np.stack([symbols, lanes], axis=1)


def row(**changed: Any) -> dict[str, Any]:
    found = {
        "question_id": "video-spatial-L0008-low-s00-q03",
        "stream_id": "video-spatial-L0008-low-s00",
        "alphabet_size": 16,
        "stream": STREAM,
        "lanes": LANES,
        "candidate": [4, 6, 2],
        "candidate_lanes": [1, 0, 2],
        "answer": "yes",
        **changed,
    }
    found["video"] = {"bytes": mp4_bytes(events(found["stream"], found["lanes"])), "path": None}
    option = mp4_bytes(events(found["candidate"], found["candidate_lanes"]))
    return found | {"candidate_video": {"bytes": option, "path": None}}


def sent(request: Request, **files: str) -> Request:
    """The request with its clips as they might be sent."""
    spec = sampler("eccbench")
    manifest = FrameManifest(np.arange(2), np.arange(2.0), 448, 448, spec, "none", "")
    media = tuple(
        replace(medium, sent=Sent("video/mp4", (File(files.get(medium.name, medium.name), b""),), manifest))
        for medium in request.media
    )
    return replace(request, media=media)


@pytest.mark.parametrize("arm", ["none", "a", "b"])
def test_the_prompt_is_the_papers(arm: Arm) -> None:
    pieces = re.findall(r'"([^"]+)"', PRINTED)
    printed = "\n".join(piece.replace("\n", "") for piece in pieces)
    request = MembershipVideo(arm=arm).request(row())
    (message,) = request.messages
    first, main, between, option = message["content"]
    assert first == {"type": "text", "text": f"{printed}{SCORING[arm]}\n\nMain video:"}
    assert (main["media"], between["text"], option["media"]) == ("main", "Option video:", "option")
    assert request.options == {"{0}": "yes", "{1}": "no", "{2}": "abstain"}
    assert request.payoff == {"none": None, "a": Payoff(3, -1), "b": Payoff(1, -4)}[arm]


def test_both_videos_go_out_as_they_are() -> None:
    question = row()
    main, option = MembershipVideo().request(question).media
    assert main.source == question["video"]["bytes"]
    assert option.source == question["candidate_video"]["bytes"]
    assert (main.repeated, option.repeated) == (0, 0)


def test_an_odd_last_frame_is_repeated_by_copying_its_picture() -> None:
    main, option = MembershipVideo(frame_multiple=2).request(row()).media
    assert main.repeated == 0
    assert option.repeated == 1
    assert isinstance(option.source, bytes)
    assert read_events(option.source).tolist() == [[4, 1], [6, 0], [2, 2], [2, 2]]


def test_a_video_that_is_not_its_letters_cannot_be_made_longer() -> None:
    question = row() | {"candidate_lanes": [1, 1, 2]}
    with pytest.raises(EccdataError, match="no frame of it can be repeated"):
        MembershipVideo(frame_multiple=2).request(question)


def test_a_row_without_its_video_is_named() -> None:
    with pytest.raises(EccdataError, match="q03' has no video in its column video"):
        MembershipVideo().request(row() | {"video": {"bytes": None, "path": None}})


@pytest.mark.parametrize(
    ("candidate", "lanes", "answer"),
    [([4, 6, 2], [1, 0, 2], "yes"), ([4, 6, 2], [1, 1, 2], "no"), ([6, 4, 2], [0, 1, 2], "no")],
)
def test_a_memory_of_letters_and_belts_is_never_wrong(
    candidate: list[int], lanes: list[int], answer: str
) -> None:
    protocol = MembershipVideo(arm="b")
    question = row(candidate=candidate, candidate_lanes=lanes, answer=answer)
    request = protocol.request(question)
    assert request.symbols is not None
    assert request.symbols.alphabet_size == 48
    assert request.symbols.candidate.tolist() == [
        3 * c + lane for c, lane in zip(candidate, lanes, strict=True)
    ]
    columns = protocol.columns(question, asyncio.run(Exact().respond(request)))
    assert columns["correct"] is True
    assert columns["payoff"] == 1
    assert columns["layout"] == "video"


def test_the_key_covers_the_bytes_that_are_sent() -> None:
    request = MembershipVideo().request(row())

    def key(**files: str) -> bytes:
        ready = sent(request, **files)
        return request_key(ready, messages_digest(ready), "model", "server")

    assert key() == key()
    assert len({key(), key(main="other"), key(option="other"), key(main="option", option="main")}) == 4


def test_options_that_cannot_be_are_all_named() -> None:
    with pytest.raises(EccdataError) as error:
        MembershipVideo(layout="film", times=True, decoder="eyes", frame_multiple=0, sampler="every")
    for name in ("layout=film", "times=true", "decoder=eyes", "frame_multiple=0", "every"):
        assert name in str(error.value)


def test_failures_get_no_verdict() -> None:
    columns = MembershipVideo().columns(row(), Response(Status.TIMEOUT))
    assert {columns[name] for name in ("prediction", "correct", "payoff")} == {None}
    assert columns["layout"] == "video"
