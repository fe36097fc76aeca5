"""The package, the pages and the help keep to the list of words, `tests/words.toml`."""

from collections import defaultdict

import pytest

from tests.words import (
    ROOT,
    Fault,
    bound_names,
    code_faults,
    faults,
    files,
    folder,
    page_faults,
    words,
)

FOLDERS = {folder(path.relative_to(ROOT).as_posix()) for path in files()}


@pytest.fixture(scope="module")
def by_folder() -> dict[str, list[Fault]]:
    found = defaultdict(list)
    for path in files():
        for fault in faults(path):
            found[folder(fault.path)].append(fault)
    return found


@pytest.mark.parametrize("name", sorted(FOLDERS))
def test_a_folder_is_clean(name: str, by_folder: dict[str, list[Fault]]) -> None:
    assert not by_folder.get(name), "\n".join(map(str, by_folder[name]))


def test_public_names_are_bound_where_the_list_says() -> None:
    for file, name in words().public:
        assert name in bound_names((ROOT / file).read_text("utf-8")), f"{file} has no {name}"


CODE = '''"""What it is."""
# A bare adjective, and a picture.
_NEAR = _LONGEST = 3
MAX_ROWS = 2
"""Rows at most; `anew` and the paper's figure are fine."""

class Thing:
    """A thing, held
    against another."""
    own: int = 0
    """Whether it is."""

    @property
    def size(self) -> int:
        """Number of rows."""

def of_rows(at, x):
    """The rows.

    >>> beside = 1
    """
    for where in at:
        where = f"{x} programmes run"

def rows():
    """Return a row."""
    raise ValueError("mend it", "picture")
'''


def test_faults_of_code_are_found_in_their_lines() -> None:
    found = {(fault.line, fault.kind, fault.word) for fault in code_faults("a_picture.py", CODE)}
    assert found == {
        (1, "first word", "What"),
        (1, "name", "picture"),
        (2, "word", "picture"),
        (3, "constant", "_LONGEST"),
        (3, "name", "_NEAR"),
        (8, "word", "held against"),
        (10, "name", "own"),
        (11, "first word", "Whether"),
        (17, "name", "at"),
        (17, "name", "of_rows"),
        (18, "verb", "The"),
        (22, "name", "where"),
        (23, "word", "programmes"),
        (27, "word", "mend"),
    }


PAGE = """# A picture

The paper's figure 3, `beside`, figures.py and the
codes from
algebra.

```
programme
```
:::{note}
anew
:::
"""


def test_faults_of_pages_are_found_in_their_lines() -> None:
    found = [(fault.line, fault.word) for fault in page_faults("page.md", PAGE)]
    assert found == [(1, "picture"), (4, "codes from algebra"), (11, "anew")]
