"""What GNC2 is held against: a one-vs-rest distance known to be within reach for (d, K).

Every code of largest cosine t has `rho >= 1 - t`; more points or fewer dimensions count too, for
rho* never grows with K nor shrinks with d. By theorem 3.3 the figure is rho* itself; else it is the
best known lower bound.
"""

import os

from gnc_cli import __version__
from gnc_cli.errors import DataError
from gnc_cli.io.margins import stored_margins
from gnc_cli.io.readers import read_points
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.one_vs_rest import minimum_one_vs_rest
from gnc_cli.numerics.sphere import normalise
from gnc_cli.results import Gnc2Reference, TableStamp
from gnc_cli.workflows.known import Reference, read_table, reference

__all__ = ["gnc2_reference"]


def gnc2_reference(
    d: int,
    K: int,
    given: float | str | os.PathLike[str] | None = None,
    deadline: Deadline | None = None,
) -> Gnc2Reference | None:
    """The reference for K classes in d dimensions.

    Args:
        given: a number, or a file with a code to be certified; by default the largest of theorem
            3.3, the table of known codes, our own solved codes and the constructions.
        deadline: bounds the certificate of a file.

    Returns:
        None where nothing is known.

    Raises:
        DataError: the file is no code, or one of fewer points or more dimensions.

    Example:
        >>> gnc2_reference(512, 1000).value, gnc2_reference(512, 1000).kind
        (1.0, 'theorem')
    """
    if given is None:
        found = reference(d, K, read_table())
        if found is not None and found.kind == "theorem":
            return _of_code(found, d, K)
        exact = None if found is None else _of_code(found, d, K)
        known = [c for c in (exact, _of_entry(d, K), _of_margin(d, K)) if c is not None]
        return max(known, key=lambda c: c.value, default=None)
    if isinstance(given, (int, float)):
        return Gnc2Reference(float(given), "pinned", "pinned", "given by --reference", None)
    return _certified(os.fspath(given), d, K, deadline)


def _of_code(code: Reference, d: int, K: int) -> Gnc2Reference:
    """The code of exactly (d, K): by theorem, in the table, or a construction."""
    kind, _, name = code.source.partition(": ")
    if code.kind == "theorem":
        return Gnc2Reference(1.0 - code.max_cosine, "theorem", code.source, kind, None)
    if code.stamp is not None:
        return _tabled(code.max_cosine, f"({d}, {K})", code.source, code.stamp)
    said = f"1 - max_cosine of a construction, {1.0 - code.max_cosine:.6g}"
    return Gnc2Reference(
        1.0 - code.max_cosine, "construction", name, said, f"gnc {__version__}"
    )


def _of_entry(d: int, K: int) -> Gnc2Reference | None:
    """The best entry of the table with at least K points in at most d dimensions."""
    table = read_table()
    entry = table.covering(d, K)
    if entry is None:
        return None
    return _tabled(entry.max_cosine, f"({entry.d}, {entry.K})", entry.source, table.stamp)


def _tabled(max_cosine: float, which: str, source: str, stamp: TableStamp) -> Gnc2Reference:
    version = f"{stamp.date}, sha256 {stamp.sha256[:12]}"
    return Gnc2Reference(
        1.0 - max_cosine, "table", f"table of known codes {which}",
        f"1 - max_cosine of a Tammes code; {source}", version,
    )  # fmt: skip


def _of_margin(d: int, K: int) -> Gnc2Reference | None:
    """The best of our own solved Softmax Codes with at least K points in at most d dimensions."""
    table = stored_margins()
    entry = table.covering(d, K)
    if entry is None:
        return None
    return Gnc2Reference(
        entry.rho, "solved", f"Softmax Code ({entry.d}, {entry.K})",
        f"certified rho of: {entry.command}", f"{table.date}, sha256 {table.sha256[:12]}",
    )  # fmt: skip


def _certified(path: str, d: int, K: int, deadline: Deadline | None) -> Gnc2Reference:
    code = read_points(path)
    rows, columns = code.weights.shape
    if columns > d or rows < K:
        raise DataError(
            f"--reference {path!r} holds {rows} points in {columns} dimensions; for K = {K}, "
            f"d = {d} give a code of at least {K} points in at most {d} dimensions"
        )
    rho = minimum_one_vs_rest(normalise(code.weights), deadline=deadline)[0]
    made = code.provenance.get("command") or "a code"
    source = f"{made}; certified rho of {rows} points in {columns} dimensions"
    version = code.attrs.get("gnc_version")
    return Gnc2Reference(
        rho.lower, "file", os.path.basename(path), source, f"gnc {version}" if version else None
    )
