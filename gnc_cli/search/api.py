"""The functions of `gnc solve`: K points in d dimensions as far apart as possible, certified."""

from typing import TYPE_CHECKING

from gnc_cli.io.arguments import entry
from gnc_cli.search.request import Solve, SolveCommand

if TYPE_CHECKING:
    from gnc_cli.records import Result
    from gnc_cli.search.result import SolveResult, SolveSweep


@entry(Solve)
def solve(call: Solve) -> "SolveResult":
    """Place K points in d dimensions as far apart as possible, and certify the code.

    The one-vs-rest distance of a point is its distance from the convex hull of all others; a code
    with the largest minimum of these distances is a Softmax Code. In Python `fixed` and `init` may
    be arrays.

    Args:
        interrupt: set it to stop early with the best so far.
        progress: called with `(stage, done, total, best)`.
        command_line: for the provenance in the file.

    Returns:
        The code with its certificate.

    Raises:
        UsageError: also for several `tau`, which are for `solve_sweep`.
        DataError, OutputError, UnavailableError: see `gnc_cli.errors`.

    Example:
        >>> result = solve(3, 6)
        >>> result.origin, result.rho_one_vs_rest.lower > 1 - 1e-12
        ('closed form: orthoplex', True)
    """
    from gnc_cli.search.run import run

    return run(call)


@entry(Solve)
def solve_sweep(call: Solve) -> "SolveSweep":
    """Solve the unconstrained feature model at one or several temperatures `tau`.

    The optimum at each temperature is among the starts at the next. The file `out` has the code of
    the last temperature. A problem without a temperature makes a sweep of one result.

    Args:
        interrupt: set it to stop early with the results so far.
        progress: called with `(stage, done, total, best)`.
        command_line: for the provenance in the file.

    Returns:
        One result per temperature, in the order given.

    Raises:
        UsageError, DataError, OutputError, UnavailableError: see `gnc_cli.errors`.

    Example:
        >>> sweep = solve_sweep(2, 3, problem="ufm", tau=[1.0, 0.1])
        >>> [row.ufm.tau for row in sweep.rows]
        [1.0, 0.1]
    """
    from gnc_cli.search.run import run_sweep

    return run_sweep(call)


@entry(SolveCommand)
def command(call: SolveCommand) -> "Result":
    """Solve at every temperature, or list the constructions."""
    from gnc_cli.search.routes.construction import list_constructions
    from gnc_cli.search.run import run_sweep

    return list_constructions() if call.list_constructions else run_sweep(call)
