"""`bounds`: what is possible for K classes in d dimensions. The function behind `gnc bounds`."""

from typing import TYPE_CHECKING

from gnc_cli.io.arguments import entry
from gnc_cli.limits.request import Bounds

if TYPE_CHECKING:
    from gnc_cli.limits.result import BoundsResult


@entry(Bounds)
def bounds(call: Bounds) -> "BoundsResult":
    """Bound how far apart K classes can be in d dimensions, with proofs from both sides.

    Give two of d, K and a margin to get the third; give all three to learn whether such a code
    exists, and which scale softmax needs.

    Args:
        interrupt: set it to stop early with the pairs so far.
        progress: called with `(stage, done, total, worst)`.

    Returns:
        With d and K: every bound that applies to the largest one-vs-rest distance rho*(d, K), lower
        and upper, and the best interval. With K and a margin: the smallest d where gnc knows
        a code with it to exist, and the smallest not excluded. With d and a margin: the largest K
        for which it knows one, and the smallest excluded. With all three: whether such a code
        exists, and `best[0].margins`: its share of the largest margin, the largest CosFace margin
        and ArcFace angle, the smallest softmax scale, the least dimension. Values are good to a
        relative 1e-13; counts are exact up to fifteen digits.

    Raises:
        UsageError, DataError, OutputError: see `gnc_cli.errors`.

    Example:
        >>> kissing = bounds(d=8, max_cosine=0.5).classes
        >>> kissing.guaranteed, kissing.excluded
        (240, 241)
    """
    from gnc_cli.limits.run import run

    return run(call)


command = bounds
