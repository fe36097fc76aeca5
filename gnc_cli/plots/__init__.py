"""Pictures of results: one file per command, drawn without a display."""
