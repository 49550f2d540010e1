"""The sequence mixers, one architecture a file."""
