"""The options of `gnc bounds`."""

from enum import StrEnum
from functools import partial
from math import pi
from typing import Annotated

from gnc_cli import parsing
from gnc_cli.options.declare import OUTPUT, RUN, Ints, door, option, positive

__all__ = [
    "ArcfaceM", "BestRows", "BoundDims", "BoundProbability", "BoundSizes", "BoundTable",
    "BoundsTimeLimit",
    "CosfaceM", "LinearProgram", "Margin", "MaxCosine", "Quantity", "QuantityChoice",
]  # fmt: skip

_ASKED = "What is asked"
_LARGEST_D, _LARGEST_K = 10**6, 10**300


class Quantity(StrEnum):
    """Which distance of a code the bounds are about."""

    ONE_VS_REST = "one-vs-rest"
    ONE_VS_ONE = "one-vs-one"


def _dims(text: str) -> Ints:
    return Ints(parsing.integers(text, least=2, most=_LARGEST_D))


def _sizes(text: str) -> Ints:
    return Ints(parsing.integers(text, least=2, most=_LARGEST_K))


_distance = door(partial(parsing.number, above=0.0, most=2.0))

BoundDims = Annotated[
    Ints | None,
    option("--d", "-d", panel=_ASKED, metavar="INTS", parser=door(_dims),
           help="Dimensions, up to 1e6: 512, 128,256,512 or 2..512."),
]  # fmt: skip
BoundSizes = Annotated[
    Ints | None,
    option("--K", "-K", panel=_ASKED, metavar="INTS", parser=door(_sizes),
           help="Numbers of classes or points, up to 1e300: 1e6 or 10572,85742,360232."),
]  # fmt: skip
Margin = Annotated[
    float | None,
    option("--margin", panel=_ASKED, metavar="FLOAT", parser=_distance,
           help="One-vs-rest distance wanted, above 0, up to 2. With --K: which d; with --d: how "
           "many K; with both: whether such a code exists."),
]  # fmt: skip
CosfaceM = Annotated[
    float | None,
    option("--cosface-m", panel=_ASKED, metavar="FLOAT", parser=_distance,
           help="CosFace's margin: the same number as --margin."),
]  # fmt: skip
ArcfaceM = Annotated[
    float | None,
    option("--arcface-m", panel=_ASKED, metavar="RADIANS",
           parser=door(partial(parsing.number, above=0.0, most=pi)),
           help="ArcFace's angle, in place of --margin: all angles of the code at least so large."),
]  # fmt: skip
MaxCosine = Annotated[
    float | None,
    option("--max-cosine", panel=_ASKED, metavar="FLOAT",
           parser=door(partial(parsing.number, least=-1.0, below=1.0)),
           help="The same as a cosine: --d 8 --max-cosine 0.5 is the kissing problem."),
]  # fmt: skip
QuantityChoice = Annotated[
    Quantity | None,
    option("--quantity", panel=_ASKED,
           help="one-vs-rest (margins), or one-vs-one: cosine and angle of spherical codes. "
           "Default one-vs-rest; one-vs-one with --arcface-m or --max-cosine."),
]  # fmt: skip
BoundProbability = Annotated[
    float | None,
    option("--probability", panel=_ASKED, metavar="FLOAT",
           parser=door(partial(parsing.number, above=0.0, below=1.0)),
           help="Also give the scale s = 1/tau from which softmax reaches it on every class."),
]  # fmt: skip
LinearProgram = Annotated[
    bool,
    option("--lp", panel=_ASKED,
           help="Add Delsarte's linear programme, verified in exact arithmetic: about a second a "
           "pair."),
]  # fmt: skip
BoundTable = Annotated[
    str | None,
    option("--table", panel=_ASKED, metavar="FILE",
           help="A current table of known codes, d,N,cosine a line, held beside our copy."),
]  # fmt: skip
BestRows = Annotated[
    bool,
    option("--best", panel=OUTPUT,
           help="Rows of --csv, --jsonl and --out: one a pair, K or d, with what is known of it, "
           "in place of one a bound."),
]  # fmt: skip
BoundsTimeLimit = Annotated[
    float | None,
    option("--time-limit", panel=RUN, metavar="SECONDS", parser=positive,
           help="Wall time for --lp; bounds that are not ready by then are left out. Default "
           "none."),
]  # fmt: skip
