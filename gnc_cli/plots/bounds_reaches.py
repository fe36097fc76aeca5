"""From which d, or up to which K: how far each bound reaches, for one K or one d."""

from typing import Any

from gnc_cli.plots.bounds_bars import Bar, name_regions, show_bars
from gnc_cli.plots.bounds_labels import bound_name, points_text, size_text, two_sided
from gnc_cli.plots.bounds_places import dress_dimensions, dress_powers, open_powers
from gnc_cli.results import ClassesAnswer, DimensionAnswer, DimensionRow

__all__ = ["show_class_reaches", "show_dimension_reaches"]


def show_dimension_reaches(ax: Any, answer: DimensionAnswer) -> None:
    """A line for each bound over d; those that guarantee no dimension share one.

    Args:
        ax: an empty one.
        answer: for a single K.
    """
    best = answer.best[0]
    two = two_sided(answer.rows)
    bars = []
    silent: dict[str, list[str]] = {}
    for row in answer.rows:
        name = bound_name(row.name, row.exists, two)
        if row.exists and row.d is None:
            ending = "in no dimension" if row.ending == "never" else "not up to 1 000 000"
            silent.setdefault(ending, []).append(name)
        elif row.exists or row.d != 2:
            bars.append(_dimension_bar(row, name))
    bars.sort(key=lambda b: (b.at is None, b.at or 0.0, not b.exists))
    bars += [Bar(ending, None, ", ".join(names), True, False, False)
             for ending, names in silent.items()]  # fmt: skip
    ax.set_xscale("log")
    right = max([8.0, *(4.0 * bar.at for bar in bars if bar.at is not None)])
    # The first dimension is 2: where nothing is excluded no region lies left of it.
    left = 1.7
    high = right if best.sufficient is None else float(best.sufficient)
    low = right if best.necessary is None else float(best.necessary)
    ends = (left if low <= 2.0 else low, left if high <= 2.0 else high)
    show_bars(ax, bars, left, right, ends)
    dress_dimensions(ax.xaxis)
    ax.set_xlabel("d")
    name_regions(ax, ends, leftward=False)


def _dimension_bar(row: DimensionRow, name: str) -> Bar:
    if row.d is None:
        said = "every dimension" if row.ending == "never" else "all up to 1 000 000"
        return Bar(name, None, said, False, True, False)
    said = f"d {'≥' if row.exists else '<'} {size_text(row.d)}"
    return Bar(name, float(row.d), said, row.exists, not row.exists, row.exists)


def show_class_reaches(ax: Any, answer: ClassesAnswer) -> None:
    """A line for each bound over K, in powers of ten; bounds that say nothing have none.

    Args:
        ax: an empty one.
        answer: for a single d.
    """
    best = answer.best[0]
    two = two_sided(row for row in answer.rows if row.log10_K is not None)
    bars = []
    for row in answer.rows:
        if row.log10_K is None:
            continue
        said = points_text(row.K, row.log10_K, up=not row.exists)
        said = f"K {'≤' if row.exists else '≥'} {said}"
        bars.append(Bar(bound_name(row.name, row.exists, two), row.log10_K, said, row.exists,
                        row.exists, closed=True))  # fmt: skip
    bars.sort(key=lambda b: (b.at or 0.0, not b.exists))
    right = 1.12 * max([1.0, *(bar.at for bar in bars if bar.at is not None)])
    low, high = open_powers(best)
    ends = (0.0 if low is None else low, right if high is None else high)
    show_bars(ax, bars, 0.0, right, ends)
    dress_powers(ax.xaxis)
    ax.set_xlabel("K")
    name_regions(ax, ends, leftward=True)
