"""The only files a query can reach: the responses of the runs it was given, and those read-only.

DuckDB's own access to files is switched off. `enable_external_access = false` with `allowed_paths` would not do:
what may be read may then be written as well (`COPY … TO` with `use_tmp_file false`, also inside a WITH clause).
"""

from __future__ import annotations

import io
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fsspec.spec import AbstractFileSystem

PROTOCOL = "results"


class ReadOnlyFiles(AbstractFileSystem):  # type: ignore[misc]
    """A file system of a fixed set of files, named `results://<name>`, that can be opened for reading alone.

    Args:
        paths: Where each file really is, by its name. Names are ours, so no path is ever taken for a glob.

    """

    protocol = PROTOCOL
    cachable = False

    def __init__(self, paths: Mapping[str, Path]) -> None:
        super().__init__()
        self._paths = dict(paths)

    def _find(self, path: str) -> Path:
        name = path.removeprefix(f"{PROTOCOL}://")
        if name not in self._paths:
            raise FileNotFoundError(path)
        return self._paths[name]

    def _open(self, path: str, mode: str = "rb", **_: Any) -> io.RawIOBase:
        if mode not in ("r", "rb"):
            raise PermissionError("results are read-only")
        return _SharedHandle(self._find(path))

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Name, size in bytes and type of one file."""
        return {"name": path, "size": self._find(path).stat().st_size, "type": "file"}

    def exists(self, path: str, **_: Any) -> bool:
        """Whether there is such a file."""
        return path.removeprefix(f"{PROTOCOL}://") in self._paths

    def glob(self, path: str, **_: Any) -> list[str]:
        """The file of exactly that name: nothing here is a pattern."""
        return [path] if self.exists(path) else []

    def modified(self, path: str) -> datetime:
        """When the file was last written."""
        return datetime.fromtimestamp(self._find(path).stat().st_mtime, UTC)


class _SharedHandle(io.RawIOBase):
    """An open file that several of DuckDB's threads use at once.

    DuckDB seeks and then reads, in two calls, on one handle from all its threads: with one position for all of
    them a thread reads where another has just sought. So every thread has a position of its own.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._size = path.stat().st_size
        self._lock = threading.Lock()
        self._position = threading.local()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return getattr(self._position, "value", 0)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self.tell(), io.SEEK_END: self._size}[whence]
        self._position.value = start + offset
        return start + offset

    def read(self, size: int = -1) -> bytes:
        with self._lock:
            self._file.seek(self.tell())
            data = self._file.read(size)
        self._position.value = self.tell() + len(data)
        return data

    def close(self) -> None:
        self._file.close()
        super().close()
