"""Arguments of `compare`: their declaration, and the combinations that are allowed."""

import os
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from gnc_cli.errors import UsageError
from gnc_cli.io.arguments import Call
from gnc_cli.known_codes.verdict import TOLERANCE
from gnc_cli.parameters import (
    DURATION,
    MOST_DIMENSIONS,
    MOST_POINTS,
    Force,
    Kind,
    Parameter,
    Path,
    PlotOrPage,
    PublicTable,
    Read,
    Subjects,
    Threads,
    declared,
    is_page,
    real,
    requires,
    spelled,
    whole,
    wholes,
)

if TYPE_CHECKING:
    from gnc_cli.comparison.result import CompareRow


def _codes(value: Any) -> tuple[Any, ...]:
    """Read one code or several: a list of rows of numbers is one, any other list has several."""
    if not isinstance(value, (list, tuple)):
        return (value,)
    first = value[0] if value else None
    rows = isinstance(first, (list, tuple)) and not isinstance(first[0], (list, tuple))
    return (value,) if rows or getattr(first, "ndim", 0) == 1 else tuple(value)


_COMPARE = "What to compare"
_GATES = "Gates for CI"


@dataclass(frozen=True, eq=False)
class Compare(Call):
    """Call of `compare`.

    Raises:
        UsageError: no mode or several, or an argument that the mode excludes or requires.
    """

    files: Annotated[
        Read[Any, tuple[Any, ...]],
        Parameter(
            "Codes: .h5, .npz, .npy, .safetensors, .pt, .off, .csv, .txt (one point per line, "
            "or one coordinate per line, as in Sloane's tables; numbers may be 1/3 or "
            "sqrt(5)/5); :KEY after a file's name picks a dataset; '-' is HDF5 on stdin.",
            Kind("FILES", _codes, noun="files, arrays or results"),
            _COMPARE,
            argument=True,
            repeatable=True,
            reads=True,
        ),
    ] = Read(())
    _: KW_ONLY
    list: Annotated[bool, Parameter("List the table; --d and --K restrict it.", group=_COMPARE)] = (
        False
    )
    d: Annotated[
        Read[Any, tuple[int, ...] | None],
        Parameter(
            "Dimensions: 3, 3,5 or 3..8; also the dimension of a file that lists one "
            "coordinate per line.",
            wholes(2, MOST_DIMENSIONS),
            _COMPARE,
            short="-d",
        ),
    ] = Read(None)
    K: Annotated[
        Read[Any, tuple[int, ...] | None],
        Parameter(
            "Numbers of points: 24, 2..100 or 10..100..10.",
            wholes(2, MOST_POINTS),
            _COMPARE,
            short="-K",
        ),
        Subjects("list"),
    ] = Read(None)
    proven: Annotated[
        bool, Parameter("List only proved optima.", group=_COMPARE), Subjects("list")
    ] = False
    table: PublicTable = None
    digits: Annotated[
        int | None,
        Parameter(
            "Polish each file's code until its cosine has this many decimals, and find its "
            "minimal polynomial: proved where the exact code is found, else proposed.",
            whole(1, 1000),
            _COMPARE,
        ),
        Subjects("files"),
    ] = None
    lines: Annotated[
        bool,
        Parameter(
            "Compare each file's rows as lines, by coherence; files of solve --problem lines say "
            "so themselves.",
            group=_COMPARE,
        ),
        Subjects("files"),
    ] = False
    describe: Annotated[
        bool,
        Parameter(
            "Describe each file's code: symmetry group, strength as a design, covering radius, "
            "energies, and whether its contacts hold it in place.",
            group=_COMPARE,
        ),
        Subjects("files"),
    ] = False
    isometry: Annotated[
        bool,
        Parameter(
            "Match each file's code with that of the first file, up to rotation, reflection and "
            "order; --json has the map.",
            group=_COMPARE,
        ),
        Subjects("files"),
    ] = False
    export: Annotated[
        Path | None,
        Parameter(
            "Write coordinates (text and OFF), Gram matrix, contact graph (graph6) and inner "
            "products of each file's code there.",
            group="Output",
            metavar="DIR",
        ),
        Subjects("files"),
    ] = None
    time_limit: Annotated[
        float | None,
        Parameter(
            "Time limit of the whole run, 90 (seconds), 15m or 2h; the rows so far are kept. "
            "Default none.",
            DURATION,
            "Effort and machine",
        ),
        Subjects("files"),
    ] = None
    threads: Annotated[Threads, Subjects("files")] = None
    force: Force = False
    plot: PlotOrPage = None
    tolerance: Annotated[
        float,
        Parameter(
            "Exit 5 if the largest cosine exceeds the best known by more than this. "
            "Default 1e-9, or the precision of the file.",
            real(0.0),
            _GATES,
        ),
        Subjects("files"),
    ] = TOLERANCE
    require_entry: Annotated[
        bool,
        Parameter("Exit 5 also where (d, K) is not on record (status no_entry).", group=_GATES),
        Subjects("files"),
    ] = False
    on_row: "Callable[[CompareRow], None] | None" = None

    def __post_init__(self) -> None:
        mode = self.mode
        for name, parameter in declared(type(self)).items():
            (required_mode,) = parameter.belongs_to or (mode,)
            if required_mode != mode and self.is_set(name):
                condition = required_mode if required_mode == "files" else spelled(required_mode)
                raise requires(name, condition, f"drop {spelled(name)}")
        if mode == "files" and len(self.d or ()) > 1:
            raise UsageError(
                f"{spelled('d')} takes one dimension with files, not {len(self.d or ())}"
            )
        if self.isometry and len(self.files) == 1:
            raise requires("isometry", "several files", f"drop {spelled('isometry')}")
        if self.plot is not None and is_page(self.plot) and len(self.files) != 1:
            raise UsageError(
                f"{spelled('plot')} {os.fspath(self.plot)!r} is a page of one code; give one file, "
                "or draw a .png"
            )

    @property
    def mode(self) -> str:
        """Requested mode, `list` or `files`."""
        if self.list and self.files:
            raise UsageError(f"{spelled('list')} and files exclude each other; keep one of them")
        if not self.list and not self.files:
            raise UsageError(
                f"nothing to compare; give files such as code.h5, or {spelled('list')}"
            )
        return "list" if self.list else "files"
