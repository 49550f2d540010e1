"""The commands `eccdata train` and `eccdata study`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from eccdata.errors import EccdataError
from eccdata.settings import parse_pairs
from eccdata.terminal import progress_bar, tell

Width = Annotated[int, typer.Option(min=16, help="D, a multiple of 16; the paper's are 64 and 128.")]
Hours = Annotated[
    float | None, typer.Option(help="Stop a run once it has taken so long; a later call goes on.")
]
On = Annotated[
    Literal["auto", "cpu", "cuda"], typer.Option(help="Where to compute; a GPU where there is one.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting of the training; may be repeated."),
]


def train(
    name: Annotated[
        str, typer.Argument(help="The architecture, such as deltanet or 'Transformer (RoPE)'; or all.")
    ],
    folder: Annotated[Path, typer.Option("--out", "-o", help="The runs' folder; of all, a folder of them.")],
    width: Width = 64,
    data: Annotated[
        str | None,
        typer.Option(help="A release's folder or a Hub id with the configuration tokens; built if none."),
    ] = None,
    revision: Annotated[str | None, typer.Option(help="The Hub dataset's revision.")] = None,
    configuration: Annotated[
        str | None,
        typer.Option(
            help="Which of the declared configurations: 1 to 4, or all; all if none, the first with --smoke."
        ),
    ] = None,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="Short streams, few epochs: minutes on a CPU.")
    ] = False,
    hours: Hours = None,
    device: On = "auto",
    settings: Settings = None,
) -> None:
    """Train a backbone from scratch on tokens; of its configurations keep the best. Killed? Run it again: it goes on.

    \b
    [bold]Examples[/bold]
    eccdata train deltanet --smoke --width 32 -o runs/deltanet
    eccdata train retnet --width 128 --data release --hours 36 -o runs/retnet-d128
    torchrun --nproc-per-node 4 -m eccdata train mamba-2 --data release -o runs/mamba
    eccdata evaluate release -c tokens -s backbone --option checkpoint=runs/deltanet -o results/d
    """
    from eccdata import training
    from eccdata.backbones.settings import SLUGS
    from eccdata.training.settings import run_name

    given = parse_pairs(settings or (), "--set")
    numbers = None if configuration is None else _numbers(configuration)
    for each in SLUGS if name == "all" else (name,):
        with progress_bar() as progress:
            trained = training.train(
                each,
                out=folder / run_name(each, width) if name == "all" else folder,
                width=width,
                data=data,
                revision=revision,
                numbers=numbers,
                settings=given,
                smoke=smoke,
                hours=hours,
                device=device,
                progress=progress,
            )
        if os.environ.get("RANK", "0") == "0":  # of torchrun's processes one speaks
            tell(trained)


def study(
    folder: Annotated[Path, typer.Option("--out", "-o", help="Where everything goes.")] = Path("study"),
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME", help="An architecture; may be repeated. All if none."),
    ] = None,
    width: Annotated[
        list[int] | None, typer.Option(min=16, help="D; may be repeated. 32 if none, 64 and 128 with --full.")
    ] = None,
    full: Annotated[
        bool,
        typer.Option("--full", help="The paper's size, for GPUs: its rows, widths, epochs, configurations."),
    ] = False,
    data: Annotated[
        str | None,
        typer.Option(help="A release's folder or a Hub id with the configuration tokens; built if none."),
    ] = None,
    hours: Hours = None,
    device: On = "auto",
    settings: Settings = None,
    data_settings: Annotated[
        list[str] | None,
        typer.Option("--data-set", metavar="NAME=VALUE", help="A setting of the rows; may be repeated."),
    ] = None,
) -> None:
    """Do the paper's whole study of backbones: train all fourteen, ask them, set the bags beside, draw the figures.

    \b
    [bold]Examples[/bold]
    eccdata study
    eccdata study --only gru --only transformer-conv --set epochs=4 -o two
    eccdata study --full --data release --hours 36 --only retnet -o study
    """
    from eccdata import training

    with progress_bar() as progress:
        done = training.study(
            folder,
            names=only or None,
            widths=width or None,
            full=full,
            data=data,
            settings=parse_pairs(settings or (), "--set"),
            data_settings=parse_pairs(data_settings or (), "--data-set"),
            hours=hours,
            device=device,
            progress=progress,
        )
    tell(done)


def _numbers(configuration: str) -> list[int] | None:
    from eccdata.training.settings import CONFIGURATIONS

    if configuration == "all":
        return list(range(1, CONFIGURATIONS + 1))
    try:
        return [int(part) for part in configuration.split(",")]
    except ValueError as error:
        raise EccdataError(
            f"--configuration {configuration}: takes a number from 1 to {CONFIGURATIONS}, or all."
        ) from error
