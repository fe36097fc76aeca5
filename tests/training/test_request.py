"""Settings of `train` (`request.py`, `settings.py`): call, preset, defaults, and refusals."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from gnc_cli import train
from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.arguments import entry
from gnc_cli.io.code import portable
from gnc_cli.parameters import declared, in_shell
from gnc_cli.training import settings
from gnc_cli.training.config_file import configured
from gnc_cli.training.networks.encoders import ENCODERS
from gnc_cli.training.request import Train
from gnc_cli.training.run import choices
from gnc_cli.training.run_folder import read_stored_run
from gnc_cli.training.settings import PRESETS, Settings

REFUSED: tuple[tuple[dict[str, Any], str], ...] = (
    ({"classes": 10, "classes_subset": ("a", "b")}, "--classes excludes --classes-subset"),
    ({"backbone_weights": "a.pth", "init_from": "run"}, "--backbone-weights excludes --init-from"),
    ({"constraint": "decay", "head": "cmf"}, "--constraint decay excludes --head"),
    ({"constraint": "decay", "tau": 0.1}, "--constraint decay .*--tau"),
    ({"constraint": "decay", "loss": "hardmax"}, "--constraint decay .*--loss"),
    ({"margin": 0.3}, "--margin requires --loss cosface or arcface; add that, or drop --margin"),
    ({"margin": 0.3, "loss": "hardmax"}, "--margin requires --loss"),
    ({"beta": 0.5, "head": "fixed:solve"}, "^beta requires --head cmf"),
    ({"assignment": "all", "head": "cmf"}, "--assignment .*--head fixed:FILE"),
    ({"similarity": "s.h5", "assignment": "all", "head": "fixed:solve"}, "--similarity .*best or"),
    ({"script": "han", "data": "kmnist"}, "--script .*--data glyphs"),
    ({"momentum": 0.5, "optimizer": "adam"}, "^momentum requires --optimizer sgd"),
    ({"milestones": (3,)}, "^--milestones requires --schedule step"),
    ({"augment": ("crop", "blur")}, "--augment 'blur'.*crop, flip, rotate"),
    ({"head": "linear"}, "--head 'linear'.*learned, cmf, fixed:FILE or fixed:solve"),
    ({"head": "fixed"}, "--head 'fixed'"),
    ({"head": "fixed:"}, "--head 'fixed:'"),
    ({"head": "cmf:0.9"}, "--head 'cmf:0.9'"),
)
KEYS = {name for name, parameter in declared(train).items() if not parameter.in_shell}


def settings_of(asked: dict[str, Any]) -> Settings:
    return settings.settings_of(choices(Train(**asked)))


def resumed(stored: Settings, asked: dict[str, Any]) -> Settings:
    return settings.resumed_settings(stored, choices(Train(**asked)))


def test_the_user_comes_before_the_preset_and_the_preset_before_defaults() -> None:
    plain = settings_of({})
    assert (plain.data, plain.model, plain.optimizer, plain.lr) == ("glyphs", "cnn", "adamw", 3e-3)
    paper = settings_of({"preset": "fig2"})
    assert (paper.data, paper.model, paper.optimizer, paper.lr) == (
        "cifar100",
        "resnet18",
        "sgd",
        0.1,
    )
    assert (paper.tau, paper.feature_dim, paper.epochs, paper.warmup) == (1 / 7, 10, 200, 0.0)
    mine = settings_of({"preset": "fig2", "tau": 0.5, "lr": 0.2})
    assert mine == dataclasses.replace(paper, tau=0.5, lr=0.2)
    assert settings_of({"preset": "fig2", "tau": None}) == paper


def test_defaults_follow_what_was_chosen() -> None:
    assert settings_of({"data": "cifar10"}).optimizer == "sgd"  # with a network of the paper
    assert settings_of({"data": "cifar10", "model": "resnet18"}).lr == 0.1
    assert settings_of({"model": "resnet18"}).optimizer == "adamw"  # on glyphs, of which few are
    assert settings_of({"data": "cifar10", "optimizer": "adamw"}).lr == 3e-3
    few, many = settings_of({"classes": 4}), settings_of({"classes": 1000})
    assert (few.batch_size, few.epochs) == (16, 300) and (many.batch_size, many.epochs) == (64, 30)
    assert (settings_of({}).batch_size, settings_of({}).epochs) == (64, 60)
    assert settings_of({"constraint": "decay"}).tau == 1.0
    assert settings_of({"epochs": 4}).warmup == 0.2
    assert settings_of({"epochs": 1, "schedule": "step"}).milestones == (1,)
    assert settings_of({"epochs": 80, "schedule": "step"}).milestones == (40, 60)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_complete(preset: str) -> None:
    chosen = settings_of({"preset": preset})
    assert chosen.preset == preset and chosen.model in ENCODERS
    for model in ("my.networks:made", "cnn"):
        chosen = settings_of({"preset": preset, "model": model})
        assert chosen.width == 1.0
        tuned = preset == "finetune"
        assert (chosen.optimizer, chosen.lr) == (("adam", 1e-5) if tuned else ("adamw", 3e-3))


def test_a_preset_on_other_data_or_epochs() -> None:
    fig4 = settings_of({"preset": "fig4"})
    assert fig4.milestones == (200, 400, 600) and fig4.classes_subset is not None
    short = settings_of({"preset": "fig4", "epochs": 80})
    assert short.milestones == (20, 40, 60) and short.classes_subset == fig4.classes_subset
    assert settings_of({"preset": "fig4", "epochs": 2}).milestones == (1, 2)
    own = settings_of({"preset": "fig4", "epochs": 80, "milestones": (70,)})
    assert own.milestones == (70,)
    small = settings_of({"preset": "fig4", "data": "glyphs"})
    assert (small.classes, small.classes_subset, small.tau) == (4, None, fig4.tau)
    learns = settings_of({"classes": 4, "feature_dim": 2, "tau": 0.05})
    assert small == dataclasses.replace(learns, preset="fig4")  # and never a flipped character
    other = settings_of({"preset": "b6", "data": "h5:mine.h5"})
    assert (other.classes, other.classes_subset) == (None, None)
    there = settings_of({"preset": "fig4", "data": "cifar10:here"})
    assert there.classes_subset == fig4.classes_subset
    two = settings_of({"preset": "fig4", "classes_subset": ("cat", "dog")})
    assert (two.classes_subset, two.classes) == (("cat", "dog"), None)
    assert settings_of({"preset": "fig4", "classes": 3}).classes_subset is None
    tuned = settings_of({"preset": "finetune", "data": "folder:stl"})
    assert (tuned.image_size, tuned.model, tuned.lr) == (None, "resnet50", 1e-5)
    decay = settings_of({"preset": "b1", "constraint": "decay"})  # its other side
    assert decay.constraint == "decay" and decay.epochs == 1600


def read(given: dict[str, Any]) -> Settings:
    """Settings of arguments that are checked as `train` checks its own."""
    parameters = declared(train)
    return settings_of({name: parameters[name].read(name, v) for name, v in given.items()})


@pytest.mark.parametrize(("given", "message"), REFUSED)
def test_what_is_refused_names_its_flag(given: dict[str, Any], message: str) -> None:
    with in_shell(*KEYS), pytest.raises(UsageError, match=message) as caught:
        read(given)
    assert "\n" not in str(caught.value)


def test_settings_survive_json(tmp_path: Path) -> None:
    asked = settings_of({"preset": "fig4", "augment": (), "seed": 7, "head": "fixed:a.h5"})
    stored = json.loads(json.dumps(vars(asked)))
    again = Settings.from_json(stored)
    assert again == asked and isinstance(again.milestones, tuple) and again.augment == ()
    with pytest.raises(ValueError, match="colour"):
        Settings.from_json(stored | {"colour": "red"})
    (tmp_path / "config.json").write_text(json.dumps({"settings": stored | {"loss": "mse"}}))
    with pytest.raises(DataError, match=r"gnc train: field 'loss'.*; start again$") as refusal:
        read_stored_run(str(tmp_path))
    assert str(refusal.value).count("config.json") == 1
    del stored["tau"]
    with pytest.raises(ValueError, match="tau"):
        Settings.from_json(stored)


def _stored(**given: Any) -> Settings:
    """Settings as config.json gives them back."""
    return Settings.from_json(portable(vars(settings_of(given))))


def test_a_resumed_run_may_go_further_and_be_measured_otherwise() -> None:
    stored = _stored(epochs=5, tau=0.2)
    more = resumed(stored, {"epochs": 9, "measure_every": 3, "snapshot_every": 2, "tau": 0.2})
    assert more == dataclasses.replace(stored, epochs=9, measure_every=3, snapshot_every=2)
    assert resumed(stored, {}) == stored


def test_a_resumed_run_takes_nothing_else() -> None:
    stored = _stored(preset="fig4", seed=3)
    others: dict[str, Any] = {
        "tau": 0.7,
        "classes_subset": ("cat", "dog"),
        "model": "cnn",
        "seed": 0,
        "lr": 1.0,
        "data": "cifar100",
        "head": "cmf",
        "milestones": (1,),
        "preset": "fig2",
        "batch_size": 64,
        "schedule": "cosine",
        "augment": (),
        "assignment": "best",
        "feature_dim": 4,
    }
    for name, value in others.items():
        with pytest.raises(UsageError, match=f"^{name} .*the run to resume has "):
            resumed(stored, {name: value})
    with pytest.raises(UsageError, match="automobile,cat,dog,truck"):
        resumed(stored, {"classes_subset": ("cat", "dog")})


@pytest.mark.parametrize(
    ("name", "path", "kept"),
    [
        ("data", "folder:/home/ada/tiny", "folder:tiny"),
        ("init_from", "/runs/first", "first"),
        ("head", "fixed:/codes/all.h5:square", "fixed:all.h5:square"),
        ("assignment", "/codes/places.txt", "places.txt"),
    ],
)
def test_a_path_may_be_given_again(name: str, path: str, kept: str | None) -> None:
    """config.json keeps the last part of an absolute path alone."""
    needed = {
        "assignment": {"head": "fixed:solve"},
        "similarity": {"head": "fixed:solve", "assignment": "best"},
    }.get(name, {})
    stored = _stored(**needed, **{name: path})
    if kept is not None:
        assert getattr(stored, name) == kept
    assert getattr(resumed(stored, {name: path}), name) == path
    moved = path.replace("/", "/elsewhere/", 1)
    assert getattr(resumed(stored, {name: moved}), name) == moved
    with pytest.raises(UsageError, match=f"^{name} "):
        resumed(stored, {name: path.rstrip("/") + "2"})


def test_what_the_caller_says_wins_over_the_file_also_where_it_is_the_default(
    tmp_path: Path,
) -> None:
    @configured
    @entry(Train)
    def call(train: Train) -> Train:
        return train

    config = tmp_path / "a.toml"
    config.write_text('device = "cuda:7"\nepochs = 3\n')
    assert call(config=config).device == "cuda:7"
    made = call(config=config, device="auto", epochs=None)
    assert (made.device, made.epochs) == ("auto", 3)
    with pytest.raises(UsageError, match=r"epochs -1 .*a\.toml' sets options too\)$"):
        config.write_text("epochs = -1\n")
        call(config=config)
