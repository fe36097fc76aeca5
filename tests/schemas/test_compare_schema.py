"""What `gnc compare --json` prints is what its schema says, key for key."""

import dataclasses
from typing import Any

import jsonschema
import pytest

from gnc_cli import schemas
from gnc_cli.results import CompareRow, Standing, TableStamp
from tests.cli.compare_fakes import (
    better,
    listed,
    polished,
    refused,
    result,
    row,
    solved,
    unlisted,
    worse,
)

SCHEMA = schemas.load("compare")
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
ROW = SCHEMA["$defs"]["row"]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("made", [polished(), refused(), polished(polynomial=None)])
def test_digits_are_valid(made: CompareRow) -> None:
    VALIDATOR.validate(result(made).to_json())


@pytest.mark.parametrize("make", [row, worse, unlisted, better, listed, solved])
def test_rows_of_every_mode_are_valid(make: Any) -> None:
    VALIDATOR.validate(result(make()).to_json())
    bare = make(rattlers=None, contacts=None, seconds=None, best_known=None, proven=None)
    VALIDATOR.validate(result(bare, row()).to_json())


@pytest.mark.parametrize("status", [None, *Standing])
def test_every_status_is_valid(status: Standing | None) -> None:
    VALIDATOR.validate(result(row(status=status)).to_json())
    assert (status.value if status else None) in ROW["properties"]["status"]["enum"]


@pytest.mark.parametrize(
    "spoilt",
    [
        {"extra": 1},
        {"K": 1},
        {"d": 2.5},
        {"gap": "small"},
        {"status": "fine"},
        {"rattlers": {"one_vs_one": 1}},
        {"rho_one_vs_rest": {"lower": 0.5}},
        {"proven": "yes"},
        {"seconds": -1.0},
    ],
)
def test_spoilt_rows_are_not(spoilt: dict[str, Any]) -> None:
    good = result(row()).to_json()
    assert not VALIDATOR.is_valid(good | {"rows": [good["rows"][0] | spoilt]})


@pytest.mark.parametrize(
    "spoilt", [{"extra": 1}, {"schema": 2}, {"command": "solve"}, {"counts": {}}, {"table": None}]
)
def test_spoilt_results_are_not(spoilt: dict[str, Any]) -> None:
    good = result(row()).to_json()
    assert VALIDATOR.is_valid(good) and not VALIDATOR.is_valid(good | spoilt)
    for key in good:
        assert not VALIDATOR.is_valid({k: v for k, v in good.items() if k != key}), key


def test_keys_are_those_of_the_records() -> None:
    fields = [f.name for f in dataclasses.fields(CompareRow) if f.name != "more"]
    assert ROW["required"] == fields
    table = SCHEMA["$defs"]["result"]["properties"]["table"]
    assert table["required"] == [f.name for f in dataclasses.fields(TableStamp)]
    counts = SCHEMA["$defs"]["result"]["properties"]["counts"]
    assert counts["required"] == [s.value for s in Standing]


def test_counts_add_up() -> None:
    counts = result(row(), row(), worse(), unlisted(), listed()).to_json()["counts"]
    assert counts == {"matches": 2, "worse": 1, "improves": 0, "no_entry": 1}


def _leaves(schema: Any) -> list[dict[str, Any]]:
    found = []
    for name, part in schema.get("properties", {}).items():
        found.append({"name": name, **part})
        found += _leaves(part)
    return found


def test_every_key_is_described() -> None:
    for definition in SCHEMA["$defs"].values():
        for leaf in _leaves(definition):
            assert leaf.get("description", "").endswith("."), leaf["name"]
