"""The places that benchmarks read and write; all are the same wherever a benchmark lies."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
"""The repository."""
WORK = ROOT / "benchmarks" / "work"
"""Rows and codes on the way to a result, which git ignores."""
RECORDS = ROOT / "benchmarks" / "records"
"""Ledgers and codes that are kept in git."""
RESULTS = ROOT / "benchmarks" / "RESULTS.md"
TABLE = ROOT / "data" / "known_codes" / "table.csv"
CERTIFICATES = ROOT / "data" / "known_codes" / "certificates"
