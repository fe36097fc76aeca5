"""Results of `bounds` by hand, and a stand-in for its work, for the command line by itself."""

import sys
import types
from typing import Any

import pytest

from gnc_cli.results import (
    BestBounds,
    BoundRow,
    BoundsResult,
    ClassesAnswer,
    ClassesBest,
    ClassesRow,
    DimensionAnswer,
    DimensionBest,
    DimensionRow,
)

HOW = "gnc solve --d 3 --K 24 --construction snub-cube"


def row(**changes: Any) -> BoundRow:
    """What a theorem says of 24 points in space."""
    fields: dict[str, Any] = dict(
        d=3, K=24, quantity="one-vs-rest", side="lower", value=0.03125, angle_deg=None,
        proven=True, valid=True, condition="K >= 5.575",
        strict=False, exists=True, constructive=False,
        name="theorem-3.9", source="theorem 3.9", how=None,
    )  # fmt: skip
    return BoundRow(**(fields | changes))


def built(**changes: Any) -> BoundRow:
    """A code that can be built."""
    fields: dict[str, Any] = dict(
        value=0.25, condition=None,
        strict=False, constructive=True, name="construction", source="snub cube",
        how=HOW,
    )  # fmt: skip
    return row(**(fields | changes))


def excluding(**changes: Any) -> BoundRow:
    """What no code exceeds."""
    fields: dict[str, Any] = dict(
        side="upper", value=0.75, condition=None,
        strict=False, exists=False, name="fejes-toth", source="bisector theorem with 1943"
    )
    return row(**(fields | changes))


def best(**changes: Any) -> BestBounds:
    """The interval of these rows."""
    fields: dict[str, Any] = dict(
        d=3, K=24, quantity="one-vs-rest", lower=0.25, upper=0.75, lower_name="construction",
        upper_name="fejes-toth", lower_deg=None, upper_deg=None, exact=False, status=None,
        scale=None, best_known=None,
    )  # fmt: skip
    return BestBounds(**(fields | changes))


def result(**changes: Any) -> BoundsResult:
    """One pair, asked for no margin."""
    fields: dict[str, Any] = dict(
        seconds=0.5, version="0.1.0", quantity="one-vs-rest", margin=None, max_cosine=None,
        arcface_m=None, probability=None, outcome="complete",
        rows=(row(), built(), excluding()), best=(best(),),
    )  # fmt: skip
    return BoundsResult(**(fields | changes))


def several() -> BoundsResult:
    """Two pairs with a margin and a probability; one K is beyond all integers of readers."""
    more = [row(K=10**300), excluding(K=10**300, value=0.5)]
    asked = [
        best(status="open", scale=19.0625),
        best(K=10**300, lower=0.03125, upper=0.5, lower_name="theorem-3.9",
             status="excluded", scale=22175.5),
    ]  # fmt: skip
    rows = (row(), excluding(), *more)
    return result(margin=0.625, probability=0.9, rows=rows, best=tuple(asked))


def angles() -> BoundsResult:
    """Cosines and angles."""
    one = {"quantity": "one-vs-one", "condition": None}
    rows = (
        built(side="upper", value=0.75, angle_deg=41.40962210927086, **one),
        excluding(side="lower", value=0.5, angle_deg=60.00000000000001, **one),
    )
    ends = best(
        quantity="one-vs-one", lower=0.5, upper=0.75, lower_name="fejes-toth",
        upper_name="construction", lower_deg=41.40962210927086, upper_deg=60.00000000000001,
        status="exists",
    )  # fmt: skip
    return result(
        quantity="one-vs-one", max_cosine=0.75, arcface_m=0.7227342478134157, rows=rows,
        best=(ends,),
    )  # fmt: skip


def dimension() -> BoundsResult:
    """From which d, for two K."""
    said: dict[str, Any] = dict(
        K=24, name="covering", side="lower", d=8, ending="found", proven=True, exists=True,
        constructive=False, source="1959", how=None,
    )  # fmt: skip
    rows = (
        DimensionRow(**said),
        DimensionRow(**(said | dict(name="theorem-3.9", d=None, ending="never"))),
        DimensionRow(**(said | dict(K=10**300, d=None, ending="beyond"))),
        DimensionRow(**(said | dict(name="levenshtein", side="upper", d=3, exists=False))),
    )  # fmt: skip
    answer = DimensionAnswer(
        rows, (DimensionBest(24, 8, 3), DimensionBest(10**300, None, 3)), None, 3, 53.25
    )
    return result(margin=0.5, probability=0.9, rows=(), best=(), dimension=answer)


def classes() -> BoundsResult:
    """Up to which K, for two d."""
    said: dict[str, Any] = dict(
        d=8, name="known-code", side="lower", K=240, log10_K=2.380211241711606, proven=True,
        exists=True, constructive=True, source="E8", how=HOW,
    )  # fmt: skip
    rows = (
        ClassesRow(**said),
        ClassesRow(**(said | dict(name="theorem-3.9", K=None, log10_K=None, how=None))),
        ClassesRow(**(said | dict(d=512, name="covering", K=None, log10_K=76.25, how=None))),
        ClassesRow(**(said | dict(name="levenshtein", side="upper", K=1000, log10_K=3.0,
                                  exists=False, constructive=False, how=None))),
    )  # fmt: skip
    known = ClassesBest(8, 240, 2.380211241711606, 1000, 3.0)
    answer = ClassesAnswer(
        rows, (known, ClassesBest(512, None, 76.25, None, 343.125)), 240, 2.380211241711606, 1000,
        3.0, None,
    )  # fmt: skip
    return result(margin=0.5, rows=(), best=(), classes=answer)


class FakeBounds:
    """Remembers how it was called and returns what it was told to."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.result = result()
        self.error: BaseException | None = None

    def __call__(self, d: Any, K: Any, **options: Any) -> BoundsResult:
        self.calls.append({"d": d, "K": K, **options})
        if self.error is not None:
            raise self.error
        return self.result


def install_bounds(monkeypatch: pytest.MonkeyPatch) -> FakeBounds:
    """Put a FakeBounds where `gnc bounds` looks for the work function."""
    fake = FakeBounds()
    module = types.ModuleType("gnc_cli.workflows.bounds")
    module.bounds = fake  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gnc_cli.workflows.bounds", module)
    return fake
