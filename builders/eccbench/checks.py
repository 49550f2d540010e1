"""What ECCBench's rows claim, worked out again from the rows: `eccdata verify` calls it cell by cell.

A check that can be wrong in the same way as the builder finds nothing. So this is written against the columns alone:
answers by searching the stream's bytes, rates from the stream, balance by counting.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eccdata.streams.bands import LOW_BAND
from eccdata.streams.lempel_ziv import lempel_ziv_rate

from .common import ANSWERS, BANDS, MembershipConfig

KINDS = ("uniform", "near-miss", "sibling", "corruption", "wrong-belt")
YES = ANSWERS.str2int("yes")


@dataclass(frozen=True)
class Question:
    """One question as its columns say it.

    Attributes:
        name: How a problem calls it.
        stream: Index of its stream among the table's.
        candidate: The symbols.
        answer: The label.
        position: The index of the first occurrence, -1 for none.
        negative_kind: How it was drawn; None for positives.

    """

    name: str
    stream: int
    candidate: bytes
    answer: int | None
    position: int | None
    negative_kind: str | None


def question_problems(
    table: pa.Table, config: MembershipConfig, *, stream: str = "stream", candidate: str = "candidate"
) -> list[str]:
    """Check a table of one row a question; `stream` and `candidate` are the columns that answers follow from."""
    streams = byte_lists(table["stream"])
    searched = byte_lists(table[stream])
    names, ids = table["question_id"].to_pylist(), table["stream_id"].to_pylist()
    found = []
    first: dict[str, int] = {}
    of_stream = []
    for row, name in enumerate(ids):
        known = first.setdefault(name, row)
        of_stream.append(known)
        if streams[known] != streams[row] or searched[known] != searched[row]:
            found.append(
                f"{names[row]}: its stream is not that of {names[known]}, which has the same stream_id"
            )
    questions = [
        Question(names[row], of_stream[row], *values)
        for row, values in enumerate(_query_columns(table, candidate))
    ]
    rows = table.take(list(first.values()))
    own = {row: searched[row] for row in first.values()}
    found += stream_problems(rows, [streams[row] for row in own], config)
    found += answer_problems(questions, own, config)
    found += balance_problems(questions, {row: name for name, row in first.items()}, config)
    return found


def sequence_problems(table: pa.Table, config: MembershipConfig) -> list[str]:
    """Check a table of one row a sequence, with all its questions in `queries`."""
    streams = dict(enumerate(byte_lists(table["stream"])))
    names = table["stream_id"].to_pylist()
    structs = pc.list_flatten(table["queries"])
    queries = pa.table({field.name: pc.struct_field(structs, field.name) for field in structs.type})
    owners = pc.list_parent_indices(table["queries"].combine_chunks()).to_pylist()
    seen: Counter[int] = Counter()
    questions = []
    for owner, values in zip(owners, _query_columns(queries), strict=True):
        questions.append(Question(f"{names[owner]} query {seen[owner]}", owner, *values))
        seen[owner] += 1
    found = list(stream_problems(table, list(streams.values()), config))
    found += answer_problems(questions, streams, config)
    found += balance_problems(questions, dict(enumerate(names)), config)
    return found


def stream_problems(rows: pa.Table, streams: list[bytes], config: MembershipConfig) -> Iterator[str]:
    """Check what is said of streams: length, alphabet, rate, band, deviations."""
    columns = {
        name: rows[name].to_pylist() for name in rows.column_names if name not in ("stream", "queries")
    }
    nothing = [None] * len(streams)
    for row, (name, stream) in enumerate(zip(columns["stream_id"], streams, strict=True)):
        length, size, rate = (columns[key][row] for key in ("length", "alphabet_size", "lz_rate"))
        if length != len(stream):
            yield f"{name}: length is {length}, and the stream has {len(stream)} symbols"
        if size != config.alphabet_size:
            yield f"{name}: alphabet_size is {size}, and the setting is {config.alphabet_size}"
        if stream and max(stream) >= config.alphabet_size:
            yield f"{name}: symbol {max(stream)} is not below {config.alphabet_size}"
        band = columns.get("band", nothing)[row]
        if "band" in columns and band not in BANDS:
            yield f"{name}: there is no band {band!r}"
        if rate is not None:
            again = lempel_ziv_rate(np.frombuffer(stream, dtype=np.uint8))
            if not math.isclose(rate, again, rel_tol=1e-9):
                yield f"{name}: lz_rate is {rate:.6f}, and the stream's is {again:.6f}"
            elif band == "low" and not LOW_BAND[0] <= again <= LOW_BAND[1]:
                yield f"{name}: the rate {again:.4f} is outside the low band, {LOW_BAND[0]} to {LOW_BAND[1]}"
        elif band != "max" or "queries" not in rows.column_names:
            yield f"{name}: lz_rate is missing"
        for deviation in columns.get("deviations", nothing)[row] or ():
            at, symbols = deviation["position"], bytes(deviation["symbols"])
            if stream[at : at + len(symbols)] != symbols or stream.count(symbols) != 1:
                yield f"{name}: the deviation at {at} does not stand there, or elsewhere too"


def answer_problems(
    questions: list[Question], streams: dict[int, bytes], config: MembershipConfig
) -> Iterator[str]:
    """Search every candidate in its stream, and compare answer, position and kind."""
    shortest, longest = config.candidate_lengths
    for question in questions:
        at = streams[question.stream].find(question.candidate)
        wrong = []
        if not shortest <= len(question.candidate) <= longest:
            wrong.append(f"the candidate has {len(question.candidate)} symbols, not {shortest} to {longest}")
        if (question.answer == YES) != (at >= 0) or question.answer not in range(len(ANSWERS.names)):
            where = f"occurs at {at}" if at >= 0 else "does not occur"
            wrong.append(f"the answer is {_label(question.answer)}, and the candidate {where}")
        if question.position != at:
            wrong.append(f"position is {question.position}, and the first occurrence is at {at}")
        if (question.negative_kind in KINDS) != (at < 0) or (at >= 0 and question.negative_kind is not None):
            wrong.append(f"negative_kind is {question.negative_kind}, which does not go with the answer")
        yield from (f"{question.name}: {reason}" for reason in wrong)


def balance_problems(
    questions: list[Question], names: dict[int, str], config: MembershipConfig
) -> Iterator[str]:
    """Count: half of a stream's questions are positive, and both halves have the same candidate lengths."""
    lengths: dict[int, tuple[Counter[int], Counter[int]]] = {}
    for question in questions:
        if question.stream not in lengths:
            lengths[question.stream] = (Counter(), Counter())
        lengths[question.stream][question.answer == YES][len(question.candidate)] += 1
    for stream, name in names.items():
        no, yes = lengths.get(stream, (Counter(), Counter()))
        if no.total() + yes.total() != config.queries:
            yield f"{name}: {no.total() + yes.total()} questions, and the setting is {config.queries}"
        if no.total() != yes.total():
            yield f"{name}: {yes.total()} questions are positive and {no.total()} negative"
        elif no != yes:
            yield f"{name}: positives and negatives differ in the lengths of their candidates"


def byte_lists(column: pa.ChunkedArray) -> list[bytes]:
    """The lists of small integers in a column, as bytes."""
    array = column.combine_chunks()
    symbols = array.flatten().to_numpy(zero_copy_only=False).astype(np.uint8).tobytes()
    ends = np.cumsum(array.value_lengths().fill_null(0).to_numpy())
    starts = np.concatenate([[0], ends[:-1]])
    return [symbols[a:b] for a, b in zip(starts, ends, strict=True)]


def _query_columns(
    table: pa.Table, candidate: str = "candidate"
) -> Iterator[tuple[bytes, int | None, int | None, str | None]]:
    rest = (table[name].to_pylist() for name in ("answer", "position", "negative_kind"))
    yield from zip(byte_lists(table[candidate]), *rest, strict=True)


def _label(answer: int | None) -> str:
    return ANSWERS.names[answer] if answer in range(len(ANSWERS.names)) else repr(answer)
