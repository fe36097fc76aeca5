"""`measure`: collapse metrics of features, weights or both. The function behind `gnc measure`."""

from typing import TYPE_CHECKING

from gnc_cli.collapse.request import Measure
from gnc_cli.io.arguments import entry

if TYPE_CHECKING:
    from gnc_cli.collapse.result import MeasureResult, MeasureSeries


@entry(Measure)
def measure(call: Measure) -> "MeasureResult | MeasureSeries":
    """Measure collapse: GNC1, GNC2 with a certificate, GNC3, NCC and accuracy of saved features.

    Features with or without labels, a classifier, or both. Several files or snapshots make one row
    each. In Python, arrays may stand for files.

    Args:
        interrupt: set it to stop early with the rows so far.
        progress: called with `(stage, done, total, value)`.
        on_row: called with each row as it is ready.

    Returns:
        A result for one set; a series for several, or with a `.jsonl` file.

    Raises:
        UsageError, DataError, OutputError, UnavailableError: see `gnc_cli.errors`.

    Example:
        >>> import numpy as np
        >>> rows, labels = np.repeat(np.eye(3), 2, axis=0), np.repeat(np.arange(3), 2)
        >>> result = measure(features=rows, labels=labels, weights=np.eye(3))
        >>> result.gnc1, round(result.gnc2.lower, 12), result.gnc3, result.ncc_accuracy
        (0.0, 1.224744871392, 0.0, 1.0)
    """
    from gnc_cli.collapse.run import run

    return run(call)
