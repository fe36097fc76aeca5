"""`gnc compare`: codes against the known codes."""
