"""`natural`: whether an event occurred in a clip of real footage (eccbench.txt, 4.1 and B.6)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import datasets
import numpy as np
import pyarrow as pa

from eccdata.builder import LOCAL, Builder, Cell
from eccdata.errors import EccdataError, problem
from eccdata.local_copies import LocalCopiesConfig, Source
from eccdata.streams.seeding import generator
from eccdata.video.density import CUTOFF
from eccdata.video.embedding import DINOV2

from . import limits
from .common import ANSWERS, repeated
from .footage import plan
from .footage.checks import clip_problems
from .footage.collections import SOURCES, Collections
from .footage.events import categories
from .footage.findings import findings
from .footage.local_clips import Wanted, write_clips
from .footage.measuring import densities
from .footage.selection import Clip, Question
from .limits import above

NO_SOURCE = "it reads your own copies; say where they are with " + " and ".join(
    f"--data-dir {name}=PATH" for name in SOURCES
)


@dataclass
class NaturalConfig(LocalCopiesConfig):
    """Settings of `natural`.

    Attributes:
        lengths: Frames of the clips; at native speed also their seconds. At most 2^20.
        clips_per_length: How many clips of each length, in the order of `lengths`; the paper's where none are given. At
            most 10^6.
        questions_per_clip: The most questions on one clip of each length, likewise.
        categories: The kinds of events.
        max_slowdown: The most that a clip may be slowed down.
        max_gap_s: Negatives of densely annotated videos have no longer stretch without any annotation.
        videos: `required` takes it for an error if the video of a chosen clip is missing or too short, `present`
            chooses among the videos that are there, `unchecked` looks at annotations alone.
        soccernet_videos: Which of SoccerNet's files the clips refer to.
        density: Measure the density of every clip; takes long, and wants `eccdata[models]`.
        density_cutoff: Clips that score below it are of low density; `median` takes each length's median.
        density_model: A DINOv2 on the Hub, or the folder of one. Rows carry its digest.
        density_cache: Folder of what was measured already; by default below the user's cache folder.
        density_device: `auto`, `cpu`, `cuda`, …
        density_batch_size: Frames that are embedded at once; at most 65,536.
        clips: Folder for the clips themselves, as MP4; none are cut where it is empty. It is no part of a release.

    """

    lengths: tuple[int, ...] = plan.LENGTHS
    clips_per_length: tuple[int, ...] = ()
    questions_per_clip: tuple[int, ...] = ()
    categories: tuple[str, ...] = tuple(categories())
    max_slowdown: float = 3.0
    max_gap_s: float = 60.0
    videos: Literal["required", "present", "unchecked"] = "required"
    soccernet_videos: Literal["720p", "224p"] = "720p"
    density: bool = False
    density_cutoff: float | Literal["median"] = CUTOFF
    density_model: str = field(default=DINOV2, metadata=LOCAL)
    density_cache: str = field(default="", metadata=LOCAL)
    density_device: str = field(default="auto", metadata=LOCAL)
    density_batch_size: int = field(default=16, metadata=LOCAL)
    clips: str = field(default="", metadata=LOCAL)

    def known_sources(self) -> tuple[Source, ...]:
        """EPIC-KITCHENS-100 and SoccerNet."""
        return tuple(SOURCES.values())

    def problems(self) -> list[str]:
        """What is wrong with the settings."""
        found = super().problems()
        found += [f"lengths={length}: must be at least 2" for length in self.lengths if length < 2]
        found += above("lengths", self.lengths, limits.CLIP_FRAMES)
        found += repeated("lengths", self.lengths) + repeated("categories", self.categories)
        found += [
            f"categories={name}: there is {', '.join(categories())}"
            for name in self.categories
            if name not in categories()
        ]
        found += [f"{name}: names none" for name in ("lengths", "categories") if not getattr(self, name)]
        found += self._wrong_counts("clips_per_length", plan.CLIPS, at_least=2, even=True)
        found += self._wrong_counts("questions_per_clip", plan.QUESTIONS, at_least=1, even=False)
        if not 1 <= self.max_slowdown < math.inf:
            found.append(f"max_slowdown={self.max_slowdown}: must be 1 or more, and finite")
        if not 0 <= self.max_gap_s < math.inf:
            found.append(f"max_gap_s={self.max_gap_s}: must be 0 or more, and finite")
        if self.density_cutoff != "median" and not math.isfinite(self.density_cutoff):
            found.append(f"density_cutoff={self.density_cutoff}: must be median or finite")
        if (self.density or self.clips) and self.videos == "unchecked":
            found.append("videos=unchecked: clips cannot be cut or measured without their videos")
        if self.density_batch_size < 1:
            found.append(f"density_batch_size={self.density_batch_size}: must be 1 or more")
        found += above("density_batch_size", [self.density_batch_size], limits.BATCH_FRAMES)
        return found

    def fingerprint(self) -> str:
        """Digest of the annotations, and of which videos are there where that counts."""
        return Collections.of(self.data_dirs, self.soccernet_videos).fingerprint(self.videos == "present")

    def _wrong_counts(
        self, setting: str, papers: dict[int, int], *, at_least: int, even: bool
    ) -> Iterator[str]:
        counts = getattr(self, setting)
        if not counts:
            for length in self.lengths:
                if length not in papers:
                    yield f"{setting}: the paper has no clips of {length} frames; say how many for each length"
            return
        if len(counts) != len(self.lengths):
            yield f"{setting}={','.join(map(str, counts))}: must be as many numbers as lengths ({len(self.lengths)})"
        yield from above(setting, counts, limits.CLIPS)
        for count in counts:
            if count < at_least or (even and count % 2):
                yield f"{setting}={count}: must be at least {at_least}{' and even' if even else ''}"


class Natural(Builder):
    """ECCBench's natural set: a manifest of clips in the user's own copies, and whether an event occurs in each.

    One row a question. Clips are given by start and end in seconds; their frames are `length` pictures, the i-th at
    `start_s + i * (end_s - start_s) / length`. The rows hold no pictures.
    """

    benchmark = "eccbench"
    configuration = "natural"
    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = NaturalConfig
    sources: ClassVar[tuple[str, ...]] = tuple(SOURCES)
    config: NaturalConfig

    @classmethod
    def features(cls) -> datasets.Features:
        """The columns of a row."""
        return datasets.Features(
            {
                "question_id": datasets.Value("string"),
                "clip_id": datasets.Value("string"),
                "length": datasets.Value("int32"),
                "source": datasets.Value("string"),
                "video_id": datasets.Value("string"),
                "video_path": datasets.Value("string"),
                "start_s": datasets.Value("float64"),
                "end_s": datasets.Value("float64"),
                "slowdown": datasets.Value("float64"),
                "category": datasets.Value("string"),
                "question": datasets.Value("string"),
                "answer": ANSWERS,
                "annotation_ids": datasets.List(datasets.Value("string")),
                "license": datasets.Value("string"),
                "density_score": datasets.Value("float64"),
                "density_band": datasets.Value("string"),
                "density_cutoff": datasets.Value("float64"),
                "density_model_digest": datasets.Value("string"),
                "bits_per_frame": datasets.Value("float64"),
                "encoder_missed_target": datasets.Value("bool"),
            }
        )

    def source_digests(self) -> dict[str, str]:
        """SHA-256 over the annotations of each source that was given."""
        return Collections.of(self.config.data_dirs, self.config.soccernet_videos).digests()

    def unrepeatable(self) -> str:
        """Say so if no source was given, or if it would take measuring."""
        if not self.config.data_dirs:
            return NO_SOURCE
        return "densities are not measured again" if self.config.density else ""

    def cells(self) -> list[Cell]:
        """A cell for each length of which there are clips.

        Raises:
            EccdataError: No source was given, or files are missing or cannot be read.

        """
        return [
            Cell("test", {"length": length}, 0, len(questions))
            for length, questions in self._chosen.items()
            if questions
        ]

    def table(self, cell: Cell) -> pa.Table:
        """The questions on clips of one length."""
        length = int(cell.key["length"])
        questions = self._chosen[length]
        clips = {_clip_id(question.clip): question.clip for question in questions}
        wanted = [
            Wanted(
                name, self._collections.video(clip.source, clip.timeline.video.path), clip.start_s, clip.end_s
            )
            for name, clip in clips.items()
        ]
        config = self.config
        if config.clips:
            terms = "\n".join(SOURCES[name].remedy for name in config.data_dirs)
            write_clips(Path(config.clips).expanduser(), wanted, length, terms)
        measured: dict[str, dict[str, Any]] = {}
        if config.density:
            measured = densities(
                wanted,
                length,
                cutoff=config.density_cutoff,
                model=config.density_model,
                device=config.density_device,
                batch_size=config.density_batch_size,
                cache=config.density_cache,
            )
        counts: dict[str, int] = {}
        rows = []
        for question in questions:
            number = counts[question.category] = counts.get(question.category, -1) + 1
            row = _row(question, f"natural-L{length:04d}-{question.category}-{number:03d}")
            rows.append(row | measured.get(row["clip_id"], {}))
        return pa.Table.from_pylist(rows, schema=self.features().arrow_schema)

    def check(self, table: pa.Table) -> list[str]:
        """Re-derive what the rows say of themselves: questions, balance, spans, slowdown, bands."""
        return clip_problems(table, self.config.max_slowdown)

    def findings(self, read: Callable[[str], Iterator[pa.Table]]) -> str:
        """What the set is composed of beside the paper's, what is left out, and how dense its clips are."""
        wanted = {length: clips for length, clips, _ in self._wanted()}
        return findings(read("test"), wanted, self._collections)

    @cached_property
    def _collections(self) -> Collections:
        if not self.config.data_dirs:
            raise EccdataError(f"{self.benchmark}/{self.configuration} cannot be built: {NO_SOURCE}.")
        return Collections.of(self.config.data_dirs, self.config.soccernet_videos)

    @cached_property
    def _chosen(self) -> dict[int, list[Question]]:
        """The questions of each length, in the order of their rows."""
        config = self.config
        footage = self._collections.read(only_present=config.videos == "present")
        lines = plan.lay_out(footage, config.categories, config.max_gap_s)

        def chosen(length: int, clips: int, questions_per_clip: int) -> list[Question]:
            def rng(category: str, purpose: str) -> np.random.Generator:
                return generator(config.seed, "eccbench", "natural", length, category, purpose)

            return plan.questions(
                length,
                clips,
                lines,
                questions_per_clip=questions_per_clip,
                max_slowdown=config.max_slowdown,
                rng=rng,
            )

        found = {length: chosen(length, *counts) for length, *counts in self._wanted()}
        if not any(found.values()):
            raise problem(
                "The annotations that were given yield no pair of clips for any category and length:",
                [f"{name}: {path}" for name, path in config.data_dirs.items()],
                "Shorter lengths, a larger max_slowdown or more footage may help.",
            )
        if config.videos != "unchecked":
            self._collections.require_videos(q.clip for questions in found.values() for q in questions)
        return found

    def _wanted(self) -> list[tuple[int, int, int]]:
        config = self.config
        clips = config.clips_per_length or tuple(plan.CLIPS[length] for length in config.lengths)
        questions = config.questions_per_clip or tuple(plan.QUESTIONS[length] for length in config.lengths)
        return list(zip(config.lengths, clips, questions, strict=True))


def _row(question: Question, name: str) -> dict[str, Any]:
    clip, video = question.clip, question.clip.timeline.video
    return {
        "question_id": name,
        "clip_id": _clip_id(clip),
        "length": clip.length,
        "source": clip.source,
        "video_id": video.video_id,
        "video_path": video.path,
        "start_s": clip.start_s,
        "end_s": clip.end_s,
        "slowdown": clip.slowdown,
        "category": question.category,
        "question": categories()[question.category].question,
        "answer": ANSWERS.str2int("yes" if question.happens else "no"),
        "annotation_ids": list(question.annotation_ids),
        "license": SOURCES[clip.source].license,
    }


def _clip_id(clip: Clip) -> str:
    """Source, video, start and end in hundredths of a second, and frames: fit for a file's name."""
    video = "".join(c if c.isalnum() or c in "-_" else "." for c in clip.timeline.video.video_id)
    return f"L{clip.length:04d}-{clip.source}-{video}-{round(clip.start_s * 100)}-{round(clip.end_s * 100)}"
