"""Natural footage and its annotations, as `natural` reads them from the user's own copies."""
