"""Values in flint's ball arithmetic, as precise as a test wants them."""

from collections.abc import Callable

from flint import arb, ctx


def precise(formula: Callable[[], arb], bits: int = 100) -> arb:
    """What a formula gives once its value is known to so many bits."""
    for power in range(8, 14):
        with ctx.workprec(2**power):
            value = formula()
            if value.rel_accuracy_bits() >= bits:
                return value
    raise AssertionError(f"no digits: {value}")
