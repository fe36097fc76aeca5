"""gnc: certified spherical codes and generalized neural collapse.

>>> from gnc_cli import solve
>>> round(solve(d=3, K=4).max_cosine, 12)
-0.333333333333
"""

TYPE_CHECKING = False
if TYPE_CHECKING:  # `python -m gnc_cli` begins here, and still searches the current folder first
    from typing import Any

__version__ = "0.1.0"

__all__ = [
    "GNCMetrics",
    "__version__",
    "bounds",
    "compare",
    "list_constructions",
    "measure",
    "measure_model",
    "measure_series",
    "solve",
    "solve_sweep",
    "train",
    "train_series",
]

_MODULES = {
    "GNCMetrics": "collapse.gnc_metrics",
    "bounds": "limits.api",
    "compare": "comparison.api",
    "list_constructions": "search.routes.construction",
    "measure": "collapse.api",
    "measure_model": "collapse.measure_model",
    "measure_series": "collapse.api",
    "solve": "search.api",
    "solve_sweep": "search.api",
    "train": "training.api",
    "train_series": "training.api",
}


def __getattr__(name: str) -> "Any":
    """Load a public function on first use (PEP 562), so that `import gnc_cli` is instant."""
    if name in _MODULES:
        from importlib import import_module

        return getattr(import_module(f"gnc_cli.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'gnc_cli' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
