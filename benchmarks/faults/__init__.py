"""Programs that look for faults; they measure no speed and no quality."""
