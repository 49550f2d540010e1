"""One YAML file a benchmark: what its features cannot say."""
