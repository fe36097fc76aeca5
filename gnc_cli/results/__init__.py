"""Frozen records that every command returns, and the one way they become JSON.

Radians inside; degrees only where a name says `_deg`. Arrays ride along for Python users and never
enter the JSON. Each command's records have a module of their own, loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gnc_cli.results.bounds import (
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
    from gnc_cli.results.compare import CompareResult, CompareRow, Standing, TableStamp
    from gnc_cli.results.core import SCHEMA, BestKnown, Bracket, Margins, Rattlers, Result, plain
    from gnc_cli.results.measure import (
        BootstrapIntervals,
        ClassCounts,
        ClassRow,
        DuplicatePair,
        Gnc2Quantiles,
        Gnc2Reference,
        MeasureGroup,
        MeasureMargins,
        MeasureResult,
        MeasureSeries,
        SampleMargins,
        WithoutDuplicates,
    )
    from gnc_cli.results.solve import (
        ConstructionList,
        ConstructionRow,
        Optimum,
        Outcome,
        SolveResult,
        SolveSweep,
        UfmMeasures,
    )
    from gnc_cli.results.train import EpochRow, HeadFacts, TrainResult, TrainSeries

__all__ = [
    "SCHEMA",
    "BestBounds",
    "BestKnown",
    "BootstrapIntervals",
    "BoundRow",
    "BoundsResult",
    "Bracket",
    "ClassCounts",
    "ClassRow",
    "ClassesAnswer",
    "ClassesBest",
    "ClassesRow",
    "CompareResult",
    "CompareRow",
    "ConstructionList",
    "ConstructionRow",
    "DimensionAnswer",
    "DimensionBest",
    "DimensionRow",
    "DuplicatePair",
    "EpochRow",
    "Gnc2Quantiles",
    "Gnc2Reference",
    "HeadFacts",
    "Margins",
    "MeasureGroup",
    "MeasureMargins",
    "MeasureResult",
    "MeasureSeries",
    "Optimum",
    "Outcome",
    "Rattlers",
    "Result",
    "SampleMargins",
    "SolveResult",
    "SolveSweep",
    "Standing",
    "TableStamp",
    "TrainResult",
    "TrainSeries",
    "UfmMeasures",
    "WithoutDuplicates",
    "plain",
]

_MODULES = ("core", "compare", "bounds", "solve", "measure", "train")
"""From the light to the heavy: making a record takes a millisecond."""


def __getattr__(name: str) -> Any:
    """Load the module of a record when it is asked for (PEP 562)."""
    if name in __all__:
        for module in (import_module(f"gnc_cli.results.{m}") for m in _MODULES):
            if name in module.__all__:
                return getattr(module, name)
    raise AttributeError(f"module 'gnc_cli.results' has no attribute {name!r}")
