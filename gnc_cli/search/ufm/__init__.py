"""The unconstrained feature model: cross-entropy over free classifier and features."""
