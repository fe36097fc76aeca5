"""Pure functions of features and weights: GNC1, GNC3, NC1 to NC4, moments, decisions."""
