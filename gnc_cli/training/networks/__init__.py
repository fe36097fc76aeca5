"""Encoders, heads, losses and the training loop."""
