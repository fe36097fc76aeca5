"""`compare --list`: entries of the table as rows of a result."""

from collections.abc import Collection
from math import nan

from gnc_cli.io.known_codes import KnownCode, KnownCodes
from gnc_cli.results import CompareRow, Rattlers

__all__ = ["listed_rows"]


def listed_rows(
    table: KnownCodes,
    d: Collection[int] | None = None,
    K: Collection[int] | None = None,
    *,
    proven: bool = False,
) -> tuple[CompareRow, ...]:
    """The entries with d and K among the given ones, by dimension, then size.

    Args:
        table: known codes.
        d, K: None for all.
        proven: those that are proved optimal alone.
    """
    return tuple(_row(entry) for entry in table.select(d, K, proven=proven))


def _row(entry: KnownCode) -> CompareRow:
    # The table counts rattlers of the one-vs-one kind, and does not say within which tolerance.
    free = None if entry.rattlers is None else Rattlers(entry.rattlers, None, nan)
    return CompareRow(
        d=entry.d,
        K=entry.K,
        max_cosine=None,
        best_known=entry.max_cosine,
        gap=None,
        status=None,
        rattlers=free,
        contacts=entry.contacts,
        congruent_to=None,
        source=entry.source,
        proven=entry.proven,
        more={"figure": entry.figure},
    )
