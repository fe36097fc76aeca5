"""When to measure a network in training: as often as takes a tenth of the time."""

__all__ = ["Cadence"]

_SHARE = 0.1
"""Of the wall time that measuring may take, where `--measure-every` does not say how often."""
_INTERVALS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
_LEAST = 10.0
"""Seconds that GNC2 gets in any case."""


class Cadence:
    """Keeps the time, and says after which epochs to measure.

    The first epoch and the last are measured always; between them multiples of an interval that
    follows from what an epoch and the latest measurement took, as long as all of them, the last
    one included, keep within a tenth of what the whole run will take: most of the collapse is in
    its first epochs. The clocks of several processes differ: let the first decide for all.

    Args:
        asked: epochs between measurements, as the user wants it; None to choose.
        epochs: of the run.

    Example:
        >>> cadence = Cadence(None, 100)
        >>> cadence.train_seconds = 1.0
        >>> cadence.measured(0.5, epoch=1)
        >>> cadence.every
        5
        >>> cadence.train_seconds = 5.0
        >>> cadence.due(5), cadence.due(6)
        (True, False)
    """

    def __init__(self, asked: int | None, epochs: int) -> None:
        self.asked, self.epochs = asked, epochs
        self.every = asked or 1
        self.train_seconds = self.measure_seconds = 0.0
        self._cost = 0.0

    def due(self, epoch: int) -> bool:
        """Whether to measure after this epoch, which is trained already."""
        if epoch in (1, self.epochs):
            return True
        if epoch % self.every:
            return False
        if self.asked is not None:
            return True
        share = _SHARE / (1.0 - _SHARE)
        whole = self.train_seconds * self.epochs / epoch
        return self.measure_seconds + 2.0 * self._cost <= share * whole

    def measured(self, seconds: float, epoch: int) -> None:
        """A measurement took so long, with all that came with it."""
        self.measure_seconds += seconds
        self._cost = seconds
        if self.asked is None and epoch:
            rest = self.train_seconds / epoch * _SHARE / (1.0 - _SHARE)
            self.every = next((n for n in _INTERVALS if seconds <= n * rest), _INTERVALS[-1])

    @property
    def patience(self) -> float:
        """Seconds that GNC2 of one measurement may take."""
        return max(_LEAST, _SHARE * self.train_seconds)

    def state(self) -> dict[str, float | int]:
        """Plain data, from which `load` goes on."""
        return {
            "every": self.every, "cost": self._cost,
            "train_seconds": self.train_seconds, "measure_seconds": self.measure_seconds,
        }  # fmt: skip

    def load(self, state: dict[str, float | int]) -> None:
        """Go on from `state`; an interval that the user asks for now wins."""
        self.every = self.asked or int(state["every"])
        self._cost = float(state["cost"])
        self.train_seconds = float(state["train_seconds"])
        self.measure_seconds = float(state["measure_seconds"])
