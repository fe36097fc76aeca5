"""Short forms of sources (`known_codes.citation`)."""

from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.known_codes.citation import cite, standing
from gnc_cli.known_codes.table import numerical_codes, our_copy

SOURCES = sorted(
    {
        source
        for table in (our_copy(), numerical_codes())
        for entry in table.entries.values()
        for source in (entry.source, entry.optimality)
        if source
    }
)


def test_every_source_of_the_tables_becomes_no_longer() -> None:
    for source in SOURCES:
        short = cite(source)
        assert short and len(short) <= len(source), source
        assert cite(short) == short, source


@given(st.sampled_from(SOURCES), st.integers(1, 500), st.integers(1, 24), st.integers(2, 600))
def test_a_part_of_a_larger_code_keeps_its_words(source: str, part: int, d: int, K: int) -> None:
    words = f"first {part} points of ({d}, {K}): "
    assert cite(words + source) == words + cite(source)


def test_whole_sources_of_an_optimum() -> None:
    source = "R. A. Rankin, The closest packing of spherical caps, 1955"
    assert standing(True, source, whole=True) == f"proved optimal ({source})"
