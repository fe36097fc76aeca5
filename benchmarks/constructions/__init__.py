"""Codes from algebra: building them, and the search for sections of lattices."""
