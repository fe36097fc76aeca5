"""The searches of `gnc solve`: quality and time."""
