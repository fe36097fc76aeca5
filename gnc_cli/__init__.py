"""gnc: certified spherical codes and collapse analysis.

    >>> from gnc_cli import solve
    >>> round(solve(d=3, K=4).max_cosine, 12)
    -0.333333333333
"""

from typing import Any

__version__ = "0.1.0"

__all__ = ["GNCMetrics", "__version__", "bounds", "compare", "measure", "solve", "train"]

_MODULES = {"GNCMetrics": "gnc_metrics"}
"""In `workflows`, where it is not called like the name."""


def __getattr__(name: str) -> Any:
    """Load what is asked for on first use (PEP 562): `import gnc_cli` stays instant."""
    if name in __all__:
        from importlib import import_module

        return getattr(import_module(f"gnc_cli.workflows.{_MODULES.get(name, name)}"), name)
    raise AttributeError(f"module 'gnc_cli' has no attribute {name!r}")
