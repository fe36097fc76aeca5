"""What a checkpoint of `gnc train` holds beside the network: the run's own state and its data's."""

import dataclasses
import hashlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.networks.training import EpochTotals

if TYPE_CHECKING:
    from gnc_cli.workflows.train_session import Session

__all__ = ["check_same_data", "checkpoint_state", "stored_totals"]


def checkpoint_state(
    session: "Session", totals: EpochTotals | None, **run: Any
) -> dict[str, Any]:
    """Tensors and plain data for last.pt.

    Args:
        session: as it is now.
        totals: of the epoch that has just ended and is not yet in metrics.jsonl; None elsewhere.
        run: what else the run wants back.
    """
    kept = None if totals is None else dataclasses.asdict(totals)
    return {
        "format": 1,
        "training": session.training.state(),
        "run": run | {"totals": kept},
    } | _data_state(session)


def stored_totals(state: dict[str, Any]) -> EpochTotals | None:
    """The totals of `checkpoint_state`."""
    kept = state["run"]["totals"]
    return None if kept is None else EpochTotals(**kept)


def check_same_data(state: dict[str, Any], session: "Session", where: str) -> None:
    """Refuse to go on with other pictures, or with pictures in another order.

    Raises:
        DataError: mean, standard deviation or labels are not those of the checkpoint.
    """
    ours = _data_state(session)
    for name, what in (("mean", "mean"), ("std", "standard deviation")):
        theirs, mine = state["normalisation"][name], ours["normalisation"][name]
        if len(theirs) != len(mine) or not all(
            math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)
            for a, b in zip(theirs, mine, strict=True)
        ):
            raise DataError(
                f"{where!r} was trained on other pictures: their {what} was {_said(theirs)}, that "
                f"of {session.settings.data} is {_said(mine)} now; name the same data"
            )
    if state["labels"] != ours["labels"]:
        raise DataError(
            f"{where!r} was trained on pictures with other labels, or in another order, than those "
            f"of {session.settings.data} now; name the same data"
        )


def _data_state(session: "Session") -> dict[str, Any]:
    """What tells one training set from another."""
    normalisation = session.normalisation
    labels = np.ascontiguousarray(session.measuring.train.labels, dtype="<i8")
    return {
        "normalisation": {"mean": list(normalisation.mean), "std": list(normalisation.std)},
        "labels": hashlib.sha256(labels.tobytes()).hexdigest(),
    }


def _said(values: list[float]) -> str:
    return ", ".join(f"{value:.4f}" for value in values)
