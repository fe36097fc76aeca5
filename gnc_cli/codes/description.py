"""Records that describe a code: the results of `invariants`."""

from dataclasses import dataclass, field
from enum import StrEnum

from gnc_cli.brackets import Bracket
from gnc_cli.records import LOWER


@dataclass(frozen=True)
class Symmetry:
    """Permutations of the points by rotations and reflections."""

    order: str
    """Number of symmetries: an integer of any size, as text."""
    orbits: tuple[int, ...]
    """Sizes of the orbits of the points, the largest first."""


@dataclass(frozen=True)
class Design:
    """Agreement of averages over the points with those over the sphere."""

    strength: int
    """Largest t such that all polynomials up to degree t have the same average over the points as
    over the sphere."""
    next_residual: float
    """Mean harmonic of the next degree: 0 in a design of that degree."""
    tolerance: float
    """Largest mean harmonic that counts as 0."""


@dataclass(frozen=True)
class Energies:
    """Sums over all pairs of points, whose distance is r."""

    coulomb: float
    """Coulomb energy, the sum of 1 / r over all pairs of points."""
    thomson: float | None
    """Smallest known Coulomb energy of K points for d = 3, to nine decimals; None if unlisted."""
    logarithmic: float
    """Logarithmic energy, the sum of -log r over all pairs of points."""
    harmonic: float | None
    """Harmonic energy, the sum of r^(2 - d) over all pairs of points; None for d = 2, where the
    logarithmic energy takes its place."""


class Jamming(StrEnum):
    """Motions that the contacts allow."""

    INFINITESIMALLY_JAMMED = "infinitesimally_jammed"
    JAMMED = "jammed"
    FLEXIBLE = "flexible"
    OPENS = "opens"
    UNDECIDED = "undecided"


@dataclass(frozen=True, kw_only=True)
class Rigidity:
    """Rigidity of a code: the motions of its points that the contacts allow."""

    verdict: Jamming
    """Verdict. `opens`: a motion raises the minimal distance; `flexible`: points move and it is
    unchanged; `jammed` or, by first derivatives alone, `infinitesimally_jammed`: no motion but
    rotations, except of points without stress; `undecided`."""
    reason: str
    """Reason of the verdict, a few words."""
    stressed: int
    """Number of contacts with a stress. No motion that keeps the minimal distance opens them."""
    free_points: int
    """Number of points without a stressed contact."""
    rank: int
    """Rank of the rigidity matrix, the first derivatives of the contacts."""
    degrees_of_freedom: int
    """Dimension of the motions of the points with contacts, less that of the rotations. It equals
    `rank` if the contacts, as bars, allow only rotations."""
    direction: tuple[tuple[float, ...], ...] | None = None
    """Velocities of all points, tangent to the sphere, the longest of length 1, if the verdict is
    `opens`."""


@dataclass(frozen=True, kw_only=True)
class Description:
    """Description of a code; the reason for each value that is None is in `left_out`."""

    symmetry: Symmetry | None = None
    """Symmetry group; None for more than 300 points, or if the search has too many cases."""
    design: Design | None = None
    """Strength as a spherical design."""
    covering_radius_deg: Bracket | None = field(default=None, metadata=LOWER)
    """Largest angle between a direction and the nearest point, degrees. Exact for d <= 4,
    else between the deepest hole that was found and a proved bound."""
    energies: Energies | None = None
    """Energies: sums over all pairs."""
    contact_graph_rank: int | None = None
    """Rank of the adjacency matrix of the contact graph."""
    rigidity: Rigidity | None = None
    """Rigidity; None for more than 8000 coordinates."""
    left_out: tuple[str, ...] = ()
    """One line for each missing value, with the reason."""
