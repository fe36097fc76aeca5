"""What a code is, as records: the results of `invariants`."""

from dataclasses import dataclass, field
from enum import StrEnum

from gnc_cli.brackets import Bracket
from gnc_cli.records import LOWER


@dataclass(frozen=True)
class Symmetry:
    """The permutations of the points by rotations and reflections."""

    order: str
    """How many there are: an integer of any size, as text."""
    orbits: tuple[int, ...]
    """Sizes of the orbits of the points, the largest first."""


@dataclass(frozen=True)
class Design:
    """How well averages over the points are those over the sphere."""

    strength: int
    """Polynomials up to this degree have the same average over the points as over the sphere."""
    next_residual: float
    """Mean harmonic of the next degree: 0 in a design of that strength."""
    tolerance: float
    """Mean harmonics up to this size count as 0."""


@dataclass(frozen=True)
class Energies:
    """Sums over all pairs of points, whose distance is r."""

    coulomb: float
    """Coulomb energy, the sum of 1 / r over all pairs of points."""
    thomson: float | None
    """Smallest known Coulomb energy of K points for d = 3, to nine decimals; None where
    none is listed."""
    logarithmic: float
    """Logarithmic energy, the sum of -log r over all pairs of points."""
    harmonic: float | None
    """Harmonic energy, the sum of r^(2 - d) over all pairs of points; None for d = 2, where that is
    -log r."""


class Jamming(StrEnum):
    """What the contacts allow."""

    INFINITESIMALLY_JAMMED = "infinitesimally_jammed"
    JAMMED = "jammed"
    FLEXIBLE = "flexible"
    OPENS = "opens"
    UNDECIDED = "undecided"


@dataclass(frozen=True, kw_only=True)
class Rigidity:
    """Whether the points of a code are held in place by their contacts."""

    verdict: Jamming
    """`opens`: a motion raises the minimal distance; `flexible`: points move and it stays; `jammed`
    or, by first derivatives alone, `infinitesimally_jammed`: no motion but rotations, points
    without stress aside; `undecided`."""
    reason: str
    """What decided, in a few words."""
    stressed: int
    """Contacts that carry a stress. No motion that keeps the minimal distance opens them."""
    free_points: int
    """Points without a stressed contact."""
    rank: int
    """Rank of the rigidity matrix, the first derivatives of the contacts."""
    degrees_of_freedom: int
    """Dimension of the motions of the points with contacts, rotations aside. It equals `rank` where
    the contacts, as bars, leave only rotations."""
    direction: tuple[tuple[float, ...], ...] | None = None
    """Of `opens`: velocities of all points, tangent to the sphere, the longest of length 1."""


@dataclass(frozen=True, kw_only=True)
class Description:
    """What a code is; a figure that is None stands with its reason in `left_out`."""

    symmetry: Symmetry | None = None
    """None for more than 300 points, or where there are too many cases."""
    design: Design | None = None
    """Strength as a spherical design."""
    covering_radius_deg: Bracket | None = field(default=None, metadata=LOWER)
    """Largest angle between a direction and the nearest point, degrees. It is computed for d <= 4,
    else between what was reached and what is impossible."""
    energies: Energies | None = None
    """Sums over all pairs."""
    contact_graph_rank: int | None = None
    """Rank of the adjacency matrix of the contact graph."""
    rigidity: Rigidity | None = None
    """Whether the contacts hold the points in place; None for more than 8000 coordinates."""
    left_out: tuple[str, ...] = ()
    """One line for each figure that is missing, with the reason."""
