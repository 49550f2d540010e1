"""`croissant/<benchmark>.yaml`: what a benchmark's features cannot say of it, read and checked.

A release may hold some of a benchmark's configurations alone, and its card and Croissant speak of these. So a
statement may be marked with the configurations that it is about, and is left out where none of them is there::

    keywords:
      - memory
      - of: [video-sequential, video-spatial]
        says: video
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, ValidationInfo

from eccdata import catalog
from eccdata.errors import EccdataError, problem


class Redistribution(StrEnum):
    """Whether rows may be handed on."""

    ALLOWED = "allowed"
    ANNOTATIONS_ONLY = "annotations-only"
    """Rows may go, media in them may not."""
    FORBIDDEN = "forbidden"


@dataclass(frozen=True)
class _Held:
    """Which configurations the YAML describes, and which of them a release holds."""

    described: frozenset[str]
    held: frozenset[str]


def _of_what_is_held(value: Any, info: ValidationInfo) -> Any:
    """Take the marks off a list's statements, and leave out those about what is not there."""
    if not isinstance(value, list):
        return value
    about = info.context
    assert isinstance(about, _Held)
    kept = []
    for statement in value:
        if isinstance(statement, dict):
            if statement.keys() != {"of", "says"} or not isinstance(statement["of"], list):
                raise ValueError(
                    "a statement is text, or `of` (a list of configurations) with `says` (the text about them)"
                )
            if strange := [name for name in statement["of"] if name not in about.described]:
                raise ValueError(f"`configs` describes none that is called {', '.join(map(str, strange))}")
            if about.held.isdisjoint(statement["of"]):
                continue
            statement = statement["says"]
        kept.append(statement)
    return kept


def _joined(separator: str) -> Any:
    def join(value: Any, info: ValidationInfo) -> Any:
        kept = _of_what_is_held(value, info)
        if not isinstance(kept, list):
            return kept
        if not all(isinstance(statement, str) for statement in kept):
            raise ValueError("every statement must be text")
        return separator.join(statement.strip() for statement in kept)

    return BeforeValidator(join)


Statements = Annotated[tuple[str, ...], BeforeValidator(_of_what_is_held)]
"""A list of statements, each for itself."""
Needed = Annotated[Statements, Field(min_length=1)]
"""A list in which at least one statement must be left."""
Text = Annotated[str, _joined(" ")]
"""Text, or statements that make one text together."""
Paragraphs = Annotated[str, _joined("\n\n")]
"""Text, or statements that are a paragraph each."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class License(_Model):
    """The licence of the rows.

    Attributes:
        name: For people.
        spdx: SPDX identifier, such as `CC-BY-4.0`.
        url: Where it is published.
        text: Name of the file beside the YAML that holds its text.

    """

    name: str
    spdx: str
    url: str
    text: str


class Provenance(_Model):
    """Where the rows come from: `prov:wasDerivedFrom` and `prov:wasGeneratedBy`."""

    derived_from: Statements
    generated_by: Text


class ResponsibleAI(_Model):
    """Statements of the Croissant RAI vocabulary, by its names in snake case.

    Those without a default are the minimal set that NeurIPS asks of a dataset; the others may stay empty.
    """

    data_limitations: Needed
    data_biases: Needed
    personal_sensitive_information: Needed
    data_use_cases: Needed
    data_social_impact: Text
    has_synthetic_data: bool
    data_collection: Text = ""
    data_collection_type: Statements = ()
    data_manipulation_protocol: Text = ""
    data_preprocessing_protocol: Statements = ()
    data_annotation_protocol: Statements = ()
    data_annotation_analysis: Statements = ()
    machine_annotation_tools: Statements = ()
    data_release_maintenance_plan: Text = ""


class ConfigDescription(_Model):
    """One configuration: what it is for, how its rows come about, whether they may be handed on."""

    summary: Text
    made: Paragraphs
    redistribution: Redistribution


class Description(_Model):
    """All of the YAML file.

    Attributes:
        title: For people.
        summary: One sentence.
        purpose: What the dataset is for, as Markdown.
        url: Its home page.
        published: Day of this description; the release carries it, since its bytes may not depend on the clock.
        creators: Who made the rows.
        license: The licence of the rows.
        citation: BibTeX of what is to be cited.
        citation_note: What has to be said about the citation.
        keywords: For search.
        languages: BCP 47 tags, or `zxx` for no language.
        task_categories: The Hub's names of tasks.
        provenance: Where the rows come from.
        rai: Responsible-AI statements.
        columns: What each column holds; columns inside lists are named `queries.candidate`.
        configs: The configurations by name.

    """

    title: str
    summary: Text
    purpose: Paragraphs
    url: str
    published: datetime.date
    creators: tuple[str, ...]
    license: License
    citation: str
    citation_note: str = ""
    keywords: Statements
    languages: Statements = ()
    task_categories: Statements = ()
    provenance: Provenance
    rai: ResponsibleAI
    columns: dict[str, Text]
    configs: dict[str, ConfigDescription]


def read_description(benchmark: str, configs: Iterable[str] | None = None) -> Description:
    """Read what is said of a benchmark, or of some of its configurations.

    Args:
        benchmark: Such as `eccbench`.
        configs: Those that a release holds; all if None.

    Raises:
        EccdataError: It has no description, or the file lacks something or says something unknown.

    """
    path = catalog.croissant(benchmark)
    try:
        values: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise EccdataError(f"{path} cannot be read: {error}") from error
    described = values.get("configs") if isinstance(values, dict) else None
    names = frozenset(described if isinstance(described, dict) else ())
    held = names if configs is None else frozenset(configs)
    try:
        return Description.model_validate(values, context=_Held(names, held))
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, e['loc'])) or 'the file'}: {e['msg']}" for e in error.errors()]
        raise problem(f"{path} does not describe the benchmark as it should:", wrong) from error


def license_text(benchmark: str) -> str:
    """The text of the licence of a benchmark's rows."""
    path = catalog.croissant(benchmark)
    name = read_description(benchmark).license.text
    beside = path.parent / name if hasattr(path, "parent") else None
    if beside is None or not beside.is_file():
        raise EccdataError(f"The licence text {name!r} does not stand beside {path}.")
    return str(beside.read_text(encoding="utf-8"))
