"""What `gnc measure --json` prints is what its schema says, key for key."""

import dataclasses
from typing import Any

import jsonschema
import numpy as np
import pytest

from gnc_cli import schemas
from gnc_cli.results import (
    BootstrapIntervals,
    ClassCounts,
    ClassRow,
    DuplicatePair,
    Gnc2Quantiles,
    Gnc2Reference,
    MeasureGroup,
    MeasureMargins,
    MeasureResult,
    MeasureSeries,
    SampleMargins,
    WithoutDuplicates,
)
from tests.cli.measure_fakes import (
    epochs,
    full,
    group,
    grouped,
    means_only,
    row,
    series,
    weights_only,
)

SCHEMA = schemas.load("measure")
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
DEFS = SCHEMA["$defs"]
ROW = DEFS["row"]["properties"]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("make", [row, full, weights_only, means_only])
def test_results_and_rows_are_valid(make: Any) -> None:
    VALIDATOR.validate(make().to_json())
    VALIDATOR.validate(series(make(), row()).to_json())


@pytest.mark.parametrize(
    "made", [series(), series(*epochs()), grouped(), series(row(), groups=(group(None, 1),))]
)
def test_series_are_valid(made: MeasureSeries) -> None:
    VALIDATOR.validate(made.to_json())


def test_numbers_that_are_none_are_null() -> None:
    VALIDATOR.validate(row(gnc1=float("nan"), max_cosine=None, gnc2_quantiles=None).to_json())


@pytest.mark.parametrize(
    "spoilt",
    [
        {"extra": 1}, {"K": 1}, {"d": 2.5}, {"N": "all"}, {"gnc1": -1.0}, {"accuracy": 1.5},
        {"gnc2": {"lower": 0.5}}, {"gnc2": None}, {"variants": {"others": {}}},
        {"gnc2_reference": {"value": 1.0}}, {"policy": {}}, {"warnings": "none"},
        {"worst_classes": [{"label": 3}]}, {"seconds": None}, {"bootstrap": {"level": 0.95}},
    ],
)  # fmt: skip
def test_spoilt_rows_are_not(spoilt: dict[str, Any]) -> None:
    one, several = row().to_json(), series(row()).to_json()
    assert not VALIDATOR.is_valid(one | spoilt)
    assert not VALIDATOR.is_valid(several | {"rows": [several["rows"][0] | spoilt]})


@pytest.mark.parametrize("made", [full(), grouped()])
def test_every_key_is_required_and_no_other_is_known(made: Any) -> None:
    good = made.to_json()
    assert not VALIDATOR.is_valid(good | {"extra": 1})
    for key in good:
        assert not VALIDATOR.is_valid({k: v for k, v in good.items() if k != key}), key
    assert not VALIDATOR.is_valid(good | {"schema": 2})
    assert not VALIDATOR.is_valid(good | {"command": "solve"})


@pytest.mark.parametrize(
    ("record", "part"),
    [
        (ClassRow, DEFS["class_row"]), (Gnc2Quantiles, ROW["gnc2_quantiles"]),
        (Gnc2Reference, ROW["gnc2_reference"]), (SampleMargins, ROW["sample_margins"]),
        (MeasureMargins, ROW["margins"]), (ClassCounts, ROW["classes"]),
        (WithoutDuplicates, ROW["without_duplicates"]),
        (DuplicatePair, ROW["duplicates"]["items"]), (BootstrapIntervals, ROW["bootstrap"]),
        (MeasureGroup, DEFS["series"]["properties"]["groups"]["items"]),
    ],
)  # fmt: skip
def test_keys_are_those_of_the_records(record: Any, part: dict[str, Any]) -> None:
    fields = [f.name for f in dataclasses.fields(record)]
    assert part["required"] == fields == list(part["properties"])
    assert part["additionalProperties"] is False


def test_keys_of_a_row_are_those_of_the_result() -> None:
    fields = {f.name for f in dataclasses.fields(MeasureResult) if f.metadata.get("json", True)}
    assert set(ROW) == set(DEFS["row"]["required"]) == fields - {"version"}


def _leaves(schema: Any) -> list[dict[str, Any]]:
    found = []
    for name, part in schema.get("properties", {}).items():
        found.append({"name": name, **part})
        found += _leaves(part) + _leaves(part.get("items", {}))
    return found


def test_every_key_is_described() -> None:
    for definition in DEFS.values():
        for leaf in _leaves(definition):
            assert leaf.get("description", "").endswith("."), leaf["name"]


def test_a_real_measurement_is_valid() -> None:
    from gnc_cli.workflows.measure import measure

    rng = np.random.default_rng(0)
    labels = np.arange(60) % 5
    weights = rng.standard_normal((5, 4))
    features = weights[labels] + 0.1 * rng.standard_normal((60, 4))
    for options in ({}, {"variants": "all", "bootstrap": 5, "duplicates": 0.5}):
        made = measure(features=features, labels=labels, weights=weights, **options)
        VALIDATOR.validate(made.to_json())
    VALIDATOR.validate(measure(weights=weights).to_json())
    VALIDATOR.validate(measure(features=features, labels=labels).to_json())
