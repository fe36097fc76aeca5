"""One family of constructions per file; the registry reads every file here."""
