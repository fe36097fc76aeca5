"""The runs as tables: a line per figure and group of seeds."""

from math import atan2
from statistics import mean
from typing import Any

from benchmarks.report import table
from benchmarks.training.paper.figures import FIGURES, cases

Row = dict[str, Any]


def groups(kept: list[Row], figure: str) -> dict[str, list[Row]]:
    """The rows of one figure by what was run, seeds together."""
    names = dict.fromkeys(case.name for case in cases(figure))
    found = [row for row in kept if row["figure"] == figure]
    grouped = {name: [row for row in found if row["name"] == name] for name in names}
    return {name: some for name, some in grouped.items() if some}


def section(kept: list[Row], where: str) -> str:
    """Markdown of all figures, those without a run named with their command."""
    said = [
        "## Real images: the paper's figures",
        f"Machine: {where}; one thread per run. Each line is the mean over its seeds with the "
        "smallest and largest. `docs/paper-figures.md` compares them with the paper.",
    ]
    missing = []
    for figure, about in FIGURES.items():
        found = groups(kept, figure)
        if not found:
            cost = f"some {about.minutes:.0f} min"
            missing.append(
                f"- {about.title}: `python -m benchmarks.training.paper run {figure}`, {cost}"
                f"{' on a GPU' if about.cuda else ''}"
            )
            continue
        make = {"b1": _plane_table, "b2": _plane_table, "4": _circle_table, "b6": _circle_table}
        said += [
            f"### {about.title}",
            make.get(figure, _train_table)(found),
            f"In the paper: {about.paper}.",
        ]
        wanted, there = len(list(cases(figure))), sum(map(len, found.values()))
        seconds = sum(row["wall"] for some in found.values() for row in some)
        part = f"{there} of {wanted} runs" if there < wanted else f"{there} runs"
        said.append(f"{part}, {seconds / 60:.1f} min.")
    if missing:
        said.append("Not run yet:\n\n" + "\n".join(missing))
    return "\n\n".join(said)


def _train_table(found: dict[str, list[Row]]) -> str:
    tested = {"test accuracy": "test_accuracy"}
    if any(row.get("ood_accuracy") is not None for some in found.values() for row in some):
        tested["other fonts"] = "ood_accuracy"
    head = [
        "run",
        "seeds",
        *tested,
        "training accuracy",
        "NCC, training",
        "GNC1",
        "GNC2",
        "best known",
        "GNC3",
        "loss",
        "trained parameters",
        "s",
    ]
    return table(
        head,
        [
            [
                name,
                str(len(some)),
                *(spread(some, key, "{:.3f}") for key in tested.values()),
                spread(some, "train_accuracy", "{:.3f}"),
                spread(some, "ncc_accuracy", "{:.3f}"),
                spread(some, "gnc1", "{:.2g}"),
                spread(some, "gnc2", "{:.3f}"),
                f"{some[0]['gnc2_reference']['value']:.3f}",
                spread(some, "gnc3", "{:.2g}"),
                spread(some, "loss", "{:.2g}"),
                f"{some[0]['head']['trained_parameters']:,}",
                f"{mean(row['wall'] for row in some):.0f}",
            ]
            for name, some in found.items()
        ],
    )


def _circle_table(found: dict[str, list[Row]]) -> str:
    head = [
        "run",
        "seeds",
        "test accuracy",
        "training accuracy",
        "GNC2",
        "GNC3",
        "loss",
        "around the circle, per seed",
    ]
    return table(
        head,
        [
            [
                name,
                str(len(some)),
                spread(some, "test_accuracy", "{:.3f}"),
                spread(some, "train_accuracy", "{:.3f}"),
                spread(some, "gnc2", "{:.3f}"),
                spread(some, "gnc3", "{:.2g}"),
                spread(some, "loss", "{:.2g}"),
                "; ".join(map(around, some)),
            ]
            for name, some in found.items()
        ],
    )


def around(row: Row) -> str:
    """The classes of a run in the plane in their order around the circle, from the T-shirt on."""
    names = row["options"][row["options"].index("--classes-subset") + 1].split(",")
    order = sorted(range(len(names)), key=lambda k: atan2(*row["weights"][k]))
    first = order.index(names.index("T-shirt/top"))
    turned = [names[k].partition("/")[0] for k in order[first:] + order[:first]]
    return " - ".join(min(turned, [turned[0], *turned[:0:-1]]))


def _plane_table(found: dict[str, list[Row]]) -> str:
    lines = []
    for name, (row, *_) in found.items():
        lengths, gaps = lengths_and_gaps(row["weights"])
        lines.append(
            [
                name,
                f"{min(lengths):.3g} to {max(lengths):.3g}",
                f"{min(gaps):.2f} to {max(gaps):.2f}",
                f"{row['gnc2']['lower']:.4f}",
                "-" if row["train_accuracy"] is None else f"{row['train_accuracy']:.3f}",
                "-" if row["test_accuracy"] is None else f"{row['test_accuracy']:.3f}",
            ]
        )
    head = [
        "run",
        "lengths of the rows",
        "degrees between neighbours",
        "GNC2",
        "training accuracy",
        "test accuracy",
    ]
    even = "An even circle has 12 degrees between neighbours and GNC2 = 1 - cos 12 = 0.0219."
    return table(head, lines) + f"\n\n{even}"


def lengths_and_gaps(weights: list[list[float]]) -> tuple[list[float], list[float]]:
    """Lengths of rows in the plane, (K, 2), and the degrees from each to the next around."""
    import numpy as np

    rows = np.array(weights)
    angles = np.sort(np.degrees(np.arctan2(rows[:, 1], rows[:, 0])))
    gaps = np.diff(angles, append=angles[0] + 360.0)
    return np.linalg.norm(rows, axis=1).tolist(), gaps.tolist()


def values(some: list[Row], key: str) -> list[float]:
    """Return one value of each run; of a bracket its lower end."""
    found = (row[key] for row in some)
    return [value["lower"] if isinstance(value, dict) else value for value in found]


def spread(some: list[Row], key: str, digits: str) -> str:
    """Mean, and smallest and largest where there are several."""
    found = values(some, key)
    if len(found) == 1:
        return digits.format(found[0])
    ends = (digits.format(end(found)) for end in (min, max))
    return f"{digits.format(mean(found))} ({' .. '.join(ends)})"
