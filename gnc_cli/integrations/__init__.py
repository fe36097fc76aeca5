"""Callbacks for other trainers, and the numbers they log, under the keys of `gnc measure`."""

import logging
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from torch import nn

from gnc_cli.brackets import Bracket
from gnc_cli.collapse.measure_model import measure_model
from gnc_cli.collapse.result import MeasureResult
from gnc_cli.errors import DataError

_ENDS: dict[Any, tuple[str, ...]] = {
    float | None: ("{}",),
    Bracket | None: ("{}.lower", "{}.upper"),
}
FIGURES = tuple(
    key.format(each.name)
    for each in fields(MeasureResult)
    if "better" in each.metadata.get("json_schema_extra", {})
    and each.name in MeasureResult.__annotations__
    for key in _ENDS.get(each.type, ())
)
"""Keys of a result, dotted: of each figure of `MeasureResult` that has a better direction."""

_log = logging.getLogger(__name__)


def figures(result: MeasureResult, prefix: str = "gnc/") -> dict[str, float]:
    """The numbers of a result under dotted keys, `FIGURES`; those it lacks are left out.

    Example:
        >>> import numpy as np
        >>> from gnc_cli import measure
        >>> result = measure(features=np.eye(3), labels=np.arange(3), weights=np.eye(3))
        >>> figures(result)["gnc/gnc3"]
        0.0
    """
    flat = result.flat(prefix)
    numbers = {prefix + name: flat[prefix + name] for name in FIGURES}
    return {name: float(value) for name, value in numbers.items() if value is not None}


def measure_or_warn(
    model: nn.Module, loader: Iterable[Any], earlier: MeasureResult | None, **how: Any
) -> MeasureResult | None:
    """`measure_model` for a run that must go on: features that cannot be measured are a warning.
    The warnings of the first result, which has no `earlier` one, are logged.
    """
    try:
        result = measure_model(model, loader, **how)
    except DataError as error:
        _log.warning("collapse is not measured: %s", error)
        return None
    for warning in result.warnings if earlier is None else ():
        _log.warning("%s", warning)
    return result


def warn_of_evaluation_samples() -> None:
    """Warn where a callback is given no samples: collapse is about the training set."""
    _log.warning(
        "collapse is measured on the evaluation samples, by class means of their own; for the "
        "training set give CollapseCallback(loader=...) its samples"
    )


def missing_package(package: str) -> ImportError:
    """The error of an import without its optional package."""
    return ImportError(
        f"gnc_cli.integrations.{package} needs {package}; pip install 'gnc-cli[trainers]'"
    )
