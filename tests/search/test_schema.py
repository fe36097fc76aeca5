"""What `gnc solve --json` prints is what the schema made from its records says."""

from typing import Any

import jsonschema
import pytest

from gnc_cli import schemas
from gnc_cli.errors import UsageError
from gnc_cli.search.result import Outcome
from tests.console.stand_in import code, sweep

SCHEMA = schemas.load("solve")
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


@pytest.mark.parametrize("command", schemas.RESULTS)
def test_every_schema_is_one(command: str) -> None:
    schema = schemas.load(command)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["title"] == f"gnc {command} --json"


def test_other_names_have_none() -> None:
    with pytest.raises(UsageError, match="solve"):
        schemas.load("nothing")


def test_every_outcome_and_shape_is_valid() -> None:
    for outcome in Outcome:
        VALIDATOR.validate(code(outcome=outcome).to_json())
    VALIDATOR.validate(sweep([]).to_json())
    VALIDATOR.validate(code(contacts=None, first_order_gain=float("nan")).to_json())


@pytest.mark.parametrize(
    "spoilt",
    [{"extra": 1}, {"K": 2.5}, {"rho_one_vs_rest": {"lower": 0.5}}, {"outcome": "fine"},
     {"schema": 2}, {"rows": []}, {"seed": "0"}],
)  # fmt: skip
def test_spoilt_results_are_not(spoilt: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid(code().to_json() | spoilt)
