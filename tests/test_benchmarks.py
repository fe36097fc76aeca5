"""What the benchmarks say of what they measured; and no benchmark is run here."""

import csv
import json
import re
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.main import get_command

from benchmarks.__main__ import PAGE, SECTIONS, dates, listed
from benchmarks.constructions import sections
from benchmarks.history import CONFIDENCE, Comparison
from benchmarks.known_codes import hunt, polish, records, stored
from benchmarks.paths import CERTIFICATES, MEASURED, RESULTS, version
from benchmarks.report import replaced
from benchmarks.search.paper_recipe import paper_recipe
from benchmarks.training.paper import figures
from gnc_cli import compare, solve
from gnc_cli.cli import app
from gnc_cli.codes.exact_cosine import ExactRows, verify_below
from gnc_cli.geometry.gram import max_cosine
from gnc_cli.geometry.sphere import normalise
from gnc_cli.io.codefile import read_points
from gnc_cli.known_codes import best as known_codes
from gnc_cli.known_codes import stored as shipped
from gnc_cli.known_codes import table
from gnc_cli.known_codes.best import best
from gnc_cli.known_codes.table import our_copy
from gnc_cli.known_codes.verdict import ComparisonStatus
from gnc_cli.runtime.deadline import Deadline
from tests.problems import polygon

ROOT = Path(__file__).parents[1]


def test_the_readme_has_every_benchmark() -> None:
    folder = ROOT / "benchmarks"
    files = {str(path.relative_to(folder)) for path in folder.rglob("*.py")}
    listed = re.findall(r"^\| `(\S+\.py)` \|", (folder / "README.md").read_text("utf-8"), re.M)
    assert len(listed) == len(set(listed))
    assert set(listed) == {name for name in files if not name.endswith("__init__.py")}


def test_benchmarks_that_are_named_exist() -> None:
    pages = [ROOT / "Makefile", *ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    for folder in ("benchmarks", "data", "gnc_cli", "paper", "tests"):
        pages += [*ROOT.glob(f"{folder}/**/*.md"), *ROOT.glob(f"{folder}/**/*.py")]
    for page in pages:
        text = page.read_text("utf-8")
        for name in re.findall(r"python -m\s+(benchmarks(?:\.\w+)*)", text):
            assert _is_program(name), f"{page}: {name}"
        for name in re.findall(r"`benchmarks/([\w/]+\.py)`", text):
            assert (ROOT / "benchmarks" / name).exists(), f"{page}: {name}"
    for section in SECTIONS:
        for command in section.commands:
            assert _is_program(f"benchmarks.{command.split()[0]}"), command


def test_each_section_of_the_results_is_of_one_version_and_has_its_command() -> None:
    headings = [section.heading for section in SECTIONS]
    assert len(headings) == len(set(headings))
    assert [heading for heading in headings if heading in dates()] == list(dates())
    text = RESULTS.read_text("utf-8")
    for heading, body in re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", text, re.M | re.S):
        several = heading == "Real images: the paper's figures"  # two days of runs
        assert len(re.findall(r"^Machine: ", body, re.M)) == 1, heading
        version_named = r"^Machine: .*; \d{4}-\d\d-\d\d, version [0-9a-f]{8}\b"
        assert several or re.search(version_named, body, re.M), heading
        assert not re.search("earlier (revision|version)s?|version before", body), heading


def test_the_page_of_results_says_which_sections_are_repeated() -> None:
    page = PAGE.read_text("utf-8")
    assert replaced(page, "sections", listed()) == page, "python -m benchmarks --write"


def test_rows_that_become_sections_are_of_one_version() -> None:
    assert MEASURED.name == version()
    for path in (ROOT / "benchmarks").rglob("*.py"):
        text = path.read_text("utf-8")
        if "write_section(" in text:
            assert not re.search(r"^(ROWS|KEPT) = WORK", text, re.M), path


def test_the_results_count_the_certificates_that_ship() -> None:
    table_of_certificates = CERTIFICATES / "three_point.csv"
    with table_of_certificates.open(encoding="utf-8", newline="") as file:
        degrees = Counter(int(row["degree"]) for row in csv.DictReader(file))
    stated = re.search(
        r"(\d+) three-point certificates ship \(.*?\): (\d+) of degree 8, (\d+) of degree 10, "
        r"(\d+) of degree 12 and (\d+) of degree 6\.",
        " ".join(RESULTS.read_text("utf-8").split()),
    )
    assert stated is not None
    counts = [degrees.total(), degrees[8], degrees[10], degrees[12], degrees[6]]
    assert [int(number) for number in stated.groups()] == counts


@pytest.mark.parametrize("number", [5, 6, 7, 9, 12])
def test_the_interval_of_a_median_ratio_holds_it_as_often_as_said(number: int) -> None:
    """By all ways in which rounds lie below and above the median, each as likely."""
    lower, upper = Comparison([float(rank) for rank in range(number)]).interval
    held = [lower < below <= upper for below in map(sum, product([0, 1], repeat=number))]
    assert np.mean(held) >= CONFIDENCE
    narrower = [
        lower + 1 < below <= upper - 1 for below in map(sum, product([0, 1], repeat=number))
    ]
    assert np.mean(narrower) < CONFIDENCE


@pytest.mark.parametrize(
    ("ratios", "verdict", "outliers"),
    [
        ([1.0, 1.01, 0.99, 1.02, 1.0], "same", 0),
        ([1.5, 1.52, 1.49, 1.5, 1.55], "slower", 0),
        ([0.7, 0.72, 0.69, 0.7, 0.71], "faster", 0),
        ([1.0, 1.4, 0.8, 1.2, 1.1], "undecided", 0),
        ([1.2, 1.21, 1.19, 1.2, 9.0], "undecided", 1),
    ],
)
def test_a_difference_smaller_than_its_interval_is_undecided(
    ratios: list[float], verdict: str, outliers: int
) -> None:
    """No round is dropped: one that is far from the others widens the interval."""
    comparison = Comparison(ratios)
    assert (comparison.verdict, comparison.outliers) == (verdict, outliers)


def _is_program(module: str) -> bool:
    path = ROOT.joinpath(*module.split("."))
    return path.with_suffix(".py").exists() or (path / "__main__.py").exists()


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
    options = {"K", "problem", "method", "seed", "time_limit", "init", "out", "force"}
    assert all(call.keys() == options and call["method"] == "descent" for call in calls)
    assert all(call["init"] is None for call in calls)
    assert [row["improves"] for row in made] == [False, True, False, True]
    assert sorted(path.name for path in folder.iterdir()) == ["3.16.h5", "3.8.h5", "visits.jsonl"]
    (row,) = compare(folder / "3.8.h5").rows
    assert row.status is ComparisonStatus.IMPROVES
    assert hunt.hunt(wanted, folder, seconds=600.0, budget=3.0, seed=5) == made
    assert len(calls) == 4
    size, start = hunt.neighbour(folder, {"d": 3, "K": 15, "seed": 0})
    assert size == 16 and start is not None and start.shape == (15, 3)
    assert max_cosine(start) <= made[0]["max_cosine"] + 1e-12


def shake(rng: np.random.Generator, W: np.ndarray, length: float) -> np.ndarray:
    return normalise(W + length * rng.standard_normal(W.shape))


def test_each_record_is_better_than_the_table() -> None:
    assert len(records.improved()) >= 50
    for record in records.improved():
        d, K = record.d, record.K
        path = stored.coordinates(table.data_folder(), d, K)
        code = ExactRows.from_texts([line.split() for line in path.read_text().splitlines()])
        assert verify_below(code, our_copy().entries[d, K].interval[0]), (d, K)
        (row,) = compare(path).rows
        assert row.status is ComparisonStatus.MATCHES and row.reference == "solved", (d, K)


def test_no_claim_of_a_code_has_a_finding() -> None:
    """Its cosine, its published comparator, larger codes, and proved bounds."""
    assert list(records.findings(contacts=False)) == []


def test_pages_state_the_counts_of_today() -> None:
    for path, text in records.restated().items():
        assert path.read_text(encoding="utf-8") == text, "python -m benchmarks.known_codes.records"
    page = records.PAGE.read_text(encoding="utf-8")
    assert records.summary() in page
    for record in records.improved():
        assert "| " + " | ".join(records.line(record)) + " |" in page
    for source in records.comparators():
        assert source["name"] in page and source["commit"][:12] in page


@pytest.mark.parametrize("largest", [250, pytest.param(10_000, marks=pytest.mark.slow)])
def test_contacts_hold_every_stored_code(largest: int) -> None:
    """A stored code that a motion opens, or whose contacts carry no stress, is not polished."""
    for path, W in polish.files([]):
        K, d = W.shape
        if K * (d - 1) <= largest and (d, K) not in records.UNFINISHED:
            assert polish.stationarity(W) <= polish.STATIONARY, path.name
            assert not polish.opens(W, Deadline(60.0)), path.name


def test_an_unpolished_code_and_a_saddle_are_not_done() -> None:
    W = normalise(read_points(stored.coordinates(table.data_folder(), 5, 32)).weights)
    rng = np.random.default_rng(0)
    assert polish.is_done(W) and not polish.is_done(shake(rng, W, 1e-6))
    hexagon = np.pad(polygon(6), ((0, 0), (0, 1)))  # an octahedron is better
    assert polish.stationarity(hexagon) < 1e-14 and polish.opens(hexagon, Deadline())


def test_both_ways_of_a_polish_end_at_the_code_nearby() -> None:
    W = normalise(read_points(stored.coordinates(table.data_folder(), 4, 34)).weights)
    near = shake(np.random.default_rng(1), W, 1e-6)
    for end in (polish.near_end(near, Deadline()), polish.flat_end(near, Deadline())):
        assert max_cosine(end) == pytest.approx(max_cosine(W), abs=1e-13)
        assert polish.stationarity(end) <= polish.STATIONARY


def test_a_hunt_is_stored_once_and_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(3, 9) is spoilt: its optimum is 1/3; the rows (2, 9) and (4, 9) stay where they are."""
    (tmp_path / "coordinates").mkdir()
    (tmp_path / "table.csv").write_text("3,9,0.34\n")
    header = "d,K,rho_one_vs_rest,command\n"
    (tmp_path / "margins.csv").write_text(header + "2,9,0.1,a\n3,9,0.65,b\n4,9,0.2,c\n")
    spoilt = known_codes.read_table(tmp_path / "table.csv")
    table.our_copy()  # some modules call the function itself: its cache keeps the real table
    for module in (table, shipped, hunt):
        monkeypatch.setattr(module, "data_folder", lambda: tmp_path)
    for module in (table, known_codes, shipped, hunt):
        monkeypatch.setattr(module, "our_copy", lambda: spoilt)
    monkeypatch.setattr(known_codes, "constructed", lambda d, K: None)
    monkeypatch.setattr(hunt, "RECORDS", tmp_path)
    folder = tmp_path / "hunt"
    folder.mkdir()
    options: dict[str, Any] = {"problem": "tammes", "method": "descent", "restarts": 4}
    solve(3, 9, **options, out=folder / "3.9.h5")
    visit = {"d": 3, "K": 9, "budget": 5.0}
    (folder / "visits.jsonl").write_text(json.dumps(visit) + "\n")
    table.numerical_codes.cache_clear()
    try:
        hunt.store(folder, None)
        kept = [
            (path, path.read_text())
            for path in tmp_path.rglob("*")
            if path.suffix != ".h5" and path.is_file()
        ]
        hunt.store(folder, None)
    finally:
        table.numerical_codes.cache_clear()
    assert all(path.read_text() == text for path, text in kept)
    assert (tmp_path / "margins.csv").read_text() == (
        header + "2,9,0.1,a\n"
        "3,9,0.666666666666,gnc solve --d 3 --K 9 --construction known\n4,9,0.2,c\n"
    )


def test_a_search_for_sections_can_be_repeated_and_writes_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sections, "LATTICES", {"e8-roots": 1.0})
    monkeypatch.setattr(sections, "SECTIONS", tmp_path / "sections.csv")
    monkeypatch.setattr(sections, "_WIDTHS", (1, 3))
    monkeypatch.setattr(sections, "_TRIES", (3, 6))
    monkeypatch.setattr(sections, "_LEAST", 4)
    monkeypatch.setattr(sections, "_FEWEST", 12)
    # As if no other construction were known, but for the orthoplexes.
    monkeypatch.setattr(sections, "known", lambda d: ([], [2 * d]))
    texts = []
    for name in ("first.jsonl", "second.jsonl"):
        found = sections.Found(tmp_path / name)
        for number in range(2):
            sections.descend(0, number, found)
        texts.append((tmp_path / name).read_text())
    assert texts[0] == texts[1] and found.rows == sections.Found(tmp_path / "second.jsonl").rows
    sections.write_table(found)
    head, *lines = (tmp_path / "sections.csv").read_text().splitlines()
    assert head == "d,K,square,lattice,base,levels"
    rows = [line.split(",") for line in lines]
    assert len(rows) > 4 and {row[0] for row in rows[:-1]} <= {"4", "5", "6", "7"}
    assert len({(row[0], row[2]) for row in rows}) == len(rows), "one size for a cosine"


def test_the_papers_runs_are_commands_that_gnc_takes() -> None:
    commands: Any = get_command(app)
    names = set()
    for figure in figures.FIGURES:
        for case in figures.cases(figure):
            assert case.case not in names
            names.add(case.case)
            command, *options = case.options
            parameters = commands.get_command(None, command).params
            known = {name for parameter in parameters for name in parameter.opts}
            assert {word for word in options if re.match("--?[a-z]", word)} <= known


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
