"""`README.md` of a release: the dataset card, with the YAML that lets plain `load_dataset` read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import datasets
import yaml

from eccdata.release.description import Description
from eccdata.release.layout import CROISSANT, INDEX, LICENSE, MANIFESTS, RECORD, SUMS, shard_pattern
from eccdata.release.manifests import Bucket
from eccdata.release.record import ConfigRecord, Record

SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M")


def render(
    record: Record,
    description: Description,
    features: Mapping[str, datasets.Features],
    buckets: Sequence[Bucket],
    findings: Mapping[str, str],
) -> str:
    """Write the card.

    Args:
        record: What the release consists of.
        description: What the features cannot say.
        features: The features of each configuration.
        buckets: What each bucket holds.
        findings: What the builders measured on their rows, as Markdown, by configuration.

    """
    front = yaml.safe_dump(
        front_matter(record, description, features), sort_keys=False, allow_unicode=True, width=110
    )
    sections = [
        f"# {description.title}",
        description.summary,
        "## What it is for",
        description.purpose.strip(),
        "## Configurations",
        _configurations(record, description),
        "## Load it",
        _loading(record),
        "## Columns",
        _columns(description, features),
        "## How the rows were made",
        *_made(record, description),
        "## What is in it",
        *_contents(record, buckets, findings),
        "## Limitations and biases",
        _bullets([*description.rai.data_limitations, *description.rai.data_biases]),
        "## Check it, build it again",
        _rebuilding(record),
        "## Licence",
        f"The rows are under [{description.license.name}]({description.license.url}); the text is in `{LICENSE}`. "
        + " ".join(_redistribution(record, description)),
        "## Citation",
        f"```bibtex\n{description.citation.strip()}\n```",
        description.citation_note.strip(),
    ]
    return f"---\n{front}---\n\n" + "\n\n".join(filter(None, sections)) + "\n"


def front_matter(
    record: Record, description: Description, features: Mapping[str, datasets.Features]
) -> dict[str, Any]:
    """The card's YAML.

    `datasets` caches a local folder by its name and this YAML alone. The version and the digest of the files in
    every entry of `configs` make sure that a folder that was built again is read again.
    """
    rows = sum(made.rows(split) for made in record.configs.values() for split in made.splits)
    front = {
        "pretty_name": description.title,
        "license": description.license.spdx.lower(),
        "language": list(description.languages),
        "task_categories": list(description.task_categories),
        "tags": list(description.keywords),
        "size_categories": [SIZES[min(max(len(str(rows)) - 3, 0), len(SIZES) - 1)]],
        "configs": [
            {
                "config_name": config,
                "version": made.version,
                "description": f"sha256-{made.digest}",
                "data_files": [
                    {"split": split, "path": shard_pattern(config, split)} for split in made.splits
                ],
            }
            for config, made in record.configs.items()
        ],
        # without split sizes: `datasets` would hold a filtered load against them
        "dataset_info": [
            {"config_name": config, **datasets.DatasetInfo(features=features[config])._to_yaml_dict()}
            for config in record.configs
        ],
    }
    return {name: value for name, value in front.items() if value}


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(
        "| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines
    )


def _bullets(items: Sequence[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _configurations(record: Record, description: Description) -> str:
    return table(
        ["configuration", "split", "rows", "files", "MB", "what it is"],
        [
            [
                f"`{config}`",
                f"`{split}`",
                f"{made.rows(split):,}",
                len(shards),
                f"{sum(s.size_bytes for s in shards) / 1e6:,.1f}",
                description.configs[config].summary,
            ]
            for config, made in record.configs.items()
            for split, shards in made.splits.items()
        ],
    )


def _loading(record: Record) -> str:
    config, made = next(iter(record.configs.items()))
    split = list(made.splits)[-1]
    call = f'rows = load_dataset("DIR or ORG/NAME", "{config}", split="{split}"'
    lines = ["from datasets import load_dataset", "", f"{call})"]
    key = made.splits[split][0].row_groups[0].key
    if key:
        name, value = next(iter(key.items()))
        lines += [
            "",
            "# one cell is one row group, so a filter reads only what it needs",
            f'{call}, filters=[("{name}", "==", {value!r})])',
        ]
    lines += ["", "# nothing on disk", f"{call}, streaming=True)"]
    return (
        "The rows are plain Parquet. `datasets` is all that is needed; no code of this dataset runs.\n\n```python\n"
        + "\n".join(lines)
        + f"\n```\n\n`{INDEX}` lists every bucket (all rows of a split that share a key), and "
        f"`{MANIFESTS}/…/manifest.json` says which rows a bucket has, in which file and row group they stand, and "
        f"what they hold. `{CROISSANT}` describes the same files in Croissant 1.1."
    )


def _columns(description: Description, features: Mapping[str, datasets.Features]) -> str:
    found: dict[tuple[str, str], list[str]] = {}
    for config, columns in features.items():
        for name, type_ in _leaves(columns):
            found.setdefault((name, type_), []).append(config)
    return table(
        ["column", "type", "in", "what it holds"],
        [
            [
                f"`{name}`",
                f"`{type_}`",
                "all" if len(configs) == len(features) else ", ".join(f"`{config}`" for config in configs),
                description.columns.get(name, ""),
            ]
            for (name, type_), configs in found.items()
        ],
    )


def _leaves(features: datasets.Features) -> Iterator[tuple[str, str]]:
    for name, feature in features.items():
        if isinstance(feature, datasets.List) and isinstance(feature.feature, dict):
            yield name, "list of structs"
            for inner, what in feature.feature.items():
                yield f"{name}.{inner}", _type(what)
        else:
            yield name, _type(feature)


def _type(feature: Any) -> str:
    if isinstance(feature, datasets.List):
        return f"list of {_type(feature.feature)}"
    if isinstance(feature, datasets.ClassLabel):
        return f"ClassLabel ({', '.join(feature.names)})"
    if isinstance(feature, datasets.Video):
        return "Video"
    return str(feature.dtype)


def _made(record: Record, description: Description) -> Iterator[str]:
    for config, made in record.configs.items():
        yield f"### `{config}` {made.version}"
        yield description.configs[config].made.strip()
        yield table(["setting", "value"], [[f"`{k}`", f"`{_plain(v)}`"] for k, v in made.settings.items()])
    yield description.provenance.generated_by.strip()


def _contents(record: Record, buckets: Sequence[Bucket], findings: Mapping[str, str]) -> Iterator[str]:
    for config, made in record.configs.items():
        yield f"### `{config}`"
        yield _buckets([bucket for bucket in buckets if bucket.config == config], made)
        yield findings[config].strip()


def _buckets(buckets: Sequence[Bucket], made: ConfigRecord) -> str:
    several = len(made.splits) > 1
    keys = list(dict.fromkeys(name for bucket in buckets for name in bucket.key))
    counts = [
        name
        for name in dict.fromkeys(name for bucket in buckets for name in bucket.profile.counts)
        if name not in keys
    ]
    moments = list(dict.fromkeys(name for bucket in buckets for name in bucket.profile.moments))
    header = [
        *(["split"] if several else []),
        *keys,
        "rows",
        *counts,
        *(f"{n}: mean ± std [range]" for n in moments),
    ]
    rows = []
    for bucket in buckets:
        cells: list[object] = [f"`{bucket.split}`"] if several else []
        cells += [bucket.key.get(name, "") for name in keys]
        cells.append(f"{bucket.rows:,}")
        for name in counts:
            found = bucket.profile.counts.get(name, Counter())
            cells.append(", ".join(f"{value} {count:,}" for value, count in sorted(found.items())))
        for name in moments:
            found_moments = bucket.profile.moments.get(name)
            if found_moments is None or not found_moments.count:
                cells.append("")
            else:
                m = found_moments
                cells.append(f"{m.mean:.3f} ± {m.std:.3f} [{m.least:.3f}, {m.greatest:.3f}]")
        rows.append(cells)
    return table(header, rows)


def _rebuilding(record: Record) -> str:
    where = f", revision `{record.revision}`" if record.revision else ""
    libraries = ", ".join(f"{name} {version}" for name, version in record.libraries.items())
    return (
        f"```sh\nsha256sum --check {SUMS}   # the files\neccdata verify DIR          # and what they say\n"
        f"{record.rebuild}\n```\n\n"
        f"Built by eccdata {record.eccdata}{where}, with {libraries}. The same versions and settings give the same "
        f"bytes, with any number of workers: compare `{SUMS}`. `{RECORD}` holds all of this for machines."
    )


def _redistribution(record: Record, description: Description) -> Iterator[str]:
    for config in record.configs:
        yield f"Redistribution of `{config}`: {description.configs[config].redistribution}."


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
