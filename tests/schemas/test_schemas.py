"""What `gnc solve --json` prints is what its schema says, key for key."""

import dataclasses
from typing import Any

import jsonschema
import pytest

from gnc_cli import schemas
from gnc_cli.results import BestKnown, Outcome, SolveResult, UfmMeasures
from tests.cli.fakes import code, sweep, ufm

SCHEMA = schemas.load("solve")
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
KNOWN = BestKnown(0.3, "a table", False, "table", 10, 100, "2026-10")


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    with pytest.raises(FileNotFoundError):
        schemas.load("nothing")


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_is_valid(outcome: Outcome) -> None:
    VALIDATOR.validate(code(outcome=outcome).to_json())


@pytest.mark.parametrize(
    "result",
    [
        ufm(0.1),
        sweep([1.0, 0.1]),
        sweep([]),
        code(problem="tammes", best_known=KNOWN, out="code.h5"),
        code(contacts=None, stationarity=None, first_order_gain=float("nan")),
    ],
)
def test_other_shapes_are_valid(result: Any) -> None:
    VALIDATOR.validate(result.to_json())


@pytest.mark.parametrize(
    "spoilt",
    [
        {"extra": 1},
        {"K": 1},
        {"K": 2.5},
        {"max_cosine": None},
        {"rho_one_vs_rest": {"lower": 0.5}},
        {"outcome": "fine"},
        {"tau": 0.1},
        {"problem": "ufm"},
        {"schema": 2},
        {"rows": []},
    ],
)
def test_spoilt_results_are_not(spoilt: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid(code().to_json() | spoilt)
    assert not VALIDATOR.is_valid({k: v for k, v in code().to_json().items() if k != "margins"})


def test_keys_are_those_of_the_record() -> None:
    fields = {f.name for f in dataclasses.fields(SolveResult) if f.metadata.get("json", True)}
    fields |= {"advice"} | {f.name for f in dataclasses.fields(UfmMeasures)}
    row = SCHEMA["$defs"]["row"]["properties"]
    assert set(row) == fields - {"version"}
    head = {"schema", "command", "version"}
    assert set(SCHEMA["$defs"]["result"]["properties"]) == set(row) | head
    assert set(SCHEMA["$defs"]["sweep"]["properties"]) == set(sweep([]).to_json())


def test_outcomes_are_those_of_the_record() -> None:
    listed = SCHEMA["$defs"]["row"]["properties"]["outcome"]["enum"]
    assert listed == [o.value for o in Outcome]


def _leaves(schema: Any) -> list[dict[str, Any]]:
    found = []
    for name, part in schema.get("properties", {}).items():
        if isinstance(part, dict) and "#/$defs/row/" not in part.get("$ref", ""):
            found.append({"name": name, **part})
            found += _leaves(part)
    return found


def test_every_key_is_described() -> None:
    for definition in SCHEMA["$defs"].values():
        for leaf in _leaves(definition):
            assert leaf.get("description", "").endswith("."), leaf["name"]
