"""The documents keep their word: every page runs, links lead somewhere, and all speak plainly."""

import doctest
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer

import gnc_cli
from gnc_cli import schemas
from gnc_cli.cli import app
from gnc_cli.records import VIEWS
from tests.documents import PAGES, ROOT, Block, outputs, runnable
from tests.reference import with_tables

DOCUMENTS = [
    *(str(page.relative_to(ROOT)) for page in PAGES),
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "CITATION.cff",
    "CODE_OF_CONDUCT.md",
    "SECURITY.md",
    "action.yml",
    ".github/dependabot.yml",
    ".github/workflows/tests.yml",
    ".github/workflows/site.yml",
    ".github/workflows/release.yml",
    "recipe/recipe.yaml",
    "LICENSE",
    "Makefile",
    "benchmarks/NOTES.md",
    "benchmarks/README.md",
    "benchmarks/RESULTS.md",
    ".pre-commit-config.yaml",
    ".readthedocs.yaml",
    "constraints.txt",
    "requirements-no-torch.txt",
    "pyproject.toml",
    "data/known_codes/SOURCES.md",
    "paper/paper.md",
    "paper/paper.bib",
    "paper/theorem.md",
    ".ci/run",
    "docs/conf.py",
]

BESIDE = [ROOT / name for name in ("CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md")]
"""Pages for those who take part."""

_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_EXACT = ("one-vs-rest distance", "one-vs-one distance", "largest cosine")
"""Rows of a solve whose numbers any machine finds; the others hang on rounding and speed."""
_EVERY_DIGIT = ("gnc measure run.h5", "gnc bounds")
"""The example of the first is made from a code of fixed coordinates, the second is exact: any
machine finds every digit shown."""


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


ELSEWHERE = ("trainers.md", "language-model-head.md")
"""Pages for frameworks: see test_training_loop.py and those in tests/integrations."""
COMMANDS = [page for page in PAGES if runnable(page) and page.name not in ELSEWHERE]


@pytest.mark.parametrize("page", COMMANDS, ids=_name)
def test_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in runnable(page):
        if block.language == "python":
            _run_python(block, names)
        else:
            _run_shell(block, tmp_path)


def test_a_command_has_one_output_on_all_pages() -> None:
    """Two recorded runs of one command would show different seconds."""
    shown: dict[tuple[str, ...], tuple[Path, list[str]]] = {}
    for page in COMMANDS:
        for block in [block for block in runnable(page) if block.language == "console"]:
            for place, (_, told) in enumerate(block.commands):
                first, expected = shown.setdefault(block.until(place), (page, told))
                assert told == expected, f"{page} and {first}: {block.until(place)[-1]}"


def _run_python(block: Block, names: dict[str, Any]) -> None:
    if block.note == "run as a whole":
        exec(block.statements, names)
        return
    told: list[str] = []
    example = doctest.DocTestParser().get_doctest(block.text, names, "page", None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert runner.run(example, out=told.append, clear_globs=False).failed == 0, "".join(told)
    names |= example.globs


def _run_shell(block: Block, folder: Path) -> None:
    """Each command as written, plus what the note above the block adds to keep it short."""
    following = [command for command, _ in block.commands[1:]] + [""]
    shown = [output for _, output in block.commands]
    ran = outputs(block, folder, shorter=True)
    for (command, told, status), expected, after in zip(ran, shown, following, strict=True):
        assert command == "echo $?" or status == 0 or after == "echo $?", f"{command}\n{told}"
        if expected:
            _agree(expected, told, every_digit=command.startswith(_EVERY_DIGIT))


def _agree(shown: list[str], live: list[str], *, every_digit: bool = False) -> None:
    """The same words, and the same numbers where numbers do not hang on the machine."""
    shown, live = _without_blank_ends(shown), _without_blank_ends(live)
    if every_digit:
        assert [_without_bracket(line) for line in shown] == [_without_bracket(s) for s in live]
        return
    shown, live = _without_forms(shown), _without_forms(live)
    assert [_words(line) for line in shown] == [_words(line) for line in live]
    for ours, theirs in zip(shown, live, strict=True):
        if ours.startswith(_EXACT):
            pasted, found = (float(re.findall(_NUMBER, line)[0]) for line in (ours, theirs))
            assert found == pytest.approx(pasted, abs=1e-9), ours


def _without_blank_ends(lines: list[str]) -> list[str]:
    return "\n".join(line.rstrip() for line in lines).strip("\n").splitlines()


def _without_forms(lines: list[str]) -> list[str]:
    """Leave out which forms are centred: a training cut short may still show GNC3 centred."""
    text = re.sub(r"^centred: .*\n\n", "", "\n".join(lines), flags=re.MULTILINE)
    return text.replace(" centred", "").splitlines()


def _without_bracket(line: str) -> str:
    """The line without the width of a certificate, which is rounding error."""
    return re.sub(f"bracket {_NUMBER}", "bracket", line)


def _words(line: str) -> str:
    """The first cell of a table's row, or a whole sentence; numbers as `#`."""
    return re.sub(_NUMBER, "#", re.split(r"\s{2,}", line.strip())[0])


def test_shares_of_trained_networks_are_those_of_the_measured_results() -> None:
    """Of the largest known distance, which is still that of `bounds`."""
    page = (ROOT / "docs/guides/choosing.md").read_text(encoding="utf-8")
    measured = (ROOT / "benchmarks/RESULTS.md").read_text(encoding="utf-8")
    row = r"^\| ([\d,]+) \| (\d+) \| .* \| ([.\d]+) \| ([.\d]+) \| (\d+) % \|$"
    rows = re.findall(row, page, re.MULTILINE)
    assert len(rows) == 7
    for K, d, gnc2, known, share in rows:
        best = gnc_cli.bounds(d=int(d), K=K.replace(",", "")).best[0]
        assert known == f"{best.lower:.3f}"
        assert f" | {gnc2} | {known} | " in measured
        assert int(share) == round(100 * float(gnc2) / float(known))


def test_the_paper_has_the_form_of_its_journal_and_cites_measured_values() -> None:
    """Of the Journal of Open Source Software: sections, length, and a source for each citation."""
    text = (ROOT / "paper/paper.md").read_text(encoding="utf-8").split("---", 2)[2]
    sources = (ROOT / "paper/paper.bib").read_text(encoding="utf-8")
    assert re.findall(r"^# (.*)$", text, re.MULTILINE) == [
        "Summary",
        "Statement of need",
        "State of the field",
        "Software design",
        "Research impact statement",
        "AI usage disclosure",
        "Acknowledgements",
        "References",
    ]
    assert 750 <= len(text.split()) <= 1750
    cited = set(re.findall(r"@(\w+)", text))
    assert cited == set(re.findall(r"^@\w+\{(\w+),", sources, re.MULTILINE))
    measured = (ROOT / "benchmarks/RESULTS.md").read_text(encoding="utf-8")
    _, impact, _ = re.split(r"^# (?:Research impact|AI usage).*$", text, flags=re.MULTILINE)
    numbers = re.findall(r"\d+\.\d+(?:e-\d+)?|\d+,\d+", impact)
    assert len(numbers) > 10
    assert [number for number in numbers if number not in measured] == []


def test_each_record_of_the_json_has_one_table_with_all_its_keys() -> None:
    """A key stands in the table of its record, or in the line of those of another record."""
    text = (ROOT / "docs/reference/json.md").read_text(encoding="utf-8")
    names = re.findall(r"^### (\w+)$", text, re.MULTILINE)
    assert len(names) == len(set(names))
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL))
    for command in VIEWS:
        for name, record in schemas.load(command)["$defs"].items():
            for key in record.get("properties", {}).keys() - {"seconds"}:
                assert f"`{key}`" in sections[name], f"{name}: {key}"


def _commands() -> list[tuple[str, Any]]:
    group: Any = typer.main.get_command(app)
    return [(name, group.get_command(None, name)) for name in group.commands]


def test_every_command_and_option_has_help() -> None:
    for name, command in _commands():
        assert command.help, name
        for parameter in command.params:
            assert parameter.help, f"{name} {parameter.opts}"
            assert parameter.help.endswith("."), f"{name} {parameter.opts}"


def test_every_json_key_is_explained() -> None:
    for command in VIEWS:
        schema = schemas.load(command)
        for record in [*schema["anyOf"], *schema["$defs"].values()]:
            for key, part in record.get("properties", {}).items():
                if key not in ("schema", "command", "version", "d", "K"):
                    assert "description" in part, f"{command}: {key}"


@pytest.mark.parametrize(
    "page", [p for p in PAGES if "<!-- table: " in p.read_text("utf-8")], ids=_name
)
def test_tables_of_the_reference_are_the_program_s(page: Path) -> None:
    """`python -m tests.reference` writes them."""
    text = page.read_text(encoding="utf-8")
    assert text.count("<!-- table: ") == text.count("<!-- end of table -->")
    assert with_tables(text) == text


def test_citation_names_this_version_and_the_paper() -> None:
    text = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {gnc_cli.__version__}\n" in text
    assert "10.48550/arXiv.2310.05351" in text


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_speak_of_the_project_alone(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    machine = r"/(?:work|root|tmp|home|opt)/"
    registry = r"\b(?:pypi|anaconda)\.org|pythonhosted|download\.pytorch"
    assert not re.findall(f"{machine}|{registry}", text)


def test_documents_link_to_files_and_headings_that_exist() -> None:
    for page in [*PAGES, *BESIDE]:
        text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        for target, anchor in re.findall(r"\]\((?!https?://)([^)#]*)(?:#([^)]*))?\)", text):
            linked = page.parent / target if target else page
            assert linked.exists(), f"{page}: {target}"
            assert not anchor or anchor in _anchors(linked), f"{page}: {target}#{anchor}"


def _anchors(page: Path) -> list[str]:
    """The names of the headings of a page in links."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]


def test_readme_in_a_package_index_links_to_no_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for rule in project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(rule["pattern"], rule["replacement"], text)
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert links and all(link.startswith("https://") for link in links)
    paths = re.findall(r"\(`([^`]*)`\)", text)
    assert "docs/install.md" in paths and all((ROOT / path).exists() for path in paths)
    assert "<!--" not in text


def test_readme_counts_the_improved_values_as_the_audit_does() -> None:
    records = (ROOT / "benchmarks/RECORDS.md").read_text(encoding="utf-8")
    (improved,) = re.findall(r"<!-- summary -->\n.*\n.*\n\| (\d+) \|", records)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"[{improved} codes that improve on published" in readme and "| 9, 72 |" in records


def test_the_gallery_shows_the_commands_that_draw_it() -> None:
    """There is one copy of each plot, in docs/gallery, and make.sh draws it."""
    folder = ROOT / "docs/gallery"
    page = (ROOT / "docs/gallery.md").read_text(encoding="utf-8")
    script = (folder / "make.sh").read_text(encoding="utf-8")
    commands = re.findall(r"^draw (gnc [^|\n]*[^|\s])", script, re.MULTILINE)
    for command in commands:
        assert f"`{command}`" in page, command
    drawn = [name for command in commands for name in re.findall(r"--plot (\S+)", command)]
    assert sorted(drawn) == sorted(path.name for path in folder.glob("*.png"))
    assert not [*(ROOT / "docs").glob("*.png")]
