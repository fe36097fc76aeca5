"""A gate on a key that no result has is refused before the work (gates.py, keys.py)."""

from typing import Any

import pytest

from gnc_cli import bounds, compare, list_constructions, measure, solve, solve_sweep
from gnc_cli.console.gates import Gates
from gnc_cli.console.options import GateOptions
from gnc_cli.errors import UsageError
from gnc_cli.keys import find_schemas, gate_keys
from gnc_cli.records import Result, results
from tests.console.stand_in import StandIn
from tests.training.made_runs import run as made_run

SOLVE = ("solve", "--d", "3", "--K", "5")


@pytest.mark.parametrize(
    ("gate", "hint"),
    [
        (("--min", "rho=0.5"), "did you mean rho_one_vs_one or rho_one_vs_rest?"),
        (("--max", "max_cosin=0.5"), "did you mean max_cosine"),
        (("--max", "rho_one_vs_rest.lowr=0.5"), "did you mean rho_one_vs_rest.lower"),
        (("--min", "contatcs=2"), "did you mean contacts"),
        (("--max", "max-cosine=0.5"), "did you mean max_cosine"),
        (("--max", "Max cosine=0.5"), "did you mean max_cosine"),
        (("--min", "zzz=1"), "docs/reference/json.md lists all"),
        (("--min", "margins=0.5"), "name one: margins.cosface, margins.arcface_rad"),
        (("--max", "seconds.wall=1"), "no key 'seconds.wall'"),
    ],
)
def test_misspelt_keys(gnc: Any, fake: StandIn, gate: tuple[str, str], hint: str) -> None:
    run = gnc(*SOLVE, *gate)
    assert run.exit_code == 2 and hint in run.stderr and gate[1] in run.stderr
    assert run.stderr.count("\n") == 1 and fake.calls == []


@pytest.mark.parametrize(
    "words",
    [
        ("bounds", "--d", "3", "--K", "5", "--min", "lowr=0.1"),
        ("measure", "missing.h5", "--min", "gnc_2=0.1"),
        ("train", "--out", "missing/run", "--min", "test_acuracy=0.5"),
        ("compare", "missing.h5", "--max", "gapp=0"),
    ],
)
def test_every_command_checks_first(words: tuple[str, ...]) -> None:
    from gnc_cli.cli import app
    from tests.conftest import runner

    run = runner(app)(*words)
    assert run.exit_code == 2 and "did you mean" in run.stderr


def test_every_key_of_a_row_can_be_named() -> None:
    pytest.importorskip("torch")
    square = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]
    made: list[Result] = [
        solve(3, 6),
        solve_sweep(2, 3, problem="ufm", tau=[1.0, 0.5]),
        list_constructions(),
        bounds(3, 5),
        bounds(K=9, margin=0.3),
        bounds(d=9, max_cosine=0.3),
        compare(square),
        compare(list=True, d=3),
        measure(features=square, labels=[0, 1, 2, 3], weights=square, variants="classic"),
        made_run(),
    ]

    def paths(value: Any, prefix: str) -> list[str]:
        inner: list[tuple[str, Any]] = []
        if isinstance(value, dict):
            inner = [*value.items()]
        elif isinstance(value, list):
            inner = [(str(at), item) for at, item in enumerate(value)]
        return [prefix, *(p for k, item in inner for p in paths(item, f"{prefix}.{k}"))]

    for result in made:
        known = gate_keys(results(result.command))
        for row in result.judged_rows():
            for key in (path for name in row for path in paths(row[name], name)):
                assert find_schemas({"properties": known}, key), (result.command, key)


def test_keys_of_dictionaries_are_not_known_before() -> None:
    gates = Gates.read(GateOptions(minimum=["policy.spaces.ncc=0", "attrs.seed=1"]))
    gates.check("measure", {})
    with pytest.raises(UsageError, match="'variant.classic'"):
        Gates.read(GateOptions(minimum=["variant.classic=0"])).check("measure", {})
