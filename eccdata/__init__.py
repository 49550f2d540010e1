"""Benchmarks of memory as datasets, evaluators as map functions over them, analysis as SQL.

The verbs of the command line are here as functions: `load_dataset`, `build`, `verify`, `push`, `evaluate`,
`tables`, `sql`, `report`, `train`, `study`. They are imported when first used, so that `import eccdata` costs nothing.
"""

from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eccdata.errors import EccdataError

if TYPE_CHECKING:
    from eccdata.analysis import sql as sql
    from eccdata.analysis import tables as tables
    from eccdata.evaluation import evaluate as evaluate
    from eccdata.release import build as build
    from eccdata.release import load_dataset as load_dataset
    from eccdata.release import push as push
    from eccdata.release import verify as verify
    from eccdata.reporting import report as report
    from eccdata.training import study as study
    from eccdata.training import train as train

__version__ = version("eccdata")

_CHECKOUT = Path(__file__).parent.parent
if (_CHECKOUT / "pyproject.toml").is_file() and (_CHECKOUT / "builders").is_dir():
    # An interpreter started in a checkout imports this folder and not the installed package; the content
    # folders, which an installation has inside it, stand beside it here.
    __path__.append(str(_CHECKOUT))

_VERBS = {
    "build": "eccdata.release",
    "evaluate": "eccdata.evaluation",
    "load_dataset": "eccdata.release",
    "push": "eccdata.release",
    "report": "eccdata.reporting",
    "sql": "eccdata.analysis",
    "study": "eccdata.training",
    "tables": "eccdata.analysis",
    "train": "eccdata.training",
    "verify": "eccdata.release",
}

__all__ = ["EccdataError", "__version__", *sorted(_VERBS)]


def __getattr__(name: str) -> Any:
    if name not in _VERBS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_VERBS[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
