"""What GNC2 is held against: a one-vs-rest distance known to be within reach for (d, K).

The clearance 1 - t of the best known code: by the bisector theorem (docs/theory/theorem.md) rho*
itself where that code is proved optimal, else the best known lower bound.
"""

import os

from gnc_cli import __version__
from gnc_cli.collapse.result import Gnc2Reference
from gnc_cli.console.numbers import cited
from gnc_cli.errors import DataError
from gnc_cli.geometry.one_vs_rest import minimum_one_vs_rest
from gnc_cli.geometry.sphere import normalise
from gnc_cli.known_codes.best import Reference, Table, best
from gnc_cli.parameters import spelled
from gnc_cli.records import Bracket
from gnc_cli.runtime.deadline import Deadline

__all__ = ["gnc2_reference", "possible_gnc2"]


def gnc2_reference(
    d: int,
    K: int,
    reference: float | str | os.PathLike[str] | None = None,
    deadline: Deadline | None = None,
    table: Table = None,
) -> Gnc2Reference | None:
    """The reference for K classes in d dimensions.

    Args:
        reference: a number, or a file with a code to be certified; by default that of the best
            known code, see `gnc_cli.known_codes.best`.
        deadline: bounds the certificate of a file.
        table: of known codes, held beside our copy.

    Returns:
        None where nothing is known.

    Raises:
        DataError: the file is no code, or one of fewer points or more dimensions.

    Example:
        >>> gnc2_reference(512, 1000).value, gnc2_reference(512, 1000).kind
        (1.0, 'theorem')
    """
    if reference is None:
        code = best(d, K, checked_table(table))
        return None if code is None else _of_code(code)
    if isinstance(reference, (int, float)):
        return Gnc2Reference(
            float(reference), "pinned", "pinned", "given by --reference", None, False
        )
    return _certified(os.fspath(reference), d, K, deadline)


def checked_table(table: Table) -> Table:
    """The user's table of known codes, of which no entry is better than a theorem allows; None
    where there is none but ours."""
    if not (table or os.environ.get("GNC_TABLE")):
        return None
    from gnc_cli.limits.registry import possible_table  # loads every theorem

    return possible_table(table)


def possible_gnc2(d: int, K: int, table: Table = None) -> Bracket:
    """The bracket of rho*(d, K), the largest GNC2 of K unit rows, as `gnc bounds` has it.

    Example:
        >>> possible_gnc2(3, 4)
        Bracket(lower=1.3333333333333333, upper=1.3333333333333333)
    """
    from gnc_cli.limits.request import Request
    from gnc_cli.limits.run import run

    (best_bounds,) = run(Request(d=(d,), K=(K,), table=table)).best
    return Bracket(best_bounds.lower, best_bounds.upper)


def _of_code(code: Reference) -> Gnc2Reference:
    size = f"({code.d}, {code.K})"
    if code.kind == "theorem":
        name, source, version = code.source, code.source.partition(": ")[0], None
    elif code.kind == "construction":
        name = code.source.removeprefix("construction: ")
        source, version = "1 - max_cosine of a construction", f"gnc {__version__}"
    elif code.kind == "solved":
        name, source = f"Softmax Code {size}", f"certified rho of: {code.source}"
        version = code.date
    else:
        assert code.stamp is not None
        name = cited(code.source, code.d, code.K)
        source = f"1 - max_cosine of a code; {code.source}"
        version = f"{code.stamp.title}, sha256 {code.stamp.sha256[:12]}"
    return Gnc2Reference(
        1.0 - code.max_cosine, code.kind, name, source, version, code.proven is True, code.how
    )


def _certified(path: str, d: int, K: int, deadline: Deadline | None) -> Gnc2Reference:
    from gnc_cli.io.codefile import read_points  # with writers of every format

    code = read_points(path)
    rows, columns = code.weights.shape
    if columns > d or rows < K:
        raise DataError(
            f"{spelled('reference', path)} holds {rows} points in {columns} dimensions; for "
            f"K = {K}, d = {d} give a code of at least {K} points in at most {d} dimensions"
        )
    rho = minimum_one_vs_rest(normalise(code.weights), deadline=deadline)
    made = code.provenance.get("command") or "a code"
    source = f"{made}; certified rho of {rows} points in {columns} dimensions"
    version = code.attrs.get("gnc_version")
    return Gnc2Reference(
        rho.lower,
        "file",
        os.path.basename(path),
        source,
        f"gnc {version}" if version else None,
        False,
    )
