"""`gnc measure` and `measure_model`: time, memory and right numbers."""
