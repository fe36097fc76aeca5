"""Every option is declared once, has a help text, and its choices are those of the contract."""

from typing import Any, get_args

import pytest

from gnc_cli import options
from gnc_cli.errors import UsageError
from gnc_cli.options import Method, Missing, Normalize, Problem, Quantity, Rows, Variants
from gnc_cli.options.train import (
    Constraint,
    Loss,
    NormLayers,
    Optimizer,
    Precision,
    Preset,
    Schedule,
    Stem,
)
from gnc_cli.workflows.train_presets import PRESETS
from gnc_cli.workflows.train_settings import settings_of

ALIASES = [n for n in options.__all__ if get_args(getattr(options, n))]


def _declared(name: str) -> Any:
    return get_args(getattr(options, name))[-1]


def _flags(name: str) -> list[str]:
    option = _declared(name)
    # Typer keeps the first name in the place of a default until the command is built; arguments
    # have none.
    return [] if option.param_decls is None else [option.default, *option.param_decls]


@pytest.mark.parametrize("name", ALIASES)
def test_help_is_a_short_sentence_in_a_panel(name: str) -> None:
    option = _declared(name)
    assert option.help and option.help.endswith(".")
    assert len(option.help) <= 180
    assert option.rich_help_panel


def test_no_name_is_declared_twice() -> None:
    # Solve takes one d and K and writes a code, compare takes several and writes rows; measure
    # expects a K, writes rows of its own and has more to say about time. Bounds take a K of any
    # size, limit the time of the linear programme alone, and have no probability by default. Train
    # has d and K of a network, writes a folder, and takes one temperature, decay and margin, each
    # with a default of its own; a run that goes on keeps its seed.
    twins = {
        "BoundDims", "BoundProbability", "BoundSizes", "BoundTable", "BoundsTimeLimit", "Dims",
        "FeatureDim", "ImageClasses", "LossMargin", "MeasureOut", "MeasureTimeLimit", "NumClasses",
        "RowsOut", "RunOut", "RunResume", "Sizes", "TrainDecay", "TrainSeed", "TrainTau",
        "TrainTimeLimit",
    }  # fmt: skip
    names = [flag for name in ALIASES for flag in _flags(name) if name not in twins]
    assert len(names) == len(set(names))
    own = {"--feature-dim"}  # the long name of train's --d
    again = {flag for name in twins for flag in _flags(name)} - own
    assert again == {
        "--d", "-d", "--K", "-K", "--out", "--time-limit", "--probability", "--table", "--classes",
        "--margin", "--resume", "--seed", "--tau", "--weight-decay",
    } <= set(names)  # fmt: skip


def test_common_options_of_the_contract() -> None:
    names = {flag for name in ALIASES for flag in _flags(name)}
    common = "--json --csv --jsonl --out --force --report --plot --seed --device --threads"
    common += " --time-limit -q -v --d -d --K -K --min --max --check --rows --baseline --allow"
    assert set(common.split()) <= names


def test_choices() -> None:
    assert [p.value for p in Problem] == ["softmax", "tammes", "ufm"]
    assert [m.value for m in Method] == ["auto", "descent", "paper"]
    assert [r.value for r in Rows] == ["all", "any", "last"]
    assert [n.value for n in Normalize] == ["auto", "require", "off"]
    assert [m.value for m in Missing] == ["skip", "error"]
    assert [v.value for v in Variants] == ["none", "authors", "classic", "all"]
    assert [q.value for q in Quantity] == ["one-vs-rest", "one-vs-one"]
    assert [c.value for c in Constraint] == ["sphere", "decay"]
    assert [x.value for x in Loss] == ["ce", "hardmax", "cosface", "arcface"]
    assert [p.value for p in Preset] == [*PRESETS]
    assert [s.value for s in Stem] == ["auto", "small", "imagenet"]
    assert [n.value for n in NormLayers] == ["batch", "group", "none"]
    assert [x.value for x in Optimizer] == ["sgd", "adamw", "adam"]
    assert [s.value for s in Schedule] == ["cosine", "step", "constant"]
    assert [p.value for p in Precision] == ["auto", "float32", "bf16", "fp16"]


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("stem", Stem), ("norm", NormLayers), ("constraint", Constraint), ("loss", Loss),
        ("optimizer", Optimizer), ("schedule", Schedule), ("precision", Precision),
        ("preset", Preset),
    ],
)  # fmt: skip
def test_train_offers_what_its_function_takes(name: str, choices: Any) -> None:
    for choice in choices:
        assert getattr(settings_of({name: choice.value}), name) == choice.value
    with pytest.raises(UsageError) as refused:
        settings_of({name: "other"})
    assert str(refused.value).endswith("choose " + ", ".join(c.value for c in choices))
