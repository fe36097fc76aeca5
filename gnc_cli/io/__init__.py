"""The file format, readers of other formats, atomic writing."""
