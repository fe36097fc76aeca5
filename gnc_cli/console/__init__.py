"""What the commands share: options, tables, gates, reports, progress, interruption."""
