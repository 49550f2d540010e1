"""Builders: one folder a benchmark, one file a configuration."""
