"""A plot of cost against length, as SVG, PNG or a page of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eccdata.errors import EccdataError
from eccdata.flops.architectures import Architecture
from eccdata.flops.pricing import FrameSize, price
from eccdata.flops.showing import TERMS, Asked
from eccdata.media import Layout

ENDINGS = (".svg", ".png", ".html")
POINTS = 96


def check_ending(out: Path) -> None:
    """See that a file's ending says what is to be drawn.

    Raises:
        EccdataError: If it does not.

    """
    if out.suffix.lower() not in ENDINGS:
        raise EccdataError(
            f"What to draw into {out} cannot be told from its ending. Known are {', '.join(ENDINGS)}."
        )


def plot(
    models: Sequence[Architecture],
    asked: Asked,
    out: Path,
    *,
    layout: Layout = "video",
    limits: bool = False,
) -> Path:
    """Draw what models cost at any length: of one model each term and the total, of several their totals.

    The length is that of the first clip in frames, or of the text in tokens where there is no clip; all else is as
    asked for.

    Args:
        models: Whose cost.
        asked: All but the length.
        out: A file that ends in .svg, .png or .html.
        layout: As in `eccdata.flops.price`.
        limits: As there.

    Raises:
        EccdataError: Where the ending is another, what draws is not installed, or a price is not known.

    """
    if out.suffix.lower() not in ENDINGS:
        raise EccdataError(
            f"What to draw into {out} cannot be told from its ending. Known are {', '.join(ENDINGS)}."
        )
    from eccdata.reporting import vega
    from eccdata.reporting.palette import colours

    light = colours("light")
    rows = curve(models, asked, layout=layout, limits=limits)
    spec = _spec(models, asked, rows)
    ending = out.suffix.lower()
    if ending == ".html":
        text: str = vega.needed("vl_convert").vegalite_to_html(
            {**vega.with_data(spec, rows), "background": light["paper"]},
            bundle=True,
            vl_version=vega.VERSION,
            config=vega.config(light) | {"padding": 16},
        )
        content = text.encode()
    else:
        content = vega.svg(spec, rows, light).encode() if ending == ".svg" else vega.png(spec, rows, light)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(content)
    except OSError as error:
        raise EccdataError(f"{out} cannot be written: {error.strerror}.") from error
    return out


def curve(
    models: Sequence[Architecture], asked: Asked, *, layout: Layout = "video", limits: bool = False
) -> list[dict[str, Any]]:
    """The rows of the plot: `length`, `series` (a term or a model) and `flops`, at lengths equally far in logs."""
    clips = asked.clips
    shown: list[tuple[ArrayLike, FrameSize | None]]
    most = max(1024, clips[0][0]) if clips else max(131_072, asked.prompt_tokens)
    lengths = np.unique(np.geomspace(1 if clips else 16, most, POINTS).round().astype(np.int64))
    rows = []
    for model in models:
        shown = [(lengths, clips[0][1]), *clips[1:]] if clips else []
        cost = price(
            model,
            clips=shown,
            prompt_tokens=asked.prompt_tokens if clips else lengths,
            answer_tokens=asked.answer_tokens,
            queries=asked.queries,
            layout=layout,
            limits=limits,
        )
        series = [(model.name, cost.per_query)]
        if len(models) == 1:
            series = [(name, getattr(cost, term)) for term, name in TERMS]
            if asked.queries > 1:
                series = [
                    (name, flops / (1 if name == "decode" else asked.queries)) for name, flops in series
                ]
            series.append(("total", cost.per_query))
        for name, flops in series:
            values = np.broadcast_to(flops, lengths.shape)
            rows += [
                {"length": length, "series": name, "flops": flops}
                for length, flops in zip(lengths.tolist(), values.tolist(), strict=True)
                if flops > 0
            ]
    return rows


def _spec(models: Sequence[Architecture], asked: Asked, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    one = len(models) == 1
    order = ["total", *(name for _, name in TERMS)] if one else [model.name for model in models]
    series = {"field": "series", "type": "nominal", "scale": {"domain": order}, "legend": {"title": None}}
    powers = [math.log10(row["flops"]) for row in rows]
    decades = [10.0**power for power in range(math.floor(min(powers)), math.ceil(max(powers)) + 1)]
    title = "What an answer costs" + (f": {models[0].name}" if one else "")
    beside = Asked(asked.clips[1:], asked.prompt_tokens, asked.answer_tokens, asked.queries)
    length = "frames" if asked.clips else "tokens of text"
    size = asked.clips[0][1] if asked.clips else None
    of = f" of {size[0]}×{size[1]}" if size else ""
    subtitle = f"{length}{of} along the axis" + (f"; {beside}" if asked.clips else "")
    return {
        "title": {"text": title, "subtitle": subtitle},
        "description": f"{title}, in FLOPs, against the length in {length}. Both axes are logarithmic.",
        "width": 520,
        "height": 340,
        "mark": "line",
        "encoding": {
            "x": {
                "field": "length",
                "type": "quantitative",
                "scale": {"type": "log", "base": 2, "nice": False},
                "axis": {"title": f"L ({length}{of})", "format": ",d", "grid": False},
            },
            "y": {
                "field": "flops",
                "type": "quantitative",
                "scale": {"type": "log", "nice": False, "domain": [decades[0], decades[-1]]},
                "axis": {"title": "FLOPs a question", "format": "~s", "values": decades},
            },
            "color": series,
            "strokeDash": series,
            "tooltip": [
                {"field": "series", "type": "nominal"},
                {"field": "length", "type": "quantitative", "format": ",d"},
                {"field": "flops", "type": "quantitative", "format": ".3s"},
            ],
        },
    }
