"""Rows of the table of codes against the program and the stored files; see also test_site.py."""

import json
import re
from fractions import Fraction
from typing import Any

import pytest
from typer.testing import CliRunner

from docs.table_of_codes import certificates, pairs, row
from gnc_cli.cli import app
from gnc_cli.constructions.registry import single_codes
from gnc_cli.known_codes.table import data_folder, numerical_codes, our_copy
from tests.plain_verifier import claim_of

STATUSES = {
    (3, 9): "optimal",
    (3, 15): "certified",
    (3, 60): "published",
    (12, 81): "improved by gnc",
    (8, 45): "found by gnc",
    (480, 6561): "construction",
    (9, 71): "part of another",
}


def _printed(*words: str) -> dict[str, Any]:
    run = CliRunner().invoke(app, [*words, "--json"])
    assert run.exit_code == 0, run.output
    found: dict[str, Any] = json.loads(run.stdout)
    return found


@pytest.mark.parametrize(("pair", "status"), STATUSES.items())
def test_a_row_has_the_numbers_that_the_program_prints(pair: tuple[int, int], status: str) -> None:
    d, K = pair
    made = row(d, K)
    answer = _printed("bounds", "--d", f"{d}", "--K", f"{K}")
    (best,) = answer["best"]
    known = best["best_known"]
    assert (made["lower"], made["upper"]) == (best["lower"], best["upper"])
    assert made["status"] == status and (status == "optimal") == (made["gap"] == 0)
    assert made["max_cosine"] == known["figure"]
    assert (made["code"], made["optimality"]) == (known["source"], known["optimality"])
    ends = [r for r in answer["rows"] if r["side"] == "upper" and r["value"] == best["upper"]]
    assert made["upper_source"] in [r["source"] for r in ends if r["proven"]]
    assert made["lower"] == pytest.approx(1 - Fraction(made["max_cosine"]), abs=2e-12)


def test_every_code_and_certificate_on_record_has_a_row() -> None:
    expected = {(entry.d, entry.K) for entry in (*our_copy().select(), *numerical_codes().select())}
    expected |= {(code.d, code.K) for code in single_codes() if 2 * code.d < code.K}
    listed = pairs()
    assert expected | {*certificates()} <= {*listed}
    assert listed == sorted(set(listed)) and len(listed) > 5000


def test_rattlers_and_contacts_are_those_of_the_code_itself() -> None:
    assert (row(3, 9)["rattlers"], row(3, 9)["contacts"]) == (0, 18)
    listed = our_copy().find(3, 111)
    assert listed is not None and listed.contacts is not None
    assert row(3, 111)["contacts"] is None  # improved


def test_a_claim_is_shown_and_counts_nowhere() -> None:
    claim = our_copy().claims[0]
    made = row(claim.d, claim.K)
    assert made["claimed_cosine"] == claim.figure and made["claimed_by"] == claim.source
    assert made["code"] != claim.source and made["lower"] < 1 - claim.max_cosine


def test_a_certificate_proves_no_more_than_the_upper_end_of_its_row() -> None:
    made = row(5, 11)
    claim = claim_of(str(data_folder() / made["certificate"]))
    (cosine,) = re.findall(r"^11 points in 5 dimensions: some cosine > (.*)$", claim)
    assert made["upper"] <= float(1 - Fraction(cosine))
