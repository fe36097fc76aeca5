"""What the library logs and warns, as single lines on stderr while a command runs."""

import contextlib
import logging
import warnings
from collections.abc import Iterator
from typing import Any

from gnc_cli.console.show import note


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        note(record.getMessage())


@contextlib.contextmanager
def conversation(quiet: bool = False, verbose: bool = False) -> Iterator[None]:
    """Show warnings (not with `quiet`) and, with `verbose`, what the loggers of gnc_cli say."""
    logger = logging.getLogger("gnc_cli")
    handler = _Notes()
    old_level, old_propagate = logger.level, logger.propagate
    level = logging.ERROR if quiet else logging.INFO if verbose else logging.WARNING
    logger.setLevel(level)
    logger.addHandler(handler)
    logger.propagate = False

    def show_warning(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any
    ) -> None:
        if not quiet and not issubclass(category, DeprecationWarning):
            note(f"warning: {message}")

    try:
        with warnings.catch_warnings():
            warnings.showwarning = show_warning  # type: ignore[assignment]
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(old_level)
        logger.propagate = old_propagate
