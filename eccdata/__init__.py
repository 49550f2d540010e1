"""Benchmarks of memory as datasets, evaluators as map functions over them, analysis as SQL."""
