"""Declaring a model: its numbers from a checkpoint's config.json into the user's own file, with the config's digest."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson
import yaml
from filelock import FileLock, Timeout

from eccdata.errors import EccdataError
from eccdata.flops.architectures import Architecture, Source, declared, read, shipped, user_file
from eccdata.flops.config import from_config

WAIT_S = 30
HUB_ID = re.compile(r"(?!.*\.json$)[A-Za-z0-9][\w.-]*(?:/[\w.-]+)?", re.ASCII)
"""What may be a model's id on the Hub, and not a path: at most one slash, no dot or tilde in front, no .json behind."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """What came of declaring a model.

    Attributes:
        architecture: The model.
        file: Where it is declared.
        added: Whether it was not declared there before.

    """

    architecture: Architecture
    file: Path
    added: bool

    def __str__(self) -> str:
        """One sentence for a terminal."""
        source = self.architecture.source
        digest = f" (config.json {source.sha256[:12]})" if source else ""
        done = "is declared in" if self.added else "was declared before in"
        return f"{self.architecture.name}{digest} {done} {self.file}."


def declare(checkpoint: str, *, name: str | None = None, file: Path | str | None = None) -> Declaration:
    """Declare a model from its checkpoint, so that its responses have a price from now on.

    What stands in the file already, comments too, is left as it is.

    Args:
        checkpoint: The checkpoint's folder, its config.json, or its id on the Hub.
        name: What to call the model, such as its name in results; the checkpoint as it was
            given if none, or the folder of the config.json that was.
        file: The file of declarations; the user's own if none (`eccdata.flops.architectures.user_file`).

    Raises:
        EccdataError: The config.json cannot be had, or a price does not follow from it (naming each field that is
            missing); the name has a price already; or the file cannot be read or written.

    """
    name = checkpoint.removesuffix("/config.json") if name is None else name
    path = user_file() if file is None else Path(file)
    content = _config(checkpoint)
    source = Source(checkpoint=checkpoint, sha256=hashlib.sha256(content).hexdigest())
    made = from_config(_parsed(content, checkpoint), name=name, source=source)
    # what another process declares meanwhile would be lost with the file that this one read
    with _alone(path):
        there = declared(path)
        if made in there:
            return Declaration(made, path, added=False)
        for where, known in (("Table 2 of the paper", shipped()), (str(path), there)):
            for each in known:
                if taken := sorted({*each.all_names} & {*made.all_names}):
                    raise EccdataError(
                        f"{taken[0]} has a price already: that of {each.name} in {where}. "
                        + (
                            "Give another name (--name)."
                            if known is not there
                            else "Take it out of that file first."
                        )
                    )
        _append(path, made, there)
    return Declaration(made, path, added=True)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path.with_name(f".{path.name}.lock"), timeout=WAIT_S)
        with lock:
            yield
    except Timeout as error:
        raise EccdataError(
            f"{path} has been locked by another process for {WAIT_S} seconds. Try again once it has ended."
        ) from error
    except OSError as error:
        raise EccdataError(f"{path} cannot be written: {error.strerror}.") from error


def _config(checkpoint: str) -> bytes:
    from eccdata.systems.checkpoint import fetch  # here, for it asks for this package in its turn

    path = Path(checkpoint)
    try:
        if path.is_file():
            return path.read_bytes()
        if not path.is_dir() and not HUB_ID.fullmatch(checkpoint):
            raise EccdataError(
                f"There is no {checkpoint} on this machine, and it is no id of a model on the Hub either, which are "
                "like Qwen/Qwen3-4B. Give a checkpoint's folder, its config.json, or its id."
            )
        content = fetch(checkpoint, "config.json")
    except OSError as error:
        if path.is_dir() and not (path / "config.json").exists():
            raise EccdataError(f"{checkpoint} is no checkpoint: it holds no config.json.") from error
        where = (
            "" if path.exists() else f"there is no {checkpoint} on this machine, and of the Hub was heard: "
        )
        raise EccdataError(
            f"The config.json of {checkpoint} cannot be had: {where}{_reason(error)}"
        ) from error
    if not content:
        raise EccdataError(f"The config.json of {checkpoint} is empty.")
    return content


def _reason(error: OSError) -> str:
    said = error.strerror or str(error)
    return said if said.endswith((".", "!")) else f"{said}."


def _parsed(content: bytes, checkpoint: str) -> dict[str, object]:
    try:
        config = orjson.loads(content)
    except ValueError as error:
        raise EccdataError(f"The config.json of {checkpoint} is no JSON: {error}.") from error
    if not isinstance(config, dict):
        raise EccdataError(f"The config.json of {checkpoint} holds no JSON object.")
    return config


def _append(path: Path, made: Architecture, there: tuple[Architecture, ...]) -> None:
    entry = yaml.safe_dump(
        made.model_dump(mode="json", exclude_defaults=True), sort_keys=False, allow_unicode=True, width=110
    )
    before = path.read_text(encoding="utf-8") if path.exists() else "models:\n"
    item = re.search(r"(?m)^( *)- ", before)
    indent = item[1] if item else "  "
    lines = [f"{indent}{'- ' if not place else '  '}{line}" for place, line in enumerate(entry.splitlines())]
    text = re.sub(r"(?m)^models: *\[ *\] *$", "models:", before).rstrip("\n") + "\n" + "\n".join(lines) + "\n"
    try:
        whole = read(yaml.safe_load(text), str(path))
    except (yaml.YAMLError, EccdataError):
        whole = ()
    if whole != (*there, made):
        raise EccdataError(
            f"{path} is written in a way that nothing can be put behind. Put this into its list of models:\n{entry}"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.incomplete")
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        raise EccdataError(f"{path} cannot be written: {error.strerror}.") from error
