"""Reports parse where they go: markdown tables, JUnit XML, Prometheus text."""

import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.console.gates import GateVerdict, Status
from gnc_cli.console.report import report_text
from gnc_cli.known_codes.best import BestKnown
from gnc_cli.search.view import view
from tests.console.stand_in import code, sweep

VERDICTS = [
    GateVerdict("--min rho_one_vs_rest=0.6", Status.PASSED, "rho_one_vs_rest in [0.66, 0.67]"),
    GateVerdict("--max 'a<1 or b>\"2\"'", Status.UNDECIDED, "a | b"),
    GateVerdict("--max max_cosine=0.3", Status.FAILED, "max_cosine = 0.335"),
]


def _report(path: str, result: Any, verdicts: list[GateVerdict]) -> str:
    return report_text(path, result, lambda: view(result, False), verdicts)


SAMPLE = re.compile(
    r'^[a-zA-Z_:][a-zA-Z0-9_:]*(\{[a-zA-Z_]\w*="([^"\\\n]|\\.)*"(,[a-zA-Z_]\w*="([^"\\\n]|\\.)*")*\})?'
    r" (NaN|[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?)$"
)


def test_markdown_is_made_of_tables() -> None:
    text = _report("r.md", code(), VERDICTS)
    assert text.startswith("## gnc solve: problem = softmax, d = 10, K = 100\n")
    tables = [line for line in text.splitlines() if line.startswith("|")]
    widths = [len(re.findall(r"(?<!\\)\|", line)) for line in tables]
    assert widths[:5] == [4] * 5 and set(widths[5:]) == {4}
    assert "| ❌ failed | --max max_cosine=0.3 |" in text
    assert "| one-vs-rest distance | 0.660000 | certified lower end; " in text
    assert "converged: " in text


def test_junit_has_a_case_a_gate_and_one_for_the_run() -> None:
    root = ElementTree.fromstring(_report("r.xml", code(), VERDICTS).encode())
    (suite,) = root.findall("testsuite")
    assert (suite.get("tests"), suite.get("failures")) == ("4", "2")
    cases = suite.findall("testcase")
    assert [c.get("name") for c in cases][1:] == [v.gate for v in VERDICTS]
    kinds = [[f.get("type") for f in c.findall("failure")] for c in cases]
    assert kinds == [[], [], ["undecided"], ["failed"]]
    properties = {p.get("name"): p.get("value") for p in suite.iter("property")}
    assert properties["rho_one_vs_rest.lower"] == "0.66"


@pytest.mark.parametrize("result", [code(), sweep([1.0, 0.1])])
def test_prometheus_lines_parse_and_stand_in_families(result: Any) -> None:
    text = _report("r.prom", result, VERDICTS)
    assert text.endswith("\n")
    family, seen = "", set()
    for line in text.splitlines():
        if line.startswith("# HELP "):
            family = line.split()[2]
            assert family not in seen
            seen.add(family)
        elif not line.startswith("# TYPE "):
            assert SAMPLE.match(line), line
            assert re.split(r"[ {]", line)[0] == family
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    assert len({line.rsplit(" ", 1)[0] for line in samples}) == len(samples)


def test_prometheus_labels_and_values() -> None:
    best = BestKnown(
        max_cosine=0.3354,
        figure="0.3354",
        source='a "named" table',
        proven=True,
        kind="table",
        d=10,
        K=100,
        date="2026-10",
    )
    text = _report("r.prom", code(best_known=best), VERDICTS)
    assert 'gnc_solve_rho_one_vs_rest_lower{problem="softmax",d="10",K="100"} 0.66\n' in text
    assert 'gnc_solve_best_known_proven{problem="softmax",d="10",K="100"} 1\n' in text
    assert 'outcome="converged"} 1\n' in text
    assert "first_order_gain" not in text


@given(st.text(), st.text())
def test_any_words_survive_in_every_report(gate: str, detail: str) -> None:
    verdicts = [GateVerdict(gate, Status.FAILED, detail)]
    result = code()
    ElementTree.fromstring(_report("r.xml", result, verdicts).encode("utf-8", "replace"))
    samples = _report("r.prom", result, verdicts).split("\n")
    assert all(SAMPLE.match(s) for s in samples if s and not s.startswith("#"))
