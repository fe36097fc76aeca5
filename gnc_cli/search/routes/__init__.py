"""The ways to a code, one per file."""
