"""An epoch as a row: from what training and measuring found, from a stored line, and in words."""

import dataclasses
from typing import TYPE_CHECKING, Any

from gnc_cli.results import Bracket, EpochRow

if TYPE_CHECKING:
    from gnc_cli.networks.training import EpochTotals
    from gnc_cli.workflows.train_measure import Measured

__all__ = ["epoch_row", "row_in_words", "stored_row"]


def epoch_row(
    totals: "EpochTotals", measured: "Measured | None", measure_seconds: float = 0.0
) -> EpochRow:
    """The row of an epoch.

    Args:
        totals: of its training.
        measured: of the network after it, if it was measured.
        measure_seconds: that this took, with all that came with it.
    """
    row = EpochRow(
        epoch=totals.epoch, step=totals.step, lr=totals.lr, loss=totals.loss,
        running_accuracy=totals.accuracy, seconds=totals.seconds,
        images_per_second=totals.images_per_second,
    )  # fmt: skip
    if measured is None:
        return row
    result = measured.result
    return dataclasses.replace(
        row,
        train_accuracy=None if result is None else result.accuracy,
        test_accuracy=measured.test_accuracy,
        ood_accuracy=measured.ood_accuracy,
        test_ncc_accuracy=measured.test_ncc_accuracy,
        gnc1=None if result is None else result.gnc1,
        gnc2=None if result is None else result.gnc2,
        gnc3=None if result is None else result.gnc3,
        ncc_accuracy=None if result is None else result.ncc_accuracy,
        measure_seconds=measure_seconds,
    )


def stored_row(stored: dict[str, Any]) -> EpochRow:
    """The row of a line of metrics.jsonl."""
    names = {f.name for f in dataclasses.fields(EpochRow)}
    values = {k: v for k, v in stored.items() if k in names}
    if values.get("gnc2") is not None:
        values["gnc2"] = Bracket(**values["gnc2"])
    return EpochRow(**values)


def row_in_words(row: EpochRow, epochs: int) -> str:
    """An epoch in log.txt."""
    said = [f"epoch {row.epoch}/{epochs}", f"loss {row.loss:.4g}"]
    for name, value in (
        ("train", row.train_accuracy), ("test", row.test_accuracy), ("ood", row.ood_accuracy),
        ("gnc1", row.gnc1), ("gnc2", None if row.gnc2 is None else row.gnc2.lower),
        ("gnc3", row.gnc3), ("ncc", row.ncc_accuracy),
    ):  # fmt: skip
        if value is not None:
            said.append(f"{name} {value:.4g}")
    return ", ".join(said)
