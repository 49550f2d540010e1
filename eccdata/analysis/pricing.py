"""What responses cost, in the views: columns of `responses`, the table `architectures`, and macros of the formulas.

Everything is worked out by the query that reads it: from a small table of a price per run, and from the clips that a
response was shown, by a function that works out each shape of clips once.

N is the server's own count of the prompt, in which its vision tokens are. Tower and connector are priced by the clips
that were sent and the rules by which the audit expects their tokens, limits on pixels included; where the server
counts other tokens than these rules (a run that went on all the same), in proportion to its count, which is exact for
a server that took other frames of the same size. What a system states of its own price goes before all of it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from duckdb.func import FunctionNullHandling, PythonUDFType

from eccdata import catalog
from eccdata.analysis.runs import Run
from eccdata.flops import formulas
from eccdata.flops.architectures import Architecture, architectures, shipped
from eccdata.flops.clips import Clip, Look, look, look_by, rule_of
from eccdata.flops.serving import Served, served

OWN = ("flops_write", "flops_read")
"""Columns in which a system states its own price: these go before what is worked out."""
PRICED = (*OWN, "flops", "priced", "input_tokens", "answer_tokens")
"""Columns that the views give to every response; those of OWN alone can come from the results."""

_LOOK = pa.struct([("tokens", pa.float64()), ("flops", pa.float64())])

_FROM_MEDIA = (
    "list_transform(response.media, lambda clip: {'frames': len(clip.indices), 'width': clip.width, "
    "'height': clip.height, 'layout': if(starts_with(clip.mime, 'video/'), 'video', 'frames')})"
)


def add_prices(connection: duckdb.DuckDBPyConnection, runs: Sequence[Run]) -> None:
    """Add the tables `architectures` and `run_prices`, the macros of `pricing.sql`, and the price of clips.

    `run_prices` has a row a run: `priced_as`, the model whose price its responses have (null where none is known),
    and B (`b`; `b_images` where an image is present), A (`a`), F_voc (`f_voc`).

    Raises:
        EccdataError: A user's own declarations cannot be read.

    """
    by_run = {
        run.identity["run_id"]: None if _prices_itself(run) else served(run.identity["model"], run.card)
        for run in runs
    }
    known = architectures()
    _create_architectures(connection, known)
    connection.execute("""
        CREATE TABLE run_prices (
            run_id VARCHAR, priced_as VARCHAR, b DOUBLE, b_images DOUBLE, a DOUBLE, f_voc DOUBLE, shows_clips BOOLEAN
        )
    """)
    insert(
        connection,
        "run_prices",
        [
            [run_id, *_prices(one), _shows_clips(run)]
            for run, (run_id, one) in zip(runs, by_run.items(), strict=True)
        ],
    )
    priced: dict[str, Architecture | Served] = {each.name: each for each in reversed(known)}
    priced |= {run_id: one for run_id, one in by_run.items() if one is not None}
    connection.create_function(
        "clip_price",
        _ClipPrices(priced),
        [duckdb.dtype("VARCHAR")],
        duckdb.dtype("STRUCT(tokens DOUBLE, flops DOUBLE)"),
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,
    )
    connection.execute((files("eccdata.analysis") / "pricing.sql").read_text("utf-8"))


def priced_columns(there: Collection[str]) -> str:
    """SQL of the columns that a price adds to `responses`, over `response` and `of_run`, its run's row of `run_prices`.

    Args:
        there: The columns that the responses have.

    Returns:
        Expressions, separated by commas: `input_tokens` (N: the prompt's tokens as the server counts them, those of
        vision among them), `answer_tokens` (T_ans), `flops_write` (tower, connector and prefill), `flops_read`
        (decode) and `flops` (both: one question a stream); each is null where it is not known, and never 0. `priced`
        says whether the model has a price and its tokens were told, or the system states its own: all that `flops`
        takes but clips that some rule speaks of.

    """

    def of(name: str, kind: str) -> str:
        return f"response.{name}" if name in there else f"NULL::{kind}"

    tokens, reply = of("prompt_tokens", "INTEGER"), of("reply_chars", "INTEGER")
    n = f"{tokens}::DOUBLE"
    t = (
        f"answer_tokens_until({of('completion_tokens', 'INTEGER')}, {of('commit_char', 'INTEGER')}, {reply}, "
        f"coalesce(length({of('reasoning', 'VARCHAR')}), 0))"
    )
    looked, b = "0.0e0", "of_run.b"
    if clips := "response.clips" if "clips" in there else _FROM_MEDIA if "media" in there else "":
        key = (
            f"concat(of_run.run_id, '|', array_to_string(list_transform({clips}, lambda clip: "
            "concat(clip.frames, ':', clip.width, ':', clip.height, ':', clip.layout)), ','))"
        )
        price = f"clip_price({key})"
        # a server that took other frames than were sent looked at more or less of the same
        share = f"coalesce({of('vision_tokens_reported', 'INTEGER')} / nullif({price}.tokens, 0), 1)"
        shown = f"{price}.flops * {share}"
        # where the model has no price, none of its clips has
        looked = (
            "CASE WHEN NOT of_run.shows_clips THEN 0.0e0 "
            f"WHEN of_run.priced_as IS NOT NULL AND {clips} IS NOT NULL THEN {shown} END"
        )
        b = f"if(of_run.shows_clips AND len({clips}) > 0, of_run.b_images, of_run.b)"
    own = {name: f"{of(name, 'DOUBLE')}::DOUBLE" for name in OWN}
    write = f"coalesce({own['flops_write']}, {looked} + prefill({b}, of_run.a, {n}))"
    read = f"coalesce({own['flops_read']}, decode({b}, of_run.a, of_run.f_voc, {n}, {t}))"
    stated = " AND ".join(f"{value} IS NOT NULL" for value in own.values())
    counted = f"{n} IS NOT NULL AND {of('completion_tokens', 'INTEGER')} IS NOT NULL"
    return (
        f"{n} AS input_tokens, {t} AS answer_tokens, {write} AS flops_write, {read} AS flops_read, "
        f"{write} + {read} AS flops, (of_run.priced_as IS NOT NULL AND {counted}) OR ({stated}) AS priced"
    )


class _ClipPrices:
    """`clip_price`: from `WHO|frames:width:height:layout,…` to tokens, and FLOPs of tower and connector."""

    def __init__(self, priced: dict[str, Architecture | Served]) -> None:
        self._priced = priced
        self._of = lru_cache(maxsize=65_536)(self._work_out)

    def __call__(self, keys: Any) -> Any:
        encoded = (keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys).dictionary_encode()
        found = [None if key is None else self._of(key) for key in encoded.dictionary.to_pylist()]
        return pc.take(pa.array(found, _LOOK), encoded.indices)

    def _work_out(self, key: str) -> dict[str, float] | None:
        who, _, clips = key.rpartition("|")
        one = self._priced.get(who)
        whole = Look()
        for clip in filter(None, clips.split(",")):
            parts = clip.split(":")
            if one is None or "" in parts:
                return None
            frames, width, height = (int(part) for part in parts[:3])
            shape = Clip(frames, width, height, "video" if parts[3] == "video" else "frames")
            cost = (
                look_by(one.architecture, shape, rule_of(one.rules, shape))
                if isinstance(one, Served)
                else look(one, shape)
            )
            if cost is None:
                return None
            whole += cost
        return {"tokens": float(whole.tokens), "flops": float(whole.vision + whole.connector)}


def _prices(one: Served | None) -> list[Any]:
    if one is None:
        return [None] * 5
    language = one.architecture.language
    plain, sighted = formulas.body(language, images=False), formulas.body(language)
    return [one.architecture.name, plain.b, sighted.b, plain.a, plain.f_voc]


def _shows_clips(run: Run) -> bool:
    return "media" in run.columns


def _prices_itself(run: Run) -> bool:
    """Whether a run's system states its own price: of the parts that it is made of, one by itself is not the price."""
    if OWN[0] not in run.columns or run.identity["system"] not in catalog.systems():
        return False
    system = catalog.system(run.identity["system"])
    return OWN[0] in getattr(system, "columns", pa.schema([])).names


def _create_architectures(connection: duckdb.DuckDBPyConnection, known: Sequence[Architecture]) -> None:
    connection.execute("""
        CREATE TABLE architectures (
            model VARCHAR, place INTEGER, declared BOOLEAN, names VARCHAR[], b DOUBLE, b_text DOUBLE, a DOUBLE,
            f_voc DOUBLE, context INTEGER, family VARCHAR, config_sha256 VARCHAR
        )
    """)
    rows = []
    for place, each in enumerate(known):
        plain, sighted = formulas.body(each.language, images=False), formulas.body(each.language)
        digest = each.source.sha256 if each.source else None
        names = [*each.names, *each.checkpoints]
        declared = each not in shipped()
        prices = [sighted.b, plain.b, plain.a, plain.f_voc]
        rows.append([each.name, place, declared, names, *prices, each.context, each.family, digest])
    insert(connection, "architectures", rows)


def insert(connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Sequence[Any]]) -> None:
    """Insert rows in one go: one by one takes DuckDB ten times as long."""
    names = [name for name, *_ in connection.execute(f"DESCRIBE {table}").fetchall()]
    found = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows])
    connection.register("found", found)
    connection.execute(f"INSERT INTO {table} BY NAME FROM found")
    connection.unregister("found")
