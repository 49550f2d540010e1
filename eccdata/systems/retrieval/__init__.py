"""Retrieval before answering (eccbench.txt, B.7)."""

from eccdata.systems.retrieval.system import Retrieval

__all__ = ["Retrieval"]
