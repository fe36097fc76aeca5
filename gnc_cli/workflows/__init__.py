"""The plain functions behind the commands: the Python API."""
