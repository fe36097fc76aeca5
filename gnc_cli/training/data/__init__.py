"""Images and glyphs."""
