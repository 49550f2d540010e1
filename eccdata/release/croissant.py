"""`croissant.json`: Croissant 1.1 with the Responsible-AI and provenance fields."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import mlcroissant as mlc
from mlcroissant._src.core.context import CroissantVersion
from mlcroissant._src.core.rdf import make_context

from eccdata.release.description import Description, ResponsibleAI
from eccdata.release.layout import shard_pattern
from eccdata.release.record import Record

RAI = "http://mlcommons.org/croissant/RAI/1.0"

_TYPES = {
    "string": mlc.DataType.TEXT,
    "large_string": mlc.DataType.TEXT,
    "bool": mlc.DataType.BOOL,
    "float32": mlc.DataType.FLOAT32,
    "float64": mlc.DataType.FLOAT64,
    "int8": mlc.DataType.INT8,
    "int16": mlc.DataType.INT16,
    "int32": mlc.DataType.INT32,
    "int64": mlc.DataType.INT64,
    "uint8": mlc.DataType.UINT8,
    "uint16": mlc.DataType.UINT16,
    "uint32": mlc.DataType.UINT32,
    "uint64": mlc.DataType.UINT64,
}


def record_set(config: str, split: str) -> str:
    """Name of the record set that holds a split's rows."""
    return f"{config}-{split}"


def metadata(
    record: Record, description: Description, features: dict[str, datasets.Features]
) -> dict[str, Any]:
    """Describe a release in Croissant 1.1.

    There is a file set and a record set for every split of every configuration, and a file object with its
    SHA-256 and size for every Parquet file. All paths are relative to the folder that `croissant.json` stands in,
    so that a copy of the release loads from wherever it lies.

    Args:
        record: What the release consists of.
        description: What the features cannot say.
        features: The features of each configuration.

    Returns:
        JSON-LD.

    """
    context = mlc.Context(conforms_to=CroissantVersion.V_1_1)
    context.rdf = mlc.Rdf(context=make_context(context, prov="http://www.w3.org/ns/prov#"))
    distribution: list[Any] = []
    record_sets = []
    for config, made in record.configs.items():
        for split, shards in made.splits.items():
            name = record_set(config, split)
            files = f"{name}-files"
            distribution.append(
                mlc.FileSet(
                    ctx=context,
                    id=files,
                    name=files,
                    description=f"Parquet files of {config}/{split}.",
                    encoding_formats=["application/x-parquet"],
                    includes=[shard_pattern(config, split)],
                )
            )
            distribution += [
                mlc.FileObject(
                    ctx=context,
                    id=shard.path,
                    name=Path(shard.path).name,
                    content_url=shard.path,
                    content_size=f"{shard.size_bytes} B",
                    encoding_formats=["application/x-parquet"],
                    sha256=shard.sha256,
                )
                for shard in shards
            ]
            record_sets.append(
                mlc.RecordSet(
                    ctx=context,
                    id=name,
                    name=name,
                    description=f"{description.configs[config].summary} Split {split}: {made.rows(split)} rows.",
                    key=f"{name}/{next(iter(features[config]))}",
                    fields=[
                        _field(context, name, files, column, feature, description)
                        for column, feature in features[config].items()
                    ],
                )
            )
    described = mlc.Metadata(
        ctx=context,
        name=record.benchmark,
        description=f"{description.summary}\n\n{description.purpose}",
        cite_as=description.citation,
        creators=[mlc.Organization(ctx=context, name=name) for name in description.creators],
        date_published=datetime.datetime.combine(description.published, datetime.time()),
        keywords=list(description.keywords),
        in_language=list(description.languages) or None,
        license=[description.license.url],
        url=description.url,
        version=max((made.version for made in record.configs.values()), key=_version),
        distribution=distribution,
        record_sets=record_sets,
    )
    jsonld: dict[str, Any] = described.to_json()
    # mlcroissant writes the names of an older draft of the vocabulary, and none of provenance's
    jsonld["conformsTo"] = [jsonld["conformsTo"], RAI]
    return jsonld | dict(_responsible_ai(description.rai)) | _provenance(description)


CORE = (
    "citeAs",
    "conformsTo",
    "creator",
    "datePublished",
    "description",
    "license",
    "name",
    "url",
    "version",
)
"""What Croissant asks of every dataset; mlcroissant lets most of it be missing."""


def required(rai: type[ResponsibleAI]) -> set[str]:
    """The keys that a release's Croissant must have: the core, the minimal Responsible-AI set, provenance."""
    names = [name for name, info in rai.model_fields.items() if info.is_required()]
    return {*CORE, *map(_key, names), "prov:wasDerivedFrom", "prov:wasGeneratedBy"}


def _field(
    context: mlc.Context, parent: str, files: str, column: str, feature: Any, description: Description
) -> mlc.Field:
    said = description.columns.get(column, "")
    if isinstance(feature, datasets.List) and isinstance(feature.feature, dict):
        return mlc.Field(
            ctx=context,
            id=f"{parent}/{column}",
            name=column,
            description=said,
            is_array=True,
            array_shape="-1",
            sub_fields=[
                _leaf(
                    context,
                    f"{parent}/{column}/{inner}",
                    inner,
                    what,
                    description.columns.get(f"{column}.{inner}", ""),
                    mlc.Source(
                        ctx=context,
                        file_set=files,
                        extract=mlc.Extract(ctx=context, column=column),
                        transforms=[mlc.Transform(ctx=context, json_path=inner)],
                    ),
                )
                for inner, what in feature.feature.items()
            ],
        )
    source = mlc.Source(ctx=context, file_set=files, extract=mlc.Extract(ctx=context, column=column))
    if isinstance(feature, datasets.Video):
        # a struct of bytes and path, and the bytes are the file
        source.transforms = [mlc.Transform(ctx=context, json_path="bytes")]
    return _leaf(context, f"{parent}/{column}", column, feature, said, source)


def _leaf(
    context: mlc.Context, id_: str, name: str, feature: Any, said: str, source: mlc.Source
) -> mlc.Field:
    shape: dict[str, Any] = {}
    if isinstance(feature, datasets.List):
        shape = {"is_array": True, "array_shape": "-1"}
        feature = feature.feature
    if isinstance(feature, datasets.ClassLabel):
        labels = ", ".join(f"{value} = {label}" for value, label in enumerate(feature.names))
        said = f"{said} Values: {labels}.".strip()
        type_ = mlc.DataType.INT64
    elif isinstance(feature, datasets.Video):
        type_ = mlc.DataType.VIDEO_OBJECT
    else:
        type_ = _TYPES[feature.dtype]
    return mlc.Field(
        ctx=context, id=id_, name=name, description=said, data_types=[type_], source=source, **shape
    )


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def _key(name: str) -> str:
    first, *rest = name.split("_")
    return "rai:" + first + "".join(part.title() for part in rest)


def _responsible_ai(rai: ResponsibleAI) -> Iterator[tuple[str, Any]]:
    for name in type(rai).model_fields:
        value = getattr(rai, name)
        if isinstance(value, bool) or value:
            yield _key(name), list(value) if isinstance(value, tuple) else value


def _provenance(description: Description) -> dict[str, Any]:
    return {
        "prov:wasDerivedFrom": list(description.provenance.derived_from),
        "prov:wasGeneratedBy": description.provenance.generated_by,
    }
