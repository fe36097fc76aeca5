"""The files for those who publish, install, gate and cite: they parse, fit each other, and name
what only the owner of the project knows."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import yaml
from packaging.requirements import Requirement

import gnc_cli
from tests.documents import ROOT, blocks

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml"))
FOR_CONDA = {"torch": "pytorch", "matplotlib": "matplotlib-base"}


def _yaml(path: str | Path) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def test_the_checklist_names_each_file_that_the_owner_fills_in() -> None:
    table = CONTRIBUTING.partition("## A release")[2].partition("\n\n1.")[0]
    named = {name for row in re.findall(r"^\| (`.*?) \|", table, re.M) for name in row.split(", ")}
    texts = (
        path
        for place in (".", ".github", "docs", "paper", "recipe")
        for path in (ROOT / place).glob("*" if place in (".", "recipe") else "**/*")
        if path.suffix in (".md", ".cff", ".toml", ".yml", ".yaml", ".py")
    )
    found = {
        f"`{path.relative_to(ROOT)}`"
        for path in texts
        if re.search(r"\bOWNER\b", path.read_text(encoding="utf-8"))
    }
    assert found - {"`CONTRIBUTING.md`"} == named


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_do_little_and_ends(path: Path) -> None:
    workflow = _yaml(path)
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert job["timeout-minutes"] <= 180, name
        for step in job["steps"]:
            if "actions/checkout" in step.get("uses", ""):
                assert step["with"]["persist-credentials"] is False
            # What others may write (titles, branches) reaches a shell as a variable alone.
            assert "${{" not in step.get("run", ""), step


def test_workflows_run_what_is_there() -> None:
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    extras = PROJECT["optional-dependencies"]
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        assert set(re.findall(r"\bmake (\w+)", text)) <= {*targets}
        assert set(re.findall(r"\.\[(\w+)\]", text)) <= {*extras}
    matrix = _yaml(WORKFLOWS[-1])["jobs"]["tests"]["strategy"]["matrix"]
    assert len(matrix["system"]) == 3
    assert PROJECT["requires-python"] == f">={matrix['python'][0]}"


def test_the_pythons_that_are_named_are_those_that_are_tested() -> None:
    workflow, check = _yaml(WORKFLOWS[-1])["jobs"], (ROOT / ".ci/run").read_text(encoding="utf-8")
    *earlier, last = tested = workflow["tests"]["strategy"]["matrix"]["python"]
    named = "\n".join(PROJECT["classifiers"])
    assert re.findall(r"Python :: (3\.\d+)$", named, re.M) == tested
    assert re.findall(r"^step 'python (3\.\d+)", check, re.M) == tested[1:]
    assert workflow["everything"]["container"] == f"python:{tested[0]}-bookworm"
    for page, word in (("README.md", "or"), ("docs/install.md", "and")):
        text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
        assert f"Python {', '.join(earlier)} {word} {last}." in text


def test_the_requirements_without_torch_are_all_others() -> None:
    lines = (ROOT / "requirements-no-torch.txt").read_text(encoding="utf-8").splitlines()
    needed = {Requirement(text).name for text in PROJECT["dependencies"]} - {"torch", "geoopt"}
    assert [line for line in lines if line[0] != "#"] == ["-c constraints.txt", *sorted(needed)]


def test_settings_of_services_lead_to_what_is_there() -> None:
    """`make files` compares them with their schemas."""
    hooks = _yaml(".pre-commit-config.yaml")["repos"][0]["hooks"]
    assert [hook["entry"].split()[:2] for hook in hooks] == [["ruff", "check"], ["ruff", "format"]]
    site = _yaml(".readthedocs.yaml")
    assert (ROOT / site["sphinx"]["configuration"]).exists()
    assert '".[docs]"' in site["build"]["jobs"]["install"][-1]
    assert {entry["directory"] for entry in _yaml(".github/dependabot.yml")["updates"]} == {"/"}


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_a_form_asks_for_what_it_needs(path: Path) -> None:
    form = _yaml(path)
    assert form["name"] and form["description"] and form["body"]
    assert all(part["attributes"]["label"] and part["id"] for part in form["body"])
    assert path.name != "bug.yml" or "--version -v" in path.read_text(encoding="utf-8")


def test_the_recipe_asks_for_what_pip_does() -> None:
    recipe = _yaml("recipe/recipe.yaml")
    wanted = {Requirement(text) for text in PROJECT["dependencies"]}
    texts = {f"{FOR_CONDA.get(w.name, w.name)} {w.specifier}" for w in wanted}
    needed = {*recipe["requirements"]["run"]} - {f"python {PROJECT['requires-python']}"}
    assert needed == texts
    assert recipe["context"]["version"] == gnc_cli.__version__
    assert recipe["build"]["python"]["entry_points"] == [f"gnc = {PROJECT['scripts']['gnc']}"]


@pytest.mark.parametrize("hook", _yaml(".pre-commit-hooks.yaml"), ids=lambda hook: hook["id"])
def test_a_hook_runs_a_command(hook: dict[str, Any]) -> None:
    program, command, *_ = hook["entry"].split()
    assert program == "gnc" and hasattr(gnc_cli, command)
    assert re.search(hook["files"], f"runs/{'codes/a' if command == 'compare' else 'features'}.h5")
    assert hook["require_serial"] and not re.search(hook["files"], "src/barcodes/a.npy")


def test_the_action_is_used_as_the_tutorial_says() -> None:
    page = (ROOT / "docs/tutorials/ci.md").read_text(encoding="utf-8")
    workflow, hooks = (yaml.safe_load(block.text) for block in blocks(page, "yaml")[1:])
    step = workflow["jobs"]["gate"]["steps"][-1]
    assert {*step["with"]} <= {*ACTION["inputs"]}
    required = {name for name, value in ACTION["inputs"].items() if value["required"]}
    assert required <= {*step["with"]}
    assert step["uses"].endswith(f"@v{gnc_cli.__version__}")
    ids = {hook["id"] for hook in _yaml(".pre-commit-hooks.yaml")}
    assert {hook["id"] for hook in hooks["repos"][0]["hooks"]} <= ids


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ("--min gnc2_ratio=0.5", 0),
        ("--min gnc2_ratio=0.9", 5),
        ("--min gnc2_ratio=0.9 --rows last", 0),
    ],
)
def test_the_action_gates_and_reports(tmp_path: Path, options: str, status: int) -> None:
    """The step that measures, run as GitHub does; the last one ends with its status. Every file is
    judged, a good one after a bad one too."""
    weights = gnc_cli.solve(d=3, K=6).weights
    for name, rows in (("the bad", weights + 0.3), ("the good", weights)):
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            file["features"], file["labels"] = np.repeat(rows, 5, axis=0), np.repeat(range(6), 5)
            file["weights"] = rows
    steps = {step.get("id", str(at)): step for at, step in enumerate(ACTION["runs"]["steps"])}
    files = {"GITHUB_OUTPUT": tmp_path / "output", "GITHUB_STEP_SUMMARY": tmp_path / "summary"}
    given = {"FILES": "'the bad.h5' 'the good.h5'", "OPTIONS": options, "RUNNER_TEMP": tmp_path}
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    script = [sys.executable, "-c", steps["measure"]["run"]]
    variables = {name: str(value) for name, value in {**files, **given, "PATH": path}.items()}
    subprocess.run(script, cwd=tmp_path, env={**os.environ, **variables}, check=True)
    report = tmp_path / "gnc-report.md"
    assert files["GITHUB_OUTPUT"].read_text() == f"exit-code={status}\nreport={report}\n"
    assert "GNC2" in files["GITHUB_STEP_SUMMARY"].read_text() == report.read_text()
    assert list(steps.values())[-1]["run"] == 'exit "$STATUS"'


@pytest.mark.parametrize(
    ("earlier", "fork", "call"),
    [
        ("", False, "api repos/o/r/issues/7/comments -F"),
        ("31", False, "api -X PATCH repos/o/r/issues/comments/31 -F"),
        ("", True, ""),
    ],
)
def test_the_action_replaces_its_own_comment(
    tmp_path: Path, earlier: str, fork: bool, call: str
) -> None:
    """Where the token may not write, as in pull requests from forks, the step warns."""
    (step,) = (step for step in ACTION["runs"]["steps"] if "GH_TOKEN" in step.get("env", {}))
    gh = tmp_path / "gh"
    gh.write_text(
        f'#!/bin/bash\ncase "$*" in *--jq*) echo "{earlier}" ;;\n'
        f'*) echo "$*" >> calls; exit {int(fork)} ;; esac\n'
    )
    gh.chmod(0o755)
    (tmp_path / "report.md").write_text("a report\n")
    variables = {"NUMBER": "7", "GITHUB_REPOSITORY": "o/r", "REPORT": "report.md"}
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    run = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", step["run"]],
        cwd=tmp_path,
        env={**os.environ, **variables, "RUNNER_TEMP": str(tmp_path), "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ("::warning::" in run.stdout) == fork
    assert call in (tmp_path / "calls").read_text()
    assert (tmp_path / "gnc-comment.md").read_text() == "<!-- gnc -->\na report\n"
