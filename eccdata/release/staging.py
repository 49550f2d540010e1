"""A folder that is there whole or not at all: made in a hidden sibling, then renamed."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from eccdata.errors import EccdataError

_UNWRITABLE = {
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOTDIR,
    errno.ENAMETOOLONG,
    errno.EEXIST,  # a file stands where a folder above it is needed
}


@contextmanager
def staged(out: Path, *, force: bool, replaceable: Callable[[Path], bool]) -> Iterator[Path]:
    """Give a hidden folder beside `out` that becomes `out` when the block ends well, and vanishes when not.

    A process killed in the block leaves the hidden folder; the next call for the same `out` removes it. A lock
    keeps two processes from making the same folder at once.

    Args:
        out: The folder to be made.
        force: Replace what is there; it stays until the new one is complete.
        replaceable: Says of an existing folder whether `force` may replace it.

    Raises:
        EccdataError: `out` exists and may not be replaced, cannot be written, is being made by another
            process, or the disk is full.

    """
    out = Path(os.path.abspath(out))  # noqa: PTH100 - Path.absolute keeps `..`, whose sibling is elsewhere
    if not out.name:
        raise EccdataError(f"{out} cannot be a release's folder. Choose another --out.")
    building, replaced = out.with_name(f".{out.name}.building"), out.with_name(f".{out.name}.replaced")
    with told(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        with _locked(out):
            if replaced.exists() and not out.exists():
                # killed between the two renames of a replacement: the old folder is still the valid one
                replaced.rename(out)
            for left in (building, replaced):
                if left.exists():
                    shutil.rmtree(left)
            _refuse(out, force=force, replaceable=replaceable)
            building.mkdir()
            try:
                yield building
                if out.exists():
                    out.rename(replaced)
                building.rename(out)
            finally:
                shutil.rmtree(building, ignore_errors=True)
                if out.exists():
                    shutil.rmtree(replaced, ignore_errors=True)


@contextmanager
def told(out: Path) -> Iterator[None]:
    """Turn what the operating system says of writing to `out` into one clear error."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            free = shutil.disk_usage(_existing(out)).free
            raise EccdataError(
                f"There is no space left for {out} ({free / 1e6:,.0f} MB free). Nothing was left behind: "
                "make room, or choose another --out, and run it again."
            ) from error
        if error.errno in _UNWRITABLE:
            raise EccdataError(
                f"{out} cannot be written: {error.strerror}. Choose an --out that you may write to."
            ) from error
        raise


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    path = out.with_name(f".{out.name}.lock")
    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise EccdataError(
            f"Another process is building {out} right now. Wait for it, or choose another --out."
        ) from error
    try:
        yield
    finally:
        # unlinked while it is held: who waits for the old file finds it gone and takes a new one
        path.unlink(missing_ok=True)
        lock.release()


def _refuse(out: Path, *, force: bool, replaceable: Callable[[Path], bool]) -> None:
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise EccdataError(f"{out} exists and is no folder. Choose another --out.")
    if not out.exists() or not any(out.iterdir()):
        return
    if not force:
        raise EccdataError(
            f"{out} exists and is not empty. Replace it with --force, or choose another --out."
        )
    if not replaceable(out):
        raise EccdataError(
            f"{out} is no release made by `eccdata build`, so --force does not replace it. "
            "Choose another --out, or remove it yourself."
        )


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path
