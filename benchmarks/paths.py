"""The places that benchmarks read and write; all are the same wherever a benchmark lies."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
"""The repository."""
WORK = ROOT / "benchmarks" / "work"
"""Rows and codes on the way to a result, which git ignores."""


def version() -> str:
    """Return the last commit that changed `gnc_cli`; `+` marks changes that are not committed."""
    commit, changed = (
        subprocess.run(["git", *words], cwd=ROOT, check=False, capture_output=True, text=True)
        for words in (
            ["log", "-1", "--format=%h", "--abbrev=8", "--", "gnc_cli"],
            ["status", "--porcelain", "--", "gnc_cli"],
        )
    )
    return (commit.stdout.strip() or "unknown") + "+" * bool(changed.stdout.strip())


MEASURED = WORK / version()
"""Rows that become a section of RESULTS.md: a folder per version, so that no section mixes two."""
RECORDS = ROOT / "benchmarks" / "records"
"""Ledgers and codes that are kept in git."""
RESULTS = ROOT / "benchmarks" / "RESULTS.md"
TABLE = ROOT / "data" / "known_codes" / "table.csv"
CERTIFICATES = ROOT / "data" / "known_codes" / "certificates"
