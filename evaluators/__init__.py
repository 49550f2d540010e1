"""Evaluators: one folder a benchmark, one file a protocol."""
