"""Which price a run's responses have: that of what was declared under its model's name, of what ran, or of its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eccdata.audit import Audit
from eccdata.flops.architectures import Architecture, declared, shipped
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
    found = _named(declared(), named) or _named(shipped(), named)
    if found is None:
        return None
    audited = Audit.of(facts).family
    rules = audited if audited is not None and audited.name == found.family else found.rules
    return Served(found, rules)


def _named(known: tuple[Architecture, ...], names: list[str]) -> Architecture | None:
    return next((each for name in names for each in known if name in each.all_names), None)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
