"""What work will take - memory, disk, time - told from sizes before it begins, and refused beyond
what this machine has; and allocations that fail all the same.

The formulas stand beside the code that allocates, and are held against measured peaks, within a
factor of 1.5 (`tests/runtime/test_predictions.py`).
"""

import logging
import os
import shutil
from dataclasses import dataclass, replace

from gnc_cli.errors import UnavailableError
from gnc_cli.runtime.memory import _folder, free_memory, size

MOST_SECONDS = 365 * 86400.0
"""Work without a time limit that would take longer is refused."""
_WORTH_SAYING = 100e6
"""Bytes of memory or disk that `-v` tells of."""
_LONG = 600.0
"""Work without a time limit that takes longer is announced."""
FLOPS = 1e10
"""Floating-point operations of one core in a second, roughly: products of large matrices."""
_UNITS = (("years", 365 * 86400.0), ("days", 86400.0), ("h", 3600.0), ("min", 60.0))
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Prediction:
    """What a piece of work takes."""

    memory: float = 0.0
    """Bytes at the peak, beyond those that the program itself takes."""
    disk: float = 0.0
    """Bytes that it writes."""
    seconds: float = 0.0
    """Roughly, on this machine; 0 where it is not known or does not matter."""

    def followed_by(self, other: "Prediction") -> "Prediction":
        """Both, one after the other."""
        return Prediction(
            max(self.memory, other.memory), self.disk + other.disk, self.seconds + other.seconds
        )

    def within(self, limit: float | None) -> "Prediction":
        """The same where a time limit ends the work."""
        return self if limit is None else replace(self, seconds=0.0)

    def require(
        self,
        what: str,
        step: str,
        *,
        out: str | os.PathLike[str] | None = None,
        free: float | None = None,
        where: str = "this machine",
    ) -> None:
        """Refuse work that this machine cannot hold; announce long work.

        Args:
            what: names the work in messages, as `a search for K=50 points in d=5`.
            step: what to do where it does not fit.
            out: the file or folder that is written.
            free: bytes of memory that there are, on `where`; None for those of this machine.

        Raises:
            UnavailableError: memory or disk are too small, or it would take more than a year.
        """
        free = free_memory() if free is None else free
        short = []
        if self.memory > free:
            short.append(f"{size(free)} of memory are free on {where}")
        if self.disk and out is not None:
            folder = _folder(out)
            disk = shutil.disk_usage(folder)
            if disk.total and self.disk > disk.free:  # /proc and the like have no size
                short.append(f"{size(disk.free)} of disk are free in {folder!r}")
        if self.seconds > MOST_SECONDS:
            short.append("a year is the most")
        if short:
            raise UnavailableError(f"{what} needs {self}; {' and '.join(short)}: {step}")
        if max(self.memory, self.disk) > _WORTH_SAYING:
            _log.info("%s needs %s", what, self)
        if self.seconds > _LONG:
            _log.warning("%s takes %s", what, lasting(self.seconds))

    def __str__(self) -> str:
        parts = [f"{size(self.memory)} of memory"]
        parts += [f"{size(self.disk)} of disk"] if self.disk else []
        parts += [lasting(self.seconds)] if self.seconds > 60.0 else []
        return ", ".join(parts)


def lasting(seconds: float) -> str:
    """A rough time: `about 3 h`.

    >>> lasting(3 * 3600.0), lasting(1e11)
    ('about 3 h', 'about 3,171 years')
    """
    unit, scale = next(((u, s) for u, s in _UNITS if seconds >= 1.5 * s), ("s", 1.0))
    value = seconds / scale
    return f"about {value:,.0f} {unit}" if value < 1e7 else f"about {value:.0e} {unit}"
