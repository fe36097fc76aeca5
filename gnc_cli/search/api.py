"""`solve`: find K points in d dimensions that are as far apart as possible, with a certificate."""

from typing import TYPE_CHECKING

from gnc_cli.io.arguments import entry
from gnc_cli.search.request import Solve

if TYPE_CHECKING:
    from gnc_cli.search.result import ConstructionList, SolveResult, SolveSweep


@entry(Solve)
def solve(call: Solve) -> "SolveResult | SolveSweep | ConstructionList":
    """Place K points in d dimensions as far apart as possible, and certify the code.

    The one-vs-rest distance of a point is its distance from the convex hull of all others; a code
    with the largest minimum of these distances is a Softmax Code. In Python `fixed` and `init` may
    be arrays.

    Args:
        interrupt: set it to stop early with the best so far.
        progress: called with `(stage, done, total, best)`.
        command_line: for the provenance in the file.

    Returns:
        The code with its certificate; a sweep where `tau` holds several.

    Raises:
        UsageError, DataError, OutputError, UnavailableError: see `gnc_cli.errors`.

    Example:
        >>> result = solve(3, 6)
        >>> result.origin, result.rho_one_vs_rest.lower > 1 - 1e-12
        ('closed form: orthoplex', True)
    """
    from gnc_cli.search.run import run

    return run(call)
