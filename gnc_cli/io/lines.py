"""Short text files with one word a line: names of classes, labels of classes."""

from gnc_cli.io.inputs import open_input
from gnc_cli.io.text import decoded

__all__ = ["read_lines"]


def read_lines(path: str) -> list[str]:
    """The lines of a UTF-8 text file, stripped; blank lines at the end are dropped.

    Raises:
        DataError: no such file, or no text.
    """
    with open_input(path) as file:
        text = decoded(file, path, "expected one name or label a line")
    return [line.strip() for line in text.rstrip().splitlines()]
