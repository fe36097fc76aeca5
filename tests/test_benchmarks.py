"""What the benchmarks say of what they measured; and no benchmark is run here."""

import re
import time
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import approx_fprime
from typer.main import get_command

from benchmarks import anytime, held_out, hunt, scaling, stored
from benchmarks.paper import figures, tables
from benchmarks.paper_recipe import paper_recipe
from benchmarks.solve import best_known
from gnc_cli import compare, solve
from gnc_cli.cli import app
from gnc_cli.known_codes import best as known_codes
from gnc_cli.known_codes.best import best
from gnc_cli.known_codes.verdict import ComparisonStatus


def test_held_out_pairs_are_half_of_the_table_and_no_developed_one() -> None:
    known = best_known()
    assert 0.4 < np.mean([held_out.held_out(d, K) for d, K in known]) < 0.6
    assert held_out.held_out(5, 43) and not held_out.held_out(5, 41)
    dimensions = [3, *range(9, 25)]
    few, many = (held_out.sample(known, dimensions, most, seed=7) for most in (2, 5))
    assert {*few} < {*many} < {*known}
    assert all(held_out.held_out(d, K) and K > 2 * d for d, K in many)
    other = held_out.sample(known, dimensions, None, seed=7, development=True)
    assert other and not any(held_out.held_out(d, K) for d, K in other)


def _solved(d: int, K: int, cosine: float, origin: str) -> dict[str, Any]:
    result = {"max_cosine": cosine, "origin": origin}
    about = {"d": d, "K": K, "seconds": 60.0, "seed": 0, "wall": 61.0}
    return {"case": f"({d}, {K})", **about, "result": result}


def test_hits_by_algebra_are_counted_apart() -> None:
    known = {(7, 56): 1 / 3, (5, 43): 0.5, (8, 51): 0.4}
    rows = [
        _solved(7, 56, 1 / 3, "descent from sub-code: e7"),
        _solved(5, 43, 0.5 + 1e-12, "descent from orbits of C6"),
        _solved(8, 51, 0.4 + 1e-8, "descent"),
        {"case": "(8, 51) later", "d": 8, "K": 51, "failed": 6},
    ]
    assert [held_out.judged(row, known)["hit"] for row in rows[:3]] == ["by algebra", "yes", "no"]
    assert held_out.judged(rows[2], known)["share"] == pytest.approx(1 - 1e-8 / 0.6)
    text = held_out.section(rows, known, "a machine")
    assert "| d = 4..8 | 60 | 3 | 1 (33 %) | 1 (33 %) | 100.0000 % |" in text
    assert "- (8, 51) later: exit 6" in text


def test_stored_codes_are_those_that_nothing_else_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stored.pairs([4], [8, 9, 24]) == [(4, 9)]
    monkeypatch.setattr(stored, "best", lambda d, K: best(d, K) if K == 24 else None)
    codes = tmp_path / "codes"
    for folder in (codes, tmp_path / "coordinates"):
        folder.mkdir()
    (tmp_path / "margins.csv").write_text("d,K,rho_one_vs_rest,command\n10,100,0.66,gnc solve\n")
    kept = []
    found = ((24, 0.5, 0), (32, 0.61, 0), (33, 0.62, 0), (33, 0.61, 1), (33, 0.63, 2))
    for K, cosine, seed in found:
        rho = {"lower": 1.0 - cosine - 1e-15, "upper": 1.0 - cosine}
        result = {"max_cosine": cosine, "rho_one_vs_rest": rho}
        kept.append({"d": 4, "K": K, "command": f"gnc solve --seed {seed}", "result": result})
        (codes / f"4.{K}.txt").write_text("1 0 0 0\n-1 0 0 0\n")
    # The 24-cell is a construction, and 32 of the 33 points are as good as the code of 32.
    assert stored.write(kept, tmp_path, codes) == 1
    assert (tmp_path / "margins.csv").read_text().splitlines()[1:] == [
        "4,33,0.389999999999,gnc solve --seed 1",
        "10,100,0.66,gnc solve",
    ]
    assert (tmp_path / "coordinates" / "4.33.txt").read_text() == "1 0 0 0\n-1 0 0 0\n"


def test_a_hunt_keeps_improvements_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(3, 8) is spoilt: its optimum is (sqrt(8) - 1) / 7 = 0.2612..."""
    (tmp_path / "table.csv").write_text("3,8,0.262\n3,16,0.612294616482697\n")
    spoilt = known_codes.read_table(tmp_path / "table.csv")
    monkeypatch.setattr(known_codes, "our_copy", lambda: spoilt)
    monkeypatch.setattr(known_codes, "constructed", lambda d, K: None)
    calls: list[dict[str, Any]] = []

    def small(d: int, K: int, **options: Any) -> Any:
        calls.append({"K": K} | options)
        return solve(d, K, **options | {"restarts": 4, "time_limit": None, "workers": 1})

    monkeypatch.setattr(hunt, "solve", small)
    wanted, folder = [(3, 16), (3, 8)], tmp_path / "hunt"
    assert hunt.hunt(wanted, folder, seconds=9.0, budget=30.0) == [] and not calls
    made = hunt.hunt(wanted, folder, seconds=600.0, budget=3.0, seed=5)
    # Both best codes are found twice, in rounds of twice the time, and then left alone.
    assert [(row["K"], row["seed"], row["budget"]) for row in made] == [
        (16, 5, 3.0),
        (8, 5, 3.0),
        (16, 6, 6.0),
        (8, 6, 6.0),
    ]
    asked = {"K", "problem", "method", "seed", "time_limit", "out", "force"}
    assert all(call.keys() == asked and call["method"] == "descent" for call in calls)
    assert [row["improves"] for row in made] == [False, True, False, True]
    assert sorted(path.name for path in folder.iterdir()) == ["3.8.h5", "visits.jsonl"]
    (row,) = compare(folder / "3.8.h5").rows
    assert row.status is ComparisonStatus.IMPROVES
    assert hunt.hunt(wanted, folder, seconds=600.0, budget=3.0, seed=5) == made
    assert len(calls) == 4


def test_pairs_worth_a_hunt_are_neither_proved_nor_algebra() -> None:
    pairs = hunt.pairs(range(4, 6))
    kinds = [known.kind for d, K in pairs if (known := best(d, K)) is not None]
    assert kinds == sorted(kinds) and {*kinds} == {"solved", "table"}  # ours come first
    for d, K in pairs:
        known = best(d, K)
        assert K <= 200 and known is not None and known.own and not known.proven
    first, *_, last = islice(hunt.visits(pairs, 3.0, 0), 99)
    assert first["K"] * first["d"] <= 150 and (first["budget"], last["budget"]) == (3.0, 6.0)


def test_the_smooth_maximum_and_its_gradient() -> None:
    points = np.random.default_rng(0).standard_normal((5, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    value, gradient, top = anytime.smooth_maximum(points, 0.1)
    gram = points @ points.T
    assert top == np.max(gram - 9 * np.eye(5)) and top < value < top + 0.1 * np.log(20)
    other = approx_fprime(points.ravel(), lambda x: anytime.smooth_maximum(x.reshape(5, 3), 0.1)[0])
    assert gradient.ravel() == pytest.approx(other, abs=1e-5)


def test_each_limit_has_what_was_best_by_then(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 0.5, 2.5, 9.0])  # the beginning, and an improvement each
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))

    def search(d: int, K: int, seed: int, seconds: float, improved: anytime.Improved) -> int:
        for cosine in (0.9, 0.95, 0.5, 0.4):  # the second is none
            improved(np.full((K, d), cosine), cosine)
        return 1

    marks = anytime._marks(search, 2, 3, 0, [1.0, 2.0, 3.0])
    assert [mark and mark[0] for mark in marks] == [0.9, None, 0.4]
    assert marks[2] is not None and marks[2][1][0, 0] == 0.4


def _timed(method: str, limit: float, rho: float | None, seed: int = 0) -> dict[str, Any]:
    about = {"method": method, "d": 10, "K": 100, "seed": seed, "limit": limit}
    row = {"case": f"{method} {limit}", **about, "wall": limit + 0.25}
    return row if rho is None else row | {"result": {"rho_one_vs_rest": {"lower": rho}}}


def test_medians_over_seeds_and_from_when_on_gnc_is_above() -> None:
    rows = [
        *(_timed("gnc", 1.0, rho, seed) for seed, rho in enumerate((0.5, 0.1, 0.4))),
        _timed("gnc", 5.0, 0.66),
        _timed("pymanopt", 1.0, 0.45),
        _timed("pymanopt", 5.0, 0.65),
        _timed("paper", 1.0, None),
        _timed("paper", 5.0, 0.6),
    ]
    assert anytime.medians(rows)[10, 100]["gnc"] == {1.0: 0.4, 5.0: 0.66}
    text = anytime.section(rows, "a machine")
    assert "| (10, 100) | paper | 1 | - | 0.600000 |" in text
    assert "- (10, 100): from 5 s" in text and "at most 0.2 s after T" in text


def test_exponents_are_of_the_last_decade_and_marked_where_too_large() -> None:
    sizes = [100, 300, 1000, 3000, 10000]
    seconds = [0.5, 0.5, *(3e-9 * size**2.5 for size in sizes[2:])]
    fit = scaling.fitted(sizes, seconds)
    assert fit is not None
    assert (fit.exponent, fit.factor) == (pytest.approx(2.5), pytest.approx(3e-9))
    rows = [
        {"series": "certificate-K", "size": size, "parts": {"bracket": t}, "bytes": 1e5 * size}
        for size, t in zip(sizes, seconds, strict=True)
    ]
    text = scaling.section(rows, "a machine")
    assert "| K = 100..10000 | 30 | 2.50 ! | 2 (all pairs: K^2 d) | 1000 | 1.00 | 1 |" in text
    assert scaling.fitted([7], [1.0]) is None


def test_what_more_classes_would_need_follows_from_the_largest_sizes() -> None:
    parts = {"all pairs": 1.0, "list": 0.1, "exact pass": 2.0}
    rows = [
        *(
            {"series": "large-K", "size": size, "parts": parts, "bytes": 1e4 * size + 5e7}
            for size in (10**4, 10**5)
        ),
        *(
            {"series": "certificate-K", "size": size, "parts": {"bracket": 4.0}, "bytes": 0.0}
            for size in (10**4, 10**5)
        ),
    ]
    (_, _, needs) = scaling.outlook(rows, 1e7)
    assert "| search for the near pairs, once | 2.8 hours |  | 1 |" in needs
    assert "| a step on the list | 10 s | 100 | 1 |" in needs
    assert "| 1000 steps, a search every tenth | 12 days |  | 12 |" in needs


def test_every_series_has_three_decades_of_sizes_and_yields_the_parts_it_names() -> None:
    for name, series in scaling.SERIES.items():
        assert series.sizes[-1] >= (250 if name == "step-K" else 1000) * series.sizes[0]
    series = scaling.SERIES["step-K"]
    assert dict(series.call(10)).keys() == series.should.keys()


def test_the_papers_runs_are_commands_that_gnc_takes() -> None:
    commands: Any = get_command(app)
    names = set()
    for figure in figures.FIGURES:
        for case in figures.cases(figure):
            assert case.case not in names
            names.add(case.case)
            command, *options = case.options
            parameters = commands.commands[command].params
            known = {name for parameter in parameters for name in parameter.opts}
            assert {word for word in options if re.match("--?[a-z]", word)} <= known


def test_lengths_and_angles_of_a_regular_polygon() -> None:
    angles = 2.0 * np.pi * np.array([3, 0, 4, 1, 2]) / 5
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1) * [[1.0], [2.0], [1.0], [1.0], [0.5]]
    lengths, gaps = tables.lengths_and_gaps(rows.tolist())
    np.testing.assert_allclose(lengths, [1.0, 2.0, 1.0, 1.0, 0.5])
    np.testing.assert_allclose(gaps, 72.0)


def test_figures_without_a_run_are_named_with_their_command() -> None:
    row = {
        "figure": "b2",
        "name": "sphere, tau 0.02",
        "case": "b2",
        "wall": 60.0,
        "weights": [[1.0, 0.0], [0.0, 2.0], [-1.0, 0.0]],
        "gnc2": {"lower": 0.5},
        "train_accuracy": None,
        "test_accuracy": None,
    }
    text = tables.section([row], "a machine")
    assert "| sphere, tau 0.02 | 1 to 2 | 90.00 to 180.00 | 0.5000 |" in text
    assert "1 of 2 runs, 1.0 min" in text
    assert "`python -m benchmarks.paper run 3`" in text and "run b2`" not in text
    assert "run b4`, some 120 min on a GPU" in text


def test_placements_that_are_mirror_images_are_one() -> None:
    rows = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]
    found = set()
    for order in (figures.CLOTHES["Shirt"], "Sneaker,T-shirt/top,Ankle boot,Shirt"):
        found.add(tables.around({"options": ("--classes-subset", order), "weights": rows}))
    assert found == {"T-shirt - Ankle boot - Shirt - Sneaker"}


@pytest.mark.parametrize("tau", [0.1, 0.5])
def test_steps_are_the_papers(tau: float) -> None:
    """Projected descent on the sum of cross-entropies, by torch's own gradients, rate 0.1."""
    start = np.random.default_rng([3, 0]).standard_normal((2, 9, 4))
    W, H = torch.nn.functional.normalize(torch.as_tensor(start), dim=2)
    for _ in range(25):
        W.requires_grad_(), H.requires_grad_()
        loss = torch.nn.functional.cross_entropy(H @ W.T / tau, torch.arange(9), reduction="sum")
        gradients = torch.autograd.grad(loss, (W, H))
        W, H = (
            torch.nn.functional.normalize((x - 0.1 * g).detach(), dim=1)
            for x, g in zip((W, H), gradients, strict=True)
        )
    found = paper_recipe(4, 9, seed=3, steps=25, tau=tau)
    np.testing.assert_allclose(found, W.numpy(), atol=1e-10)


def test_the_papers_rate_falls_tenfold_each_thousand_steps() -> None:
    """From one step to the next the code moves by the rate times a nearly equal gradient."""
    ends = {s: paper_recipe(3, 9, seed=0, steps=s) for s in (999, 1000, 1001)}
    before = np.linalg.norm(ends[1000] - ends[999])
    after = np.linalg.norm(ends[1001] - ends[1000])
    assert after == pytest.approx(0.1 * before, rel=0.1)
