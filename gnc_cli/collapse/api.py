"""`measure` and `measure_series`: collapse metrics of features, weights or both.

The functions behind `gnc measure`.
"""

from typing import TYPE_CHECKING

from gnc_cli.collapse.request import Measure
from gnc_cli.io.arguments import entry

if TYPE_CHECKING:
    from gnc_cli.collapse.result import MeasureResult, MeasureSeries


@entry(Measure)
def measure(call: Measure) -> "MeasureResult":
    """Measure collapse: GNC1, GNC2 with a certificate, GNC3, NCC and accuracy of saved features.

    Features with or without labels, a classifier, or both. Several files or snapshots make one row
    each. In Python, `measure_series` measures several, and arrays may stand for files.

    Args:
        interrupt: set it to stop early with wider brackets.
        progress: called with `(stage, done, total, value)`.
        on_row: called with the result when it is ready.

    Returns:
        The result of the set.

    Raises:
        UsageError: also for several files, snapshots or prefixes, and for rows in a `.jsonl` file,
            which are for `measure_series`.
        StoppedError: interrupted before the samples were read.
        DataError, OutputError, UnavailableError: see `gnc_cli.errors`.

    Example:
        >>> import numpy as np
        >>> rows, labels = np.repeat(np.eye(3), 2, axis=0), np.repeat(np.arange(3), 2)
        >>> result = measure(features=rows, labels=labels, weights=np.eye(3))
        >>> result.gnc1, round(result.gnc2.lower, 12), result.gnc3, result.ncc_accuracy
        (0.0, 1.224744871392, 0.0, 1.0)
    """
    from gnc_cli.collapse.run import run

    return run(call)


@entry(Measure)
def measure_series(call: Measure) -> "MeasureSeries":
    """Measure collapse of several sets: files, snapshots of a run, or prefixes of the dimensions.

    Every set makes one row, every prefix too. One set alone makes a series of one row, and `out`
    and `plot` have what `measure` gives them.

    Args:
        interrupt: set it to stop early with the rows so far.
        progress: called with `(stage, done, total, value)`.
        on_row: called with each row as it is ready.

    Returns:
        One result per set and prefix, in order of epoch.

    Raises:
        UsageError, DataError, OutputError, UnavailableError: see `gnc_cli.errors`.

    Example:
        >>> import numpy as np
        >>> series = measure_series(weights=np.eye(4), prefix_dims=[2, 4])
        >>> [(row.d, row.K) for row in series.rows]
        [(2, 4), (4, 4)]
    """
    from gnc_cli.collapse.run import run_series

    return run_series(call)


command = measure_series
