"""The table of known codes, stored codes, and the best known code of (d, K)."""
