"""The list of constructions, for `gnc solve --list-constructions`."""

import time

from gnc_cli import __version__
from gnc_cli.codes.constructions.registry import families, single_codes
from gnc_cli.results import ConstructionList, ConstructionRow

__all__ = ["list_constructions"]


def list_constructions() -> ConstructionList:
    """Every code that `construction=` can name: single codes, then families with a parameter.

    Example:
        >>> "leech" in [row.name for row in list_constructions().rows]
        True
    """
    started = time.monotonic()
    rows = [
        ConstructionRow(
            c.name, c.title, str(c.d), str(c.K), c.cosine.text, c.proven, c.reference
        )
        for c in sorted(single_codes(), key=lambda c: (c.d, c.K))
    ]
    rows += [
        ConstructionRow(f.name, f"{f.title} ({f.range})", f.d, f.K, f.cosine, None, f.reference)
        for f in families()
    ]
    return ConstructionList(
        seconds=time.monotonic() - started, version=__version__, rows=tuple(rows)
    )
