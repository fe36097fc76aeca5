"""The known codes: searches that extend data/known_codes, and checks of what it says."""
