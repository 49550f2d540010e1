"""What answers cost in FLOPs, from first principles: architectures as data, formulas as small functions (B.3)."""

from eccdata.flops.architectures import Architecture, architecture, architectures
from eccdata.flops.backbones import backbone_flops
from eccdata.flops.formulas import Coefficients, answer_tokens
from eccdata.flops.pricing import Price, coefficients, price

__all__ = [
    "Architecture",
    "Coefficients",
    "Price",
    "answer_tokens",
    "architecture",
    "architectures",
    "backbone_flops",
    "coefficients",
    "price",
]
