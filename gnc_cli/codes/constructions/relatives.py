"""Relatives of larger constructions: cross sections, shortened and punctured codes."""

from collections.abc import Iterator

from gnc_cli.codes.constructions.construction import Construction

__all__ = ["relatives"]


def relatives(d: int) -> Iterator[Construction]:
    """Constructions in exactly d dimensions that larger ones contain; figures only."""
    yield from ()
