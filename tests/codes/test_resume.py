"""Search states as plain arrays: through a code file and back, bit for bit."""

from pathlib import Path

import numpy as np
import pytest

from gnc_cli.codes.candidates import Candidate, SearchState
from gnc_cli.codes.layout import free, orbits
from gnc_cli.codes.resume import from_plain, to_plain
from gnc_cli.codes.softmax_code import SoftmaxCode
from gnc_cli.codes.tammes import Tammes
from gnc_cli.io.codefile import CodeFile
from gnc_cli.io.gncfile import read_code, write_code
from gnc_cli.numerics.sphere import random_points


def some_state(rng: np.random.Generator) -> SearchState:
    over = Tammes(free(3, 6)).with_layout(orbits(np.diag([-1.0, -1.0, 1.0]), 2, 6))
    pool = [
        Candidate(0.1, random_points(rng, 6, 3), 1e-16, 2e-16),
        Candidate(0.2, over.whole(over.starts(rng, 1)[0]), np.inf, np.inf, over),
    ]
    return SearchState(3, 24, 900, 1, pool, [(300, 0.3), (900, 0.1)])


def test_through_a_file(tmp_path: Path, rng: np.random.Generator) -> None:
    old = some_state(rng)
    file = tmp_path / "code.h5"
    write_code(file, CodeFile(weights=np.eye(3), state=to_plain(old)))
    stored = read_code(file).state
    assert stored is not None
    new = from_plain(stored, 3, 6)
    assert (new.round, new.restarts, new.steps, new.idle) == (3, 24, 900, 1)
    assert new.history == old.history
    for a, b in zip(old.pool, new.pool, strict=True):
        assert (a.value, a.stationarity, a.gap) == (b.value, b.stationarity, b.gap)
        assert np.array_equal(a.whole, b.whole) and a.polished == b.polished
    kept, read = old.pool[1].over, new.pool[1].over
    assert new.pool[0].over is None and kept is not None and read is not None
    assert isinstance(read, Tammes)
    unknown = old.pool[1].whole[kept.layout.own]
    assert np.array_equal(read.whole(unknown), kept.whole(unknown))
    empty = from_plain(to_plain(SearchState()), 3, 6)
    assert empty.pool == [] and empty.history == [] and empty.best is None


def test_codes_of_another_size_are_refused(rng: np.random.Generator) -> None:
    plain = to_plain(some_state(rng))
    with pytest.raises(ValueError, match=r"\(6, 3\), not \(7, 3\)"):
        from_plain(plain, 3, 7)


@pytest.mark.parametrize(
    "missing", ["round", "pool/0/value", "pool/0/stationarity", "pool/0/gap", "history", "idle"]
)
def test_missing_parts_are_refused(missing: str, rng: np.random.Generator) -> None:
    plain = to_plain(some_state(rng))
    *path, last = missing.split("/")
    place = plain
    for key in path:
        place = place[key]
    del place[last]
    with pytest.raises(KeyError):
        from_plain(plain, 3, 6)


def test_a_shorter_list_is_refused(rng: np.random.Generator) -> None:
    plain = to_plain(some_state(rng))
    del plain["pool"]["0"]  # a gap in the numbering
    with pytest.raises(KeyError):
        from_plain(plain, 3, 6)


def test_softmax_states_hold_weights_and_features(rng: np.random.Generator) -> None:
    problem = SoftmaxCode(free(3, 6))
    whole = problem.whole(problem.starts(rng, 1)[0])
    state = SearchState(pool=[Candidate(-0.5, whole)])
    again = from_plain(to_plain(state), 3, 6, separate=True)
    assert again.pool[0].whole.shape == (12, 3) and np.array_equal(again.pool[0].whole, whole)
