"""Codes from algebra, one family per file."""
