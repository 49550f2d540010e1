"""A trained backbone as a system: written with a stream once, read with all its questions (eccbench.txt, 4.4)."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eccdata.answers import ABSTAIN
from eccdata.backbones.settings import LAYERS
from eccdata.errors import EccdataError, problem
from eccdata.flops.backbones import backbone_price
from eccdata.requests import Json, Request, Response, Status, SymbolQuery
from eccdata.systems.memories.base import abstains
from eccdata.training.folders import quiet_transformers, selected_checkpoint

GROUPS_KEPT = 2
"""So many groups of written streams stay in memory for questions that come late."""


@dataclass(frozen=True)
class Backbone:
    """A backbone that `eccdata train` trained, or any saved `MemoryBackbone`.

    Its confidence is the softmax of its two logits, kept as P(yes). It answers with the likelier of yes and no; where
    the question states a payoff, it abstains when that is worth at least as much as answering. Its price is of a
    stream and of one question (C.2).

    Attributes:
        checkpoint: A folder of `eccdata train`, a folder of `save_pretrained`, or a model's id on the Hub.
        device: Where it computes, such as `cpu` or `cuda:1`; a GPU where there is one if `auto`.
        batch: The most streams, of one length, that are written at once.
        piece: The most symbols of each that are written at once: what bounds memory on streams of any length.

    """

    checkpoint: str
    device: str = "auto"
    batch: int = 16
    piece: int = 1024

    name: ClassVar[str] = "backbone"
    decodes: ClassVar[bool] = False
    columns: ClassVar[pa.Schema] = pa.schema({"flops_write": pa.float64(), "flops_read": pa.float64()})

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            EccdataError: Naming those that are out of range.

        """
        wrong = [
            f"{name}={getattr(self, name)}: at least 1"
            for name in ("batch", "piece")
            if getattr(self, name) < 1
        ]
        if wrong:
            raise problem("These options of backbone are out of range:", wrong)

    @property
    def label(self) -> str:
        """Architecture and width, such as `RetNet, D=64`, and the layers where these are not the paper's three."""
        config = self._model.config
        layers = "" if config.layers == LAYERS else f", layers={config.layers}"
        return f"{config.architecture}, D={config.width}{layers}"

    async def open(self) -> None:
        """Load the weights.

        Raises:
            EccdataError: Where there are none, torch is not installed, or there is no such device.

        """
        _ = self._model

    async def close(self) -> None:
        """Let go of the streams' states."""
        await self._desk.close()

    def fingerprint(self) -> Mapping[str, Json]:
        """The digest of the configuration and of the weights."""
        return {"system": self.name, "model": self._digest}

    def facts(self) -> Mapping[str, Json]:
        """What the model is, what it has been trained on, and what it was run with."""
        import torch

        config = self._model.config
        return {
            "kind": "trained backbone",
            **self.fingerprint(),
            "architecture": config.architecture,
            "width": config.width,
            "layers": config.layers,
            "settings": dict(config.settings),
            "parameters": sum(parameter.numel() for parameter in self._model.parameters()),
            "device": str(self._model.device),
            "torch": torch.__version__,
            "training": self._training,
        }

    async def respond(self, request: Request) -> Response:
        """Answer one request, together with all that are waiting: questions about one stream share its writing."""
        began = perf_counter()
        query = request.symbols
        markers = {meaning: marker for marker, meaning in request.options.items()}
        config = self._model.config
        wrong = _unreadable(query, markers, config.alphabet_size, config.candidate_slots)
        if wrong is not None or query is None:
            return Response(status=Status.INVALID_REQUEST, error=wrong)
        yes = await self._desk.ask(query)
        declines = ABSTAIN in markers and abstains(yes, request.payoff)
        meaning = ABSTAIN if declines else "yes" if yes >= 0.5 else "no"
        price = backbone_price(
            config.architecture, width=config.width, length=len(query.stream), layers=config.layers
        )
        return Response(
            status=Status.OK,
            text=markers[meaning],
            finish_reason="stop",
            probability=yes,
            option_probabilities={"yes": yes, "no": 1 - yes},
            details={"flops_write": float(price.flops_write), "flops_read": float(price.flops_read)},
            latency_s=perf_counter() - began,
        )

    @cached_property
    def _folder(self) -> Path:
        return _find(self.checkpoint)

    @cached_property
    def _model(self) -> Any:
        from eccdata import backbones

        # first: it says what to install where torch is missing
        architecture = backbones.MemoryBackbone
        import torch

        device = self.device
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        from safetensors import SafetensorError

        try:
            with quiet_transformers():
                return architecture.from_pretrained(self._folder).to(device).eval()
        except (OSError, ValueError, RuntimeError, SafetensorError) as error:
            raise problem(
                f"backbone cannot load {self.checkpoint} onto {device}: {str(error).splitlines()[0]}",
                remedy="Give a folder that `eccdata train` or save_pretrained wrote, and a device that is there.",
            ) from error

    @cached_property
    def _digest(self) -> str:
        digest = hashlib.sha256()
        for path in sorted(self._folder.iterdir()):
            if path.name == "config.json" or path.suffix == ".safetensors":
                digest.update(path.name.encode())
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
        return digest.hexdigest()

    @cached_property
    def _training(self) -> Json:
        """What the card of the training run says that the weights come from, where there is one."""
        import orjson

        try:
            card = orjson.loads((self._folder.parent / "training.json").read_bytes())
            return {name: card[name] for name in ("identity", "outcome")}
        except (OSError, ValueError, LookupError, TypeError):
            return None

    @cached_property
    def _desk(self) -> _Desk:
        return _Desk(self._model, self.batch, self.piece)


@dataclass
class _Group:
    """Streams of one length that were written together."""

    streams: Mapping[bytes, int]
    state: tuple[Any, ...]


@dataclass
class _Asked:
    query: SymbolQuery
    answer: asyncio.Future[float]


@dataclass
class _Desk:
    """Collects questions while none is being worked on, and works on all that have come, in another thread."""

    model: Any
    batch: int
    piece: int
    waiting: list[_Asked] = field(default_factory=list)
    groups: OrderedDict[tuple[bytes, ...], _Group] = field(default_factory=OrderedDict)
    working: asyncio.Task[None] | None = None

    async def ask(self, query: SymbolQuery) -> float:
        """Give P(yes)."""
        asked = _Asked(query, asyncio.get_running_loop().create_future())
        self.waiting.append(asked)
        if self.working is None or self.working.done():
            self.working = asyncio.create_task(self._work())
        return await asked.answer

    async def close(self) -> None:
        """Answer nothing more, and forget all streams."""
        if self.working is not None:
            self.working.cancel()
            await asyncio.gather(self.working, return_exceptions=True)
        self.groups.clear()

    async def _work(self) -> None:
        while self.waiting:
            await self._until_quiet()
            asked, self.waiting = self.waiting, []
            try:
                answers = await asyncio.to_thread(self._answers, [each.query for each in asked])
            except BaseException as error:
                for each in asked:
                    if not each.answer.done():
                        each.answer.set_exception(
                            error if isinstance(error, Exception) else asyncio.CancelledError()
                        )
                if not isinstance(error, Exception):
                    raise
                continue
            for each, answer in zip(asked, answers, strict=True):
                if not each.answer.done():
                    each.answer.set_result(answer)

    async def _until_quiet(self) -> None:
        """Wait until a round of the event loop brings no further question: all that can come have come."""
        seen = -1
        while len(self.waiting) != seen:
            seen = len(self.waiting)
            for _ in range(3):
                await asyncio.sleep(0)

    def _answers(self, queries: Sequence[SymbolQuery]) -> list[float]:
        import torch

        keys = [query.stream.tobytes() for query in queries]
        by_group: dict[tuple[bytes, ...], list[int]] = {}
        for number, group in enumerate(self._grouped(keys)):
            by_group.setdefault(group, []).append(number)
        found = [0.0] * len(queries)
        try:
            for group, numbers in by_group.items():
                written = self._written(group)
                answers = self._read(
                    written,
                    [written.streams[keys[number]] for number in numbers],
                    [queries[number].candidate for number in numbers],
                )
                for number, answer in zip(numbers, answers, strict=True):
                    found[number] = answer
        except torch.OutOfMemoryError as error:
            raise EccdataError(
                f"backbone ran out of memory with batch={self.batch} and piece={self.piece}. Give it less of either: "
                "both only change how much is computed at once."
            ) from error
        return found

    def _grouped(self, keys: Sequence[bytes]) -> list[tuple[bytes, ...]]:
        """Find for each question a group of streams: one that is written already, or a new one."""
        home = {key: group for group in self.groups for key in group}
        new: dict[int, list[bytes]] = {}
        for key in dict.fromkeys(keys):
            if key not in home:
                new.setdefault(len(key), []).append(key)
        for same in new.values():
            for start in range(0, len(same), self.batch):
                group = tuple(same[start : start + self.batch])
                home.update(dict.fromkeys(group, group))
        return [home[key] for key in keys]

    def _written(self, group: tuple[bytes, ...]) -> _Group:
        import torch

        if group in self.groups:
            self.groups.move_to_end(group)
            return self.groups[group]
        symbols = np.stack([np.frombuffer(key, np.uint8) for key in group]).astype(np.int64)
        with torch.inference_mode():
            state = self.model.write(torch.from_numpy(symbols).to(self.model.device), piece=self.piece)
        while len(self.groups) >= GROUPS_KEPT:
            self.groups.popitem(last=False)
        written = self.groups[group] = _Group({key: row for row, key in enumerate(group)}, state)
        return written

    def _read(
        self, group: _Group, rows: Sequence[int], candidates: Sequence[NDArray[np.uint8]]
    ) -> list[float]:
        import torch

        config = self.model.config
        places: list[tuple[int, int]] = []
        asked = [0] * len(group.streams)
        for row in rows:
            places.append((row, asked[row]))
            asked[row] += 1
        # rows with fewer questions than others are filled up with empty ones, whose answers nobody reads
        aligned = np.full((len(asked), max(asked), config.candidate_slots), config.pad_id, np.int64)
        for place, candidate in zip(places, candidates, strict=True):
            aligned[place][config.candidate_slots - len(candidate) :] = candidate
        with torch.inference_mode():
            logits = self.model.read(torch.from_numpy(aligned).to(self.model.device), group.state)
            yes = logits.double().softmax(-1)[..., 1].cpu().numpy()
        return [float(yes[place]) for place in places]


def _unreadable(
    query: SymbolQuery | None, markers: Mapping[str, str], alphabet_size: int, slots: int
) -> str | None:
    if query is None:
        return "backbone reads symbols, and this question has none"
    if not {"yes", "no"} <= markers.keys():
        return "backbone answers yes or no, and the question's options have no such markers"
    if query.alphabet_size > alphabet_size:
        return f"backbone was trained on {alphabet_size} symbols, and this stream has {query.alphabet_size}"
    if not 1 <= len(query.candidate) <= slots:
        return f"backbone reads candidates of 1 to {slots} symbols, and this one has {len(query.candidate)}"
    if not len(query.stream):
        return "the stream is empty"
    largest = max(int(query.stream.max()), int(query.candidate.max()))
    if largest >= query.alphabet_size:
        return f"symbol {largest} is not below the alphabet's size, {query.alphabet_size}"
    return None


def _find(checkpoint: str) -> Path:
    """Find the folder of a checkpoint's weights; what is on the Hub is fetched."""
    folder = Path(checkpoint)
    if folder.is_dir():
        found = folder if (folder / "config.json").is_file() else selected_checkpoint(folder)
        if found is None:
            raise problem(
                f"{folder} holds no weights of a backbone.",
                remedy="Give a folder that `eccdata train` or save_pretrained wrote.",
            )
        return found
    if checkpoint.count("/") != 1 or checkpoint.startswith((".", "/")):
        raise EccdataError(
            f"There is no folder {checkpoint}. Give one that `eccdata train` wrote, or a Hub id such as org/name."
        )
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        return Path(snapshot_download(checkpoint, allow_patterns=["config.json", "*.safetensors"]))
    except (HfHubHTTPError, OSError) as error:
        raise problem(
            f"There is neither a folder {checkpoint} nor a model of that id on the Hub that can be had: "
            f"{str(error).splitlines()[0]}"
        ) from error
