"""Tables of each command (table.py): few lines of 80 columns that answer the question."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from gnc_cli import compare, measure, solve
from gnc_cli.cli import app
from gnc_cli.collapse.view import view as measured
from gnc_cli.comparison.view import view as compared
from gnc_cli.console.table import Table, printed
from gnc_cli.known_codes.best import BestKnown
from gnc_cli.limits.view import view as bounded
from gnc_cli.search.result import Outcome
from gnc_cli.search.view import view as solved
from gnc_cli.training.view import view as trained
from tests.comparison.samples import built
from tests.console.stand_in import code, ufm
from tests.limits.questions import QUESTIONS, result
from tests.training.made_runs import gaps, run

View = Callable[[Any, bool], list[Table]]
OURS = BestKnown(
    max_cosine=0.33,
    figure="0.33",
    source="found by gnc",
    proven=False,
    kind="solved",
    d=10,
    K=100,
    date="2026-11",
    how="gnc solve --d 10 --K 100 --method descent --seed 2 --restarts 160",
)
EVERYWHERE = {
    Outcome.CONVERGED: 64,
    Outcome.LOCAL_OPTIMUM: 160,
    Outcome.STALLED: 1,
    Outcome.TIME_LIMIT: 9999,
    Outcome.MAX_STEPS_REACHED: 64,
    Outcome.NONFINITE: 2,
}
SENTENCES = (
    "0.0043 % below the best known code; at most 0.0043 % below the optimum",
    "no record for (6, 99) here; the best part of a larger code is 0.067 worse; at most 11.1 % "
    "below the optimum",
    "beats the best known code by 1.2e-05; at most 3.3 % below the optimum",
)


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def lines_of(view: View, asked: Any, verbose: bool = False) -> list[str]:
    """The lines that are not blank."""
    return [line for line in printed(view(asked, verbose), None).splitlines() if line]


def _set(missing: bool = False, **options: Any) -> Any:
    weights = built("icosahedron")
    labels = np.repeat(np.arange(1 if missing else 0, 12), 5)
    noise = 0.1 * np.random.default_rng(0).standard_normal((len(labels), 3))
    features = weights[labels] + noise
    return measure(features=features, labels=labels, weights=weights, **options)


def _snapshot() -> Any:
    """One set of a run's snapshots, with the classes that it lacks."""
    found = _set(missing=True)
    return replace(
        found,
        file="runs/night/snapshots",
        snapshot="epoch-0100-test",
        epoch=100.0,
        step=120000.0,
        split="test",
        out="rows.jsonl",
    )


def _searched(outcome: Outcome, verdict: str) -> Any:
    return code(
        best_known=OURS,
        verdict=verdict,
        outcome=outcome,
        out="code.h5",
        restarts=EVERYWHERE[outcome],
        steps=1_234_567,
        seconds=12_345.6,
    )


CASES: dict[str, tuple[View, Callable[[], Any]]] = {
    "solve (512, 10000)": (solved, lambda: solve(512, 10_000)),
    "solve (3, 24), tammes": (solved, lambda: solve(3, 24, problem="tammes")),
    "solve (3, 4)": (solved, lambda: solve(3, 4)),
    "solve (3, 5)": (solved, lambda: solve(3, 5, problem="tammes")),
    "solve (7, 23)": (solved, lambda: solve(7, 23, restarts=1)),
    "solve, ufm": (solved, lambda: solve(3, 8, problem="ufm", tau=0.1, restarts=1)),
    "solve, ufm in a file": (solved, lambda: ufm(0.1, out="code.h5")),
    **{
        f"solve, {outcome.value}, {verdict}": (
            solved,
            lambda o=outcome, v=verdict: _searched(o, v),  # type: ignore[misc]
        )
        for outcome in EVERYWHERE
        for verdict in SENTENCES
    },
    "measure": (measured, _set),
    "measure, raw rows": (measured, lambda: _set(missing=True, normalize="off")),
    "measure, weights alone": (measured, lambda: measure(weights=built("snub-cube"))),
    "measure, a snapshot": (measured, _snapshot),
    **{
        f"bounds, {name}": (bounded, lambda name=name: result(name))  # type: ignore[misc]
        for name, asked in QUESTIONS.items()
        if isinstance(asked.get("d", 0), int) and isinstance(asked.get("K", 0), int)
    },
    "compare": (compared, lambda: compare(built("icosahedron"))),
    "compare, worse": (compared, lambda: compare(np.random.default_rng(0).normal(size=(100, 10)))),
    "compare, not on record": (compared, lambda: compare(np.eye(7) + 0.3)),
    "train": (trained, run),
    "train, with gaps": (trained, gaps),
}


@pytest.mark.parametrize("name", CASES)
def test_a_table_is_short(name: str) -> None:
    if name.startswith("solve"):
        pytest.importorskip("torch")
    view, ask = CASES[name]
    lines = lines_of(view, ask())
    why = any(line.startswith(("centred:", "verdict: no record")) for line in lines)
    most = 12 if name.startswith("train") else 8 + why
    if any(line.startswith("uses ") for line in lines):
        most = 11  # d, K and a margin
    assert len(lines) <= most, "\n".join(lines)
    assert max(map(len, lines)) <= 80 and "…" not in "".join(lines)


@pytest.mark.parametrize("name", ["compare", "measure", "train", "bounds, pair", "solve (3, 4)"])
def test_a_verbose_table_leaves_no_narrow_strip(name: str) -> None:
    view, ask = CASES[name]
    asked = ask()
    lines = lines_of(view, asked, verbose=True)
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 2.6 * len([line for line in lines if line[:1] not in (" ", "")]) + 8


@pytest.mark.parametrize(
    ("view", "ask", "answers", "details"),
    [
        (
            solved,
            lambda: code(best_known=OURS),
            "one-vs-rest distance, best known distance, largest cosine, found by, verdict",
            "rho_one_vs_one, margins.cosface, margins.arcface_rad, rattlers.one_vs_rest, contacts, "
            "stationarity, optimum.upper",
        ),
        (
            solved,
            lambda: ufm(0.1),
            "one-vs-rest distance, HardMax gap, verdict",
            "gnc3, rattlers.one_vs_rest, contacts",
        ),
        (
            measured,
            _set,
            "GNC1, GNC2, GNC3, NCC accuracy",
            "accuracy, classes.present, margins.cosface, rattlers.one_vs_rest, policy.weights",
        ),
        (
            bounded,
            lambda: result("pair"),
            "one-vs-rest distance, margin, uses, largest CosFace m, smallest scale, build it:",
            "exact, best_known.source, solved-code, three-point",
        ),
        (
            bounded,
            lambda: result("dimension"),
            "a code of K, softmax scale, exists from",
            "covering, rankin-caps",
        ),
        (
            compared,
            lambda: compare(built("icosahedron")),
            "largest cosine, best known, gap, matches",
            "rattlers.one_vs_rest, contacts, rho_one_vs_rest, known codes",
        ),
        (
            trained,
            run,
            "test accuracy, training accuracy, NCC accuracy, GNC1, GNC2, GNC3, run, completed",
            "model, head.kind, recipe, gnc2_reference.source",
        ),
    ],
    ids=["solve", "solve --tau", "measure", "bounds", "bounds --margin", "compare", "train"],
)
def test_a_table_answers_and_verbose_has_the_rest(
    view: View, ask: Callable[[], Any], answers: str, details: str
) -> None:
    asked = ask()
    brief, everything = (lines_of(view, asked, verbose)[1:] for verbose in (False, True))
    for name in answers.split(", "):
        assert any(line.startswith(name) for line in brief), name
    for name in details.split(", "):
        assert any(line.startswith(name) for line in everything), name
        assert not any(line.startswith(name) for line in brief), name


def test_a_construction_ends_in_one_line_and_names_itself_once() -> None:
    built_code = solve(construction="snub-cube")
    brief, everything = (lines_of(solved, built_code, verbose) for verbose in (False, True))
    assert brief[-1] == "verdict: optimal to 1e-9 (the optimal value is proved)"
    assert not any(line.startswith("stationarity") for line in everything)
    many = replace(built_code, steps=500, restarts=64)  # a search that found nothing better
    assert "seed" not in "".join(lines_of(solved, many))
    known = BestKnown(
        max_cosine=0.72,
        figure="0.72",
        source="construction: snub-cube",
        proven=False,
        kind="construction",
        d=3,
        K=24,
    )
    assert lines_of(solved, replace(built_code, best_known=known))[2].endswith("not proved optimal")


@pytest.mark.parametrize(
    ("words", "kept", "dropped"),
    [
        ("solve --d 3 --K 12", "one-vs-rest distance", "verdict: constructed: "),
        ("bounds --d 10 --K 100", "one-vs-rest distance", "build it: bounds with their "),
        ("bounds --K 1000 --margin 0.5", "a code of K = 1,000", "build it: bounds with their "),
        ("compare code.npy", "largest cosine", "matches:"),
        ("measure code.npy", "GNC2", "policy:"),
        ("solve --list-constructions", "icosahedron", ""),
    ],
)
def test_quiet_prints_the_result_alone(
    words: str, kept: str, dropped: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("code.npy", built("icosahedron"))
    loud, quiet = (CliRunner().invoke(app, [*words.split(), *more]) for more in ((), ("-q",)))
    assert quiet.exit_code == 0 and quiet.stderr == ""
    assert kept in quiet.stdout and not quiet.stdout.endswith("\n\n")
    for note in dropped.split(": "):
        assert not note or note not in quiet.stdout
    assert not dropped or len(quiet.stdout) <= len(loud.stdout)


@pytest.mark.parametrize("command", ["solve", "measure", "bounds", "train", "compare"])
def test_help_breaks_no_choice(command: str) -> None:
    text = CliRunner().invoke(app, [command, "--help"]).stdout
    for line in text.splitlines():
        for choices in re.findall(r"<[\w-]+\|\S*", line):
            assert choices.endswith(("|", ">")), line
    assert "<" in text
