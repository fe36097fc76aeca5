"""Codes from algebra: one family a file, each with its definition, its source and its check."""
