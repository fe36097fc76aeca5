"""Measurements of quality and time; run by hand, never by the test suite."""
