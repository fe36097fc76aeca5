"""Made-up runs for plots and tables: one epoch, many, the plane, the sphere, placements."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np

from gnc_cli import measure
from gnc_cli.brackets import Bracket
from gnc_cli.collapse.result import Gnc2Reference, MeasureResult
from gnc_cli.training.result import EpochRow, HeadFacts, TrainResult, TrainSeries

REFERENCE = Gnc2Reference(
    0.6690123,
    "solved",
    "Softmax Code (10, 100)",
    "certified rho of: gnc solve --d 10 --K 100",
    "2026-11",
    False,
)
OPTIMUM = Gnc2Reference(1.0, "theorem", "theorem 3.3: orthoplex", "theorem 3.3", None, True)
HEAD = HeadFacts(
    "learned", "sphere", 0.1, "ce", None, None, None, None, None, 394_410, 1_000, 395_410, 0.0
)
DATA = {
    "name": "glyphs",
    "classes": 100,
    "train_images": 900,
    "test_images": 300,
    "ood_images": None,
    "smallest_class": 9,
    "largest_class": 9,
    "channels": 1,
    "image_size": 32,
    "merged": 3,
}
RECIPE = {
    "optimizer": "adamw",
    "lr": 0.003,
    "momentum": None,
    "weight_decay": 0.0005,
    "schedule": "cosine",
    "milestones": None,
    "warmup": 1.0,
    "batch_size": 128,
    "precision": "float32",
    "augment": ["crop", "rotate"],
    "mean": [0.1],
    "std": [0.3],
    "width": 1.0,
    "preset": None,
}


def epoch_row(epoch: int, last: int, measured: bool = True, **changes: Any) -> EpochRow:
    """A run that collapses as it learns."""
    t = epoch / max(last, 2)
    wave = 0.02 * math.sin(7.0 * epoch)
    lower = 0.34 * (1.0 - math.exp(-4.0 * t)) + 0.1 * wave
    fields: dict[str, Any] = dict(
        epoch=epoch,
        step=8 * epoch,
        lr=0.003 * (1.0 - 0.9 * t),
        loss=4.6 * math.exp(-5.0 * t),
        running_accuracy=0.97 * (1.0 - math.exp(-7.0 * t)) + wave,
        seconds=2.5,
        images_per_second=21_000.0,
    )
    if measured:
        share = 1.0 - math.exp(-8.0 * t)
        fields |= dict(
            train_accuracy=share,
            test_accuracy=0.97 * share + wave,
            test_ncc_accuracy=0.965 * share + wave,
            ncc_accuracy=0.995 * share,
            gnc1=0.3 * math.exp(-4.5 * t),
            gnc2=Bracket(lower, lower + 1e-9),
            gnc3=0.96 * math.exp(-2.7 * t),
            measure_seconds=0.2,
        )
    return EpochRow(**(fields | changes))


def row(**changes: Any) -> MeasureResult:
    """Measure's record of a collapsed set, with changes."""
    found = measure(features=np.eye(10), labels=np.arange(10), weights=np.eye(10))
    return replace(found, **({"d": 10, "K": 100} | changes))


def run(epochs: int = 60, every: int = 1, **changes: Any) -> TrainResult:
    """So many epochs, measured after every so many and the last."""
    history = tuple(
        epoch_row(e, epochs, e % every == 0 or e in (1, epochs)) for e in range(1, epochs + 1)
    )
    last = history[-1]
    assert last.gnc2 is not None
    reference = REFERENCE
    measured = row(
        file=None,
        epoch=epochs,
        N=900,
        gnc1=last.gnc1,
        gnc2=last.gnc2,
        gnc3=last.gnc3,
        gnc1_centred=None,
        gnc3_centred=None,  # of more classes than dimensions
        gnc2_ratio=last.gnc2.lower / reference.value,
        gnc2_reference=reference,
        ncc_accuracy=last.ncc_accuracy,
        accuracy=last.train_accuracy,
    )
    fields: dict[str, Any] = dict(
        seconds=161.0,
        version="0.1.0",
        run="runs/2026-11-21-1530-glyphs-cnn",
        outcome="completed",
        advice=None,
        data=DATA,
        model="cnn",
        head=HEAD,
        recipe=RECIPE,
        seed=0,
        device="cpu",
        processes=1,
        epochs=epochs,
        epochs_asked=epochs,
        loss=last.loss,
        train_accuracy=last.train_accuracy,
        test_accuracy=last.test_accuracy,
        ood_accuracy=None,
        test_ncc_accuracy=last.test_ncc_accuracy,
        best={"epoch": epochs, "accuracy": last.test_accuracy},
        measure_share=0.064,
        images_per_second=21_000.0,
        history=history,
        measured=measured,
    )
    return TrainResult(**(fields | changes))


def placed(d: int, K: int, spread: float, names: tuple[str, ...] = (), **changes: Any) -> Any:
    """A run whose features can be seen; half a class at most is among the wrong ones."""
    rng = np.random.default_rng(K)
    W = rng.standard_normal((K, d))
    if d == 2:
        W = _at(2.0 * np.pi * (rng.permutation(K) + 0.15 * rng.standard_normal(K)) / K)
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    labels = np.repeat(np.arange(K), 120)
    features = 7.0 * (W[labels] + spread * rng.standard_normal((len(labels), d)))
    extras = {
        "features": features,
        "labels": labels,
        "weights": W,
        "class_names": names or tuple(f"class {k}" for k in range(K)),
    }
    made = run(**({"epochs": 30} | changes))
    assert made.measured is not None
    measured = replace(made.measured, d=d, K=K, gnc2_reference=OPTIMUM)
    return replace(made, extras=extras, measured=measured)


def _at(angles: np.ndarray) -> np.ndarray:
    return np.column_stack([np.cos(angles), np.sin(angles)])


def placements(
    placed_on: list[tuple[int, ...]], names: tuple[str, ...], shares: list[tuple[float, float]]
) -> TrainSeries:
    """Classes on the regular polygon, with their test and training accuracies."""
    K = len(placed_on[0])
    made, code = placed(2, K, 0.15, names), _at(2.0 * np.pi * np.arange(K) / K)
    head = replace(HEAD, kind="fixed", code="solve", assignment="all")
    rows = []
    for at, (p, (test, train)) in enumerate(zip(placed_on, shares, strict=True)):
        W = code[list(p)]
        noise = 0.15 * np.random.default_rng(at).standard_normal((120 * K, 2))
        seen = {"weights": W, "features": W[made.extras["labels"]] + noise}
        rows.append(
            replace(
                made,
                head=replace(head, permutation=p),
                run=f"runs/series/assignment-{at}",
                test_accuracy=test,
                train_accuracy=train,
                extras=made.extras | seen,
            )
        )
    return TrainSeries(500.0, "0.1.0", "runs/series", "completed", tuple(rows))


ANIMALS = ("automobile", "cat", "dog", "truck")


def square() -> TrainSeries:
    """The three placements of four classes on the square."""
    placed_on = [(0, 1, 2, 3), (0, 2, 1, 3), (0, 1, 3, 2)]
    return placements(placed_on, ANIMALS, [(0.95, 1.0), (0.93, 1.0), (0.91, 1.0)])


def hexagon() -> TrainSeries:
    """Sixty placements, of which many tie."""
    placed_on = [(0, *p) for p in itertools.permutations(range(1, 6))][:60]
    shares = [((at // 3 + 8) / 30.0, (at // 5 + 9) / 60.0) for at in range(60)]
    return placements(placed_on, (), shares)


def uneven() -> TrainResult:
    """Under weight decay: features and weights of the plane with uneven lengths."""
    made: TrainResult = placed(2, 6, 0.1)
    length = np.array([1.0, 0.3, 0.8, 0.5, 0.9, 0.6])
    extras = made.extras | {
        "features": made.extras["features"] * length[made.extras["labels"], None],
        "weights": 0.7 * length[:, None] * made.extras["weights"],
    }
    return replace(made, head=replace(HEAD, constraint="decay", tau=1.0), extras=extras)


def gaps() -> TrainResult:
    """Null in the middle, a bracket that is wide, an OOD set, measured seldom."""
    made = run(40, 8)
    history = [
        replace(
            r,
            ood_accuracy=None if r.test_accuracy is None else 0.6 * r.test_accuracy,
            gnc2=None if r.gnc2 is None else Bracket(r.gnc2.lower, r.gnc2.lower + 0.05),
            gnc1=None if r.epoch == 16 else r.gnc1,
            loss=math.nan if r.epoch == 20 else r.loss,
        )
        for r in made.history
    ]
    return replace(made, history=tuple(history), ood_accuracy=0.58)


RESULTS: dict[str, Any] = {
    "one epoch": run(1),
    "never measured": replace(
        run(5), measured=None, history=tuple(epoch_row(e, 5, False) for e in range(1, 6))
    ),
    "square": placed(2, 4, 0.12, ANIMALS),
    "uneven lengths": uneven(),
    "many in the plane": placed(2, 30, 0.03),
    "sphere": placed(3, 8, 0.12),
    "three placements": square(),
}
