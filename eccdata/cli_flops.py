"""The command `eccdata flops`: what answers cost, and declaring what a model costs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

import orjson
import typer
from typer.core import TyperGroup

from eccdata.errors import EccdataError
from eccdata.terminal import out, tell


class _PriceByDefault(TyperGroup):
    """A group whose first word, where it is none of its commands, is a model to be priced."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        own = {*self.commands, *ctx.help_option_names}
        return super().parse_args(ctx, args if args and args[0] in own else ["price", *args])


app = typer.Typer(
    cls=_PriceByDefault,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "What answers cost in FLOPs, from first principles; declare what another model costs.\n\n"
        "[bold]eccdata flops MODEL[/bold] is [bold]eccdata flops price MODEL[/bold]; without a model it lists all that "
        "have a price."
    ),
)


@app.command()
def price(
    model: Annotated[
        list[str] | None,
        typer.Argument(help="As the paper names it, or a checkpoint's id; all are listed if none."),
    ] = None,
    frames: Annotated[
        list[int] | None, typer.Option("--frames", min=0, help="Frames of a clip; may be repeated.")
    ] = None,
    size: Annotated[
        list[str] | None,
        typer.Option(
            "--size", metavar="WIDTHxHEIGHT", help="Its frames' size; one for all clips, or one for each."
        ),
    ] = None,
    prompt_tokens: Annotated[int, typer.Option(min=0, help="Tokens of text in the prompt.")] = 128,
    answer_tokens: Annotated[
        float, typer.Option(min=1, help="Tokens of the answer until it commits itself.")
    ] = 3,
    queries: Annotated[int, typer.Option(min=1, help="Questions that share what is written.")] = 1,
    layout: Annotated[
        Literal["video", "frames"], typer.Option(help="Whether a clip is one file, or an image a frame.")
    ] = "video",
    limits: Annotated[
        bool,
        typer.Option(
            "--limits",
            help="Shrink frames to the processor's limits on pixels, as a server does to long videos.",
        ),
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Draw cost against length: .svg, .png or .html."),
    ] = None,
    json: Annotated[
        bool,
        typer.Option("--json", help="Machine-readable; every number's name ends or begins with its unit."),
    ] = False,
) -> None:
    """Show what answers of models cost, term by term: vision tower, connector, prefill, decode.

    With --json, flops_vision, flops_connector, flops_prefill and flops_decode are FLOPs of all the questions,
    flops_write and flops_read their sums, flops_per_query the share of one; …_tokens are tokens, frame_size_px pixels.

    \b
    [bold]Examples[/bold]
    eccdata flops
    eccdata flops "Qwen3-VL (8B)" --frames 64 --size 448x448
    eccdata flops Qwen/Qwen3-VL-8B-Instruct --frames 64 --frames 6 --size 448x448 --queries 16
    eccdata flops GLM-4.5V Qwen3-Omni --frames 64 --size 640x360 --plot cost.html
    """
    from eccdata.flops.architectures import architecture, architectures, user_file
    from eccdata.flops.plotting import check_ending
    from eccdata.flops.plotting import plot as draw
    from eccdata.flops.pricing import price as price_of
    from eccdata.flops.showing import Asked, Breakdown, Priced, size_of

    if not model:
        if plot is not None:
            raise EccdataError("Whose cost to draw is not said: name at least one model.")
        known = Priced(architectures(), user_file())
        if json:
            _print(known.to_list())
        else:
            out.print(known)
        return
    if plot is not None:
        check_ending(plot)
    sizes = [_size(text) for text in size or ()]
    if sizes and len(sizes) not in (1, len(frames or ())):
        raise EccdataError(
            f"There are {len(frames or ())} clips and {len(sizes)} sizes: give one, or one for each."
        )
    clips = tuple((count, size_of(sizes, place)) for place, count in enumerate(frames or ()))
    asked = Asked(clips, prompt_tokens, answer_tokens, queries)
    found = [architecture(name) for name in model]
    prices = [
        Breakdown(
            one,
            asked,
            price_of(
                one,
                clips=clips,
                prompt_tokens=prompt_tokens,
                answer_tokens=answer_tokens,
                queries=queries,
                layout=layout,
                limits=limits,
            ),
        )
        for one in found
    ]
    if json:
        _print([each.to_dict() for each in prices] if len(prices) > 1 else prices[0].to_dict())
    else:
        for each in prices:
            tell(each)
    if plot is not None:
        drawn = draw(found, asked, plot, layout=layout, limits=limits)
        if not json:
            out.print(
                f"Cost against length is drawn in {drawn}.", markup=False, highlight=False, soft_wrap=True
            )


@app.command()
def add(
    checkpoint: Annotated[
        str, typer.Argument(help="The checkpoint's folder, its config.json, or its id on the Hub.")
    ],
    name: Annotated[
        str | None, typer.Option(help="What to call the model, as results do; the checkpoint if none.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            help="The file of declarations; if none, $ECCDATA_ARCHITECTURES, or your own in the folder for settings. "
            "Prices are looked up in that of the latter two.",
        ),
    ] = None,
) -> None:
    """Declare what a model costs from its checkpoint's config.json, whose digest is kept.

    \b
    [bold]Examples[/bold]
    eccdata flops add Qwen/Qwen3-4B
    eccdata flops add checkpoints/my-model/config.json --name my-model
    """
    from eccdata.flops.declaring import declare

    tell(declare(checkpoint, name=name, file=file))


def _size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([1-9]\d*)[x×]([1-9]\d*)", text.strip())
    if found is None:
        raise EccdataError(
            f"--size {text} is no size of a frame. Write WIDTHxHEIGHT in pixels, such as 448x448."
        )
    return int(found[1]), int(found[2])


def _print(value: object) -> None:
    print(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())  # noqa: T201
