"""The list of constructions, for `gnc solve --list-constructions`."""

import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gnc_cli import __version__
from gnc_cli.constructions.registry import families, single_codes
from gnc_cli.errors import UsageError
from gnc_cli.parameters import spelled
from gnc_cli.search.result import ConstructionList, ConstructionRow

_NO_USE = (
    "d", "K", "construction", "init", "fixed", "symmetry", "target", "out", "plot", "resume", "tau",
    "weight_decay", "restarts", "steps", "time_limit",
)  # fmt: skip


def list_constructions(asked: Mapping[str, Any] = MappingProxyType({})) -> ConstructionList:
    """Every code that `construction=` can name: single codes, then families with a parameter.

    Args:
        asked: the other arguments of `solve`, most of which make no sense here.

    Raises:
        UsageError: one of those was given.
    """
    given = [spelled(name) for name in _NO_USE if asked.get(name) not in (None, False)]
    if given:
        raise UsageError(
            f"{spelled('list_constructions')} only lists; drop {', '.join(given)}"
        )
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
