"""What each command shows a person: a few lines that answer the question; with -v the rest."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gnc_cli import compare, measure
from gnc_cli.collapse.view import view as measured
from gnc_cli.comparison.view import view as compared
from gnc_cli.console.table import Table, printed
from gnc_cli.limits.view import view as bounded
from gnc_cli.search.view import view as solved
from gnc_cli.training.view import view as trained
from tests.comparison.samples import built
from tests.console.stand_in import code, ufm
from tests.limits.questions import result
from tests.training.pictures import run

_BESIDE = ("time ", "run folder ", "found by ", "all ")
"""Lines that are neither figures nor verdicts; `all 11 bounds: -v` among them."""


def _features() -> Any:
    weights = built("icosahedron")
    labels = np.repeat(np.arange(12), 5)
    noise = 0.1 * np.random.default_rng(0).standard_normal((60, 3))
    return measure(features=weights[labels] + noise, labels=labels, weights=weights)


@pytest.mark.parametrize(
    ("view", "ask", "answers", "details"),
    [
        (solved, code, "one-vs-rest distance, largest cosine, verdict",
         "one-vs-one distance, CosFace margin, ArcFace margin, rattlers, contacts, stationarity, "
         "optimal distance"),
        (solved, lambda: ufm(0.1), "temperature tau, HardMax gap, verdict", "GNC1, GNC3, rattlers"),
        (measured, _features, "GNC1, GNC2, GNC3, NCC accuracy",
         "CosFace margin, rattlers, samples per class, policy"),
        (bounded, lambda: result("pair"), "one-vs-rest distance, from below, from above, margin",
         "lower, upper, by the bisector theorem"),
        (bounded, lambda: result("dimension"), "a code of K, softmax scale, exists from",
         "covering, rankin-caps, say nothing here"),
        (compared, lambda: compare(built("icosahedron")),
         "largest cosine, best known, gap, matches",
         "rattlers, contacts, one-vs-rest distance, table"),
        (trained, run, "test accuracy, GNC1, GNC2, GNC3, NCC accuracy, completed",
         "network, head, recipe, epoch,   reference"),
    ],
    ids=["solve", "solve --tau", "measure", "bounds", "bounds --margin", "compare", "train"],
)  # fmt: skip
def test_a_sheet_answers_and_verbose_has_the_rest(
    view: Callable[[Any, bool], list[Table]], ask: Callable[[], Any], answers: str, details: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("COLUMNS", "250")
    asked = ask()
    brief, everything = (
        [line for line in printed(view(asked, verbose), None).splitlines()[1:] if line]
        for verbose in (False, True)
    )
    assert len([line for line in brief if not line.startswith(_BESIDE)]) <= 8
    for name in answers.split(", "):
        assert any(line.startswith(name) for line in brief), name
    for name in details.split(", "):
        assert any(line.startswith(name) for line in everything), name
        assert not any(line.startswith(name) for line in brief), name
