"""Short text files with one word a line: names of classes, labels of classes."""

from gnc_cli.errors import DataError
from gnc_cli.io.inputs import open_input

__all__ = ["read_lines"]


def read_lines(path: str) -> list[str]:
    """The lines of a UTF-8 text file, stripped; blank lines at the end are dropped.

    Raises:
        DataError: no such file, or no text.
    """
    with open_input(path) as file:
        try:
            text = file.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path!r} is no text file (byte {error.start} is not UTF-8); "
                "expected one name or label a line"
            ) from error
    return [line.strip() for line in text.rstrip().splitlines()]
