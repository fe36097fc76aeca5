"""The command line: options, streams, tables, gates and reports of every command."""
