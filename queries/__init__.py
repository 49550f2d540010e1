"""One folder a benchmark, one SQL file a table or figure."""
