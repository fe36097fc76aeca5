"""Function behind `gnc compare`: codes compared with the best known ones."""

from typing import TYPE_CHECKING

from gnc_cli.comparison.request import Compare
from gnc_cli.io.arguments import entry

if TYPE_CHECKING:
    from gnc_cli.comparison.result import CompareResult


@entry(Compare)
def compare(call: Compare) -> "CompareResult":
    """Compare codes with the best known ones, and name the known ones.

    Give files, or --list the table.

    Args:
        interrupt: set it to stop early with the rows so far.
        progress: called with `(stage, done, total, largest gap)`.
        on_row: called with each row as it is ready.

    Returns:
        One row per code or entry; `passed` in a row says whether its gap is within the
        tolerance.

    Raises:
        UsageError, DataError, OutputError, UnavailableError: see `gnc_cli.errors`.

    Example:
        >>> row = compare([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]).rows[0]
        >>> row.status.value, row.max_cosine, row.source
        ('matches', 0.0, 'theorem 3.3: regular polygon')
    """
    from gnc_cli.comparison.run import run

    return run(call)


command = compare
