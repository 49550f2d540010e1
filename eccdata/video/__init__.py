"""Video: lanes and glyphs, MP4 writing, and reading the pictures back."""
