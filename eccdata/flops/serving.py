"""Which price a run's responses have.

In this order: that of a user's own declaration under the model's name; that of what ran, where the run's card has the
checkpoint's configuration and a price follows from it; that of a model of Table 2 by the model's name, or by the
checkpoint that the server names. Names are matched to the letter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eccdata.audit import Audit
from eccdata.errors import EccdataError
from eccdata.flops.architectures import Architecture, Source, declared, shipped
from eccdata.flops.config import from_config
from eccdata.vision_tokens import Family


@dataclass(frozen=True, slots=True)
class Served:
    """A model as it was served.

    Attributes:
        architecture: What its price follows from.
        rules: How its processor counts tokens, with the numbers of the checkpoint's own files where the card has them.

    """

    architecture: Architecture
    rules: Family | None


def served(model: str, card: Mapping[str, Any]) -> Served | None:
    """Find what the responses of a run cost.

    Args:
        model: The model's name in the results.
        card: The run's card.

    Returns:
        None where no price is known: of a system that is no model, or a model that nobody has declared.

    """
    system = _mapping(card.get("system"))
    facts = _mapping(system.get("facts"))
    path = _mapping(facts.get("model_info")).get("model_path")
    named = [name for name in (model, path) if isinstance(name, str)]
    known = _named(shipped(), named)
    found = _named(declared(), named) or _by_config(facts, model, known) or known
    if found is None:
        return None
    audited = Audit.of(facts).family
    rules = audited if audited is not None and audited.name == found.family else found.rules
    return Served(found, rules)


def _by_config(facts: Mapping[str, Any], model: str, known: Architecture | None) -> Architecture | None:
    checkpoint = _mapping(facts.get("checkpoint"))
    digest = checkpoint.get("config_sha256")
    if not isinstance(digest, str):
        return None
    try:
        source = Source(checkpoint=model, sha256=digest)
        found = from_config(_mapping(checkpoint.get("config")), name=model, source=source)
    except EccdataError:
        return None  # it does not say enough, and nobody asked for it
    same = known is not None and all(
        getattr(found, part) == getattr(known, part) for part in ("language", "vision", "connector", "family")
    )
    return known if same else found


def _named(known: tuple[Architecture, ...], names: list[str]) -> Architecture | None:
    return next((each for name in names for each in known if name in each.all_names), None)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
