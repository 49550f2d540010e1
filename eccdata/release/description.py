"""`croissant/<benchmark>.yaml`: what a benchmark's features cannot say of it, read and checked."""

from __future__ import annotations

import datetime
from enum import StrEnum
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from eccdata import catalog
from eccdata.errors import EccdataError, problem


class Redistribution(StrEnum):
    """Whether rows may be handed on."""

    ALLOWED = "allowed"
    ANNOTATIONS_ONLY = "annotations-only"
    """Rows may go, media in them may not."""
    FORBIDDEN = "forbidden"


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

    derived_from: tuple[str, ...]
    generated_by: str


class ResponsibleAI(_Model):
    """Statements of the Croissant RAI vocabulary, by its names in snake case.

    Those without a default are the minimal set that NeurIPS asks of a dataset; the others may stay empty.
    """

    data_limitations: tuple[str, ...]
    data_biases: tuple[str, ...]
    personal_sensitive_information: tuple[str, ...]
    data_use_cases: tuple[str, ...]
    data_social_impact: str
    has_synthetic_data: bool
    data_collection: str = ""
    data_collection_type: tuple[str, ...] = ()
    data_manipulation_protocol: str = ""
    data_preprocessing_protocol: tuple[str, ...] = ()
    data_annotation_protocol: tuple[str, ...] = ()
    data_annotation_analysis: tuple[str, ...] = ()
    machine_annotation_tools: tuple[str, ...] = ()
    data_release_maintenance_plan: str = ""


class ConfigDescription(_Model):
    """One configuration: what it is for, how its rows come about, whether they may be handed on."""

    summary: str
    made: str
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
    summary: str
    purpose: str
    url: str
    published: datetime.date
    creators: tuple[str, ...]
    license: License
    citation: str
    citation_note: str = ""
    keywords: tuple[str, ...]
    languages: tuple[str, ...] = ()
    task_categories: tuple[str, ...] = ()
    provenance: Provenance
    rai: ResponsibleAI
    columns: dict[str, str]
    configs: dict[str, ConfigDescription]


def read_description(benchmark: str) -> Description:
    """Read what is said of a benchmark.

    Raises:
        EccdataError: It has no description, or the file lacks something or says something unknown.

    """
    path = catalog.croissant(benchmark)
    try:
        values: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise EccdataError(f"{path} cannot be read: {error}") from error
    try:
        return Description.model_validate(values)
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
