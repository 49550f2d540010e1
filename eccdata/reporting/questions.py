"""The questions behind responses, from the datasets that the runs asked, where these are still there."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from PIL import Image

from eccdata import rows
from eccdata.analysis import Run
from eccdata.contact_sheet import contact_sheet
from eccdata.dataset import Opened, open_dataset
from eccdata.errors import EccdataError, problem
from eccdata.show import exhibit_row
from eccdata.video.decoding import decode
from eccdata.video.probing import probe
from eccdata.video.sampling import sampler, select

CLIP_FRAMES = 16
FRAME_WIDTH = 240
PER_LINE = 4
SHADES = 48
"""Colours of a contact sheet of letters on belts, which has hardly more."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, ready for the page.

    Attributes:
        asked: What was asked, as a sentence.
        answer: The true answer.
        because: Why, where it follows from the row.
        stream: What stands at each place of the stream; empty where there are no places.
        candidate: The same of the candidate.
        marked: The places of the stream that match, or that a negative is like; empty where there are none.
        matches: Whether what is marked is the match.
        wrong: The places of the candidate that are on a wrong belt.
        row: The dataset's row, for a picture.

    """

    asked: str
    answer: str
    because: str = ""
    stream: tuple[str, ...] = ()
    candidate: tuple[str, ...] = ()
    marked: range = range(0)
    matches: bool = True
    wrong: tuple[int, ...] = ()
    row: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def has_picture(self) -> bool:
        """Whether it is about a video."""
        return self.row.get("video") is not None or "clip_id" in self.row


class Questions:
    """Looks up questions of the datasets that runs asked.

    Attributes:
        notes: One sentence for every dataset whose questions cannot be shown, and why.

    """

    def __init__(self, runs: Sequence[Run], datasets: Sequence[Path | str] = ()) -> None:
        """Find the datasets.

        Args:
            runs: Runs with cards. A card says which folder was asked and the digest of its rows.
            datasets: Folders, or ids on the Hub, to look at before the one that the card names.

        Raises:
            EccdataError: If one of `datasets` cannot be opened, or holds the rows of none of the runs.

        """
        self.notes: list[str] = []
        self._found: dict[str, Opened] = {}
        self._runs = {run.name: run for run in runs}
        asked: dict[str, list[Run]] = {}
        for run in runs:
            if run.dataset is not None:
                asked.setdefault(run.dataset, []).append(run)
        self._find_given(asked, datasets)
        for digest, them in asked.items():
            if digest not in self._found:
                self._find_named(digest, them)
        if without := [run.name for run in runs if run.dataset is None]:
            self.notes.append(f"Which questions were asked is not told by the cards of {_listed(without)}.")

    def find(self, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Question]:
        """Give the questions of these runs and names that can be found, by dataset digest and name."""
        names: dict[str, dict[str, None]] = {}
        configs: dict[str, str] = {}
        for run, question in wanted:
            digest = self.dataset(run)
            if digest in self._found:
                names.setdefault(digest, {})[question] = None
                configs[digest] = self._found[digest].config
        found = {}
        for digest, them in names.items():
            for name, row in _rows(self._found[digest], list(them)):
                found[digest, name] = _question(row, configs[digest])
        return found

    def dataset(self, run: str) -> str:
        """The digest of the rows that a run asked; empty where its card does not say."""
        return self._runs[run].dataset or ""

    def picture(self, question: Question, run: str) -> str | None:
        """Draw what a model saw, as a data URL; None where there is no video, or where it is no longer there.

        Raises:
            EccdataError: If a video is there and cannot be decoded.

        """
        row = question.row
        if row.get("video") is not None:
            with Image.open(io.BytesIO(contact_sheet(exhibit_row(row, "")))) as sheet:
                return _url(sheet.quantize(SHADES), "PNG", optimize=True)
        clips = self._runs[run].options.get("clips")
        if "clip_id" in row and isinstance(clips, str):
            clip = Path(clips).expanduser() / f"{row['clip_id']}.mp4"
            if clip.is_file():
                return _url(_clip_sheet(clip), "WEBP", quality=60)
        return None

    def _find_given(self, asked: Mapping[str, Sequence[Run]], datasets: Sequence[Path | str]) -> None:
        parts = dict.fromkeys(
            (run.identity["config"], run.identity["split"]) for them in asked.values() for run in them
        )
        useless = []
        for dataset in datasets:
            there, errors = {}, []
            for config, split in parts:
                try:
                    opened = open_dataset(dataset, config=config, split=split)
                except EccdataError as error:  # it may well have other configurations alone
                    errors.append(error)
                else:
                    there[opened.digest] = opened
            if errors and not there:
                raise errors[0]
            self._found |= {digest: opened for digest, opened in there.items() if digest in asked}
            if not there.keys() & asked.keys():
                useless.append(dataset)
        if useless:
            raise problem(
                "None of the runs asked what these datasets hold:",
                useless,
                "Give the release that was evaluated, or leave --dataset away.",
            )

    def _find_named(self, digest: str, runs: Sequence[Run]) -> None:
        run = runs[0]
        source = str(run.card.get("dataset", {}).get("source", ""))
        names = _listed([run.name for run in runs])
        remedy = "Give the release's folder with --dataset to see them."
        if not source or not Path(source).is_dir():
            self.notes.append(f"The questions of {names} are not here ({source or 'no folder'}). {remedy}")
            return
        try:
            opened = open_dataset(Path(source), config=run.identity["config"], split=run.identity["split"])
        except EccdataError as error:
            self.notes.append(f"The questions of {names} cannot be shown: {error}")
            return
        if opened.digest != digest:
            self.notes.append(f"{source} no longer holds what {names} asked. {remedy}")
            return
        self._found[digest] = opened


def _rows(opened: Opened, names: Sequence[str]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Find rows by the questions' names; of rows with many questions, the question with what it shares."""
    dataset = opened.dataset
    several = "queries" in dataset.column_names
    column = "stream_id" if several else "question_id"
    if column not in dataset.column_names:
        return
    wanted = {name: name.rpartition("-q")[0] if several else name for name in names}
    ids = (
        dataset.with_format("arrow")[:][column]
        if dataset._indices is not None
        else dataset.data.column(column)
    )
    at = pc.index_in(pa.array(list(wanted.values()), pa.string()), value_set=ids.cast(pa.string()))
    places = {name: place for name, place in zip(wanted, at.to_pylist(), strict=True) if place is not None}
    unique = sorted(set(places.values()))
    by_place = dict(zip(unique, rows.iterate(dataset.select(unique)), strict=True))
    for name, place in places.items():
        row = by_place[place]
        if not several:
            yield name, row
            continue
        number = name.rpartition("-q")[2]
        if number.isascii() and number.isdigit() and int(number) < len(row["queries"]):
            yield name, {**row, **row["queries"][int(number)], "question_id": name}


def _question(row: Mapping[str, Any], config: str) -> Question:
    if "stream" not in row or "candidate" not in row:
        return Question(str(row.get("question", "")), str(row.get("answer", "")), row=row)
    shown = exhibit_row(row, config)
    return Question(
        shown.asked,
        shown.answer,
        shown.because,
        shown.stream,
        shown.candidate,
        shown.marked,
        shown.answer == "yes",
        shown.wrong,
        row,
    )


def _clip_sheet(clip: Path) -> Image.Image:
    """Frames of a natural clip, evenly spread, in a grid."""
    chosen = select(sampler("uniform-unique", n=CLIP_FRAMES), probe(clip).timing)
    frames = [Image.fromarray(frame) for frame in decode(clip, chosen)]
    height = round(FRAME_WIDTH * frames[0].height / frames[0].width)
    sheet = Image.new("RGB", (FRAME_WIDTH * PER_LINE, -(-len(frames) // PER_LINE) * height))
    for place, frame in enumerate(frames):
        sheet.paste(
            frame.resize((FRAME_WIDTH, height)), (place % PER_LINE * FRAME_WIDTH, place // PER_LINE * height)
        )
    return sheet


def _url(picture: Image.Image, form: str, **options: Any) -> str:
    file = io.BytesIO()
    picture.save(file, form, **options)
    return f"data:image/{form.lower()};base64,{base64.b64encode(file.getvalue()).decode()}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
