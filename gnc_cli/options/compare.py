"""The options of `gnc compare`."""

from functools import partial
from typing import Annotated

import typer

from gnc_cli import parsing
from gnc_cli.options.declare import GATES, OUTPUT, Ints, door, integer, ints, option, positive

__all__ = [
    "Budget", "Codes", "Digits", "Dims", "Export", "ListMode", "Proven", "RequireEntry",
    "RowsOut", "Sizes", "SolveMode", "Table", "Tolerance", "Workers",
]  # fmt: skip

_COMPARE = "What to compare"
_FRESH = "Fresh solves"

Codes = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FILES]...", rich_help_panel=_COMPARE, show_default=False,
                   help="Codes: .h5, .npz, .npy, .safetensors, .pt, .csv, .txt (one point a line, "
                   "or Sloane's); FILE:KEY picks a dataset; '-' is HDF5 on stdin."),
]  # fmt: skip
ListMode = Annotated[
    bool, option("--list", panel=_COMPARE, help="List the table, or what --d and --K leave of it.")
]
SolveMode = Annotated[
    bool,
    option("--solve", panel=_COMPARE, help="Solve every pair of --d and --K and compare that."),
]
Dims = Annotated[
    Ints | None,
    option("--d", "-d", panel=_COMPARE, metavar="INTS", parser=door(ints),
           help="Dimensions: 3, 3,5 or 3..8; of a file with one number a line, its dimension."),
]  # fmt: skip
Sizes = Annotated[
    Ints | None,
    option("--K", "-K", panel=_COMPARE, metavar="INTS", parser=door(ints),
           help="Numbers of points: 24, 2..100 or 10..100..10."),
]  # fmt: skip
Proven = Annotated[
    bool, option("--proven", panel=_COMPARE, help="List proved optima alone.")
]
Table = Annotated[
    str | None,
    option("--table", panel=_COMPARE, metavar="FILE",
           help="A current table of known codes, d,N,cosine a line, held beside our copy."),
]  # fmt: skip
Digits = Annotated[
    int | None,
    option("--digits", panel=_COMPARE, metavar="INT", parser=integer(1),
           help="Polish each file's code to so many digits of its cosine, and propose its minimal "
           "polynomial."),
]  # fmt: skip
Tolerance = Annotated[
    float,
    option("--tolerance", panel=GATES, metavar="FLOAT",
           parser=door(partial(parsing.number, least=0.0)),
           help="Exit 5 where a cosine is worse than the best known by more. Default 1e-9."),
]  # fmt: skip
RequireEntry = Annotated[
    bool,
    option("--require-entry", panel=GATES,
           help="Exit 5 on no_entry as well: nothing as good to compare with."),
]  # fmt: skip
Export = Annotated[
    str | None,
    option("--export", panel=OUTPUT, metavar="DIR",
           help="Write coordinates, Gram matrix, contact graph (graph6) and inner products of "
           "each file's code there."),
]  # fmt: skip
Budget = Annotated[
    float | None,
    option("--budget", panel=_FRESH, metavar="SECONDS", parser=positive,
           help="Time of each solve. Default 10."),
]  # fmt: skip
Workers = Annotated[
    int | None,
    option("--workers", panel=_FRESH, metavar="INT", parser=integer(1),
           help="Solves side by side, a process each. Default 1."),
]  # fmt: skip
RowsOut = Annotated[
    str | None,
    option("--out", panel=_FRESH, metavar="FILE",
           help="Keep the rows of --solve, each as it is ready: .jsonl."),
]  # fmt: skip
