"""Algebraic constructions of codes, one family per file."""
