"""Callbacks for other trainers, and the values that they log by the keys of `gnc measure`."""

import logging
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from torch import nn

from gnc_cli.brackets import Bracket
from gnc_cli.collapse.measure_model import measure_model
from gnc_cli.collapse.result import MeasureResult
from gnc_cli.errors import DataError

_KEYS_BY_TYPE: dict[Any, tuple[str, ...]] = {
    float | None: ("{}",),
    Bracket | None: ("{}.lower", "{}.upper"),
}
FIGURES = tuple(
    key.format(column.name)
    for column in fields(MeasureResult)
    if "better" in column.metadata.get("json_schema_extra", {})
    and column.name in MeasureResult.__annotations__
    for key in _KEYS_BY_TYPE.get(column.type, ())
)
"""Dotted keys of the values of `MeasureResult` for which less or more is better."""

_log = logging.getLogger(__name__)


def figures(result: MeasureResult, prefix: str = "gnc/") -> dict[str, float]:
    """Return the values of a result by their dotted keys, `FIGURES`, without those that are None.

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
    model: nn.Module, loader: Iterable[Any], earlier: MeasureResult | None, **options: Any
) -> MeasureResult | None:
    """Measure a network, or warn and return None if its features cannot be measured.

    The training then continues. The warnings of the first result, which has no `earlier` one, are
    logged.
    """
    try:
        result = measure_model(model, loader, **options)
    except DataError as error:
        _log.warning("collapse is not measured: %s", error)
        return None
    for warning in result.warnings if earlier is None else ():
        _log.warning("%s", warning)
    return result


def warn_of_evaluation_samples() -> None:
    """Warn of a callback without samples: collapse is a property of the training set."""
    _log.warning(
        "collapse is measured on the evaluation samples, by class means of their own; for the "
        "training set give CollapseCallback(loader=...) its samples"
    )


def missing_package(package: str) -> ImportError:
    """Return the error of an import without its optional package."""
    return ImportError(
        f"gnc_cli.integrations.{package} needs {package}; pip install 'gnc-cli[trainers]'"
    )
