"""ECCBench: memory beyond accuracy."""
