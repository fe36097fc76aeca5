"""Deadlines, devices, threads, processes."""
