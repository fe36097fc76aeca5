"""Collapse metrics: pure functions of features and weights."""
