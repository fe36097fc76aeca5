"""What `gnc bounds --json` prints is what its schema says, key for key."""

import dataclasses
from typing import Any

import jsonschema
import pytest

from gnc_cli import schemas
from gnc_cli.results import (
    BestBounds,
    BoundRow,
    BoundsResult,
    ClassesAnswer,
    ClassesBest,
    ClassesRow,
    DimensionAnswer,
    DimensionBest,
    DimensionRow,
)
from tests.cli.bounds_fakes import angles, best, classes, dimension, result, row, several

SCHEMA = schemas.load("bounds")
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
DEFS = SCHEMA["$defs"]
MADE = [result(), several(), angles(), dimension(), classes()]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("made", MADE, ids=["pair", "several", "angles", "dimension", "classes"])
def test_every_question_is_valid(made: BoundsResult) -> None:
    VALIDATOR.validate(made.to_json())
    nothing = dataclasses.replace(made, rows=(), best=())
    VALIDATOR.validate(nothing.to_json())


@pytest.mark.parametrize(
    "changes",
    [{"value": float("nan")}, {"side": "left"}, {"quantity": "chord"}, {"d": 1}, {"name": None}],
)
def test_spoilt_rows_are_not(changes: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid(result(rows=(row(**changes),)).to_json())


@pytest.mark.parametrize(
    "changes", [{"status": "fine"}, {"lower": None}, {"upper_name": None}, {"K": 1}]
)
def test_spoilt_intervals_are_not(changes: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid(result(best=(best(**changes),)).to_json())


@pytest.mark.parametrize(
    "spoilt",
    [{"extra": 1}, {"schema": 2}, {"command": "solve"}, {"rows": None}, {"dimension": {}},
     {"quantity": None}, {"extras": {}}, {"outcome": "fine"}],
)  # fmt: skip
def test_spoilt_results_are_not(spoilt: dict[str, Any]) -> None:
    good = result().to_json()
    assert VALIDATOR.is_valid(good) and not VALIDATOR.is_valid(good | spoilt)


@pytest.mark.parametrize("made", MADE, ids=["pair", "several", "angles", "dimension", "classes"])
def test_every_key_is_required_and_no_other_allowed(made: BoundsResult) -> None:
    good = made.to_json()
    for place in _objects(good):
        kept = dict(place)
        for key in kept:
            if place is good and key == "rows":
                continue  # without rows it is a line
            del place[key]
            assert not VALIDATOR.is_valid(good), key
            place[key] = kept[key]
        place["extra"] = 1
        assert not VALIDATOR.is_valid(good)
        del place["extra"]
    VALIDATOR.validate(good)


def _objects(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [o for part in value for o in _objects(part)]
    if not isinstance(value, dict):
        return []
    return [value, *(o for part in value.values() for o in _objects(part))]


def test_keys_are_those_of_the_records() -> None:
    for record, part in [
        (BoundRow, "row"), (BestBounds, "best"), (DimensionRow, "dimension_row"),
        (DimensionAnswer, "dimension"), (DimensionBest, "dimension_best"),
        (ClassesRow, "classes_row"), (ClassesAnswer, "classes"), (ClassesBest, "classes_best"),
    ]:  # fmt: skip
        names = [f.name for f in dataclasses.fields(record)]
        assert DEFS[part]["required"] == names == list(DEFS[part]["properties"]), record
    assert DEFS["result"]["required"] == list(result().to_json())


def test_lines_are_rows_behind_a_head() -> None:
    head = {"schema": 1, "command": "bounds", "version": "0.1.0"}
    for body in (made.to_json() for made in MADE):
        part = body["dimension"] or body["classes"] or body
        for found in [*part["rows"], *part["best"]]:
            VALIDATOR.validate(head | {"margin": 0.5} | found)
            VALIDATOR.validate(head | found)
            assert not VALIDATOR.is_valid(found)
            assert not VALIDATOR.is_valid(head | found | {"extra": 1})
            for key in found:
                assert not VALIDATOR.is_valid(
                    head | {k: v for k, v in found.items() if k != key}
                ), key


def test_every_key_of_a_row_is_described() -> None:
    for name in ("row", "dimension_row", "classes_row"):
        for key, part in DEFS[name]["properties"].items():
            assert part.get("description", "").endswith("."), (name, key)
