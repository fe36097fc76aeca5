"""Search states as plain arrays: through a code file and back, bit for bit."""

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from gnc_cli.geometry.active_pairs import ActivePairs
from gnc_cli.geometry.sphere import random_points
from gnc_cli.io.codefile import CodeFile, read_code, write_code
from gnc_cli.search.parametrisation import cyclic_orbits, free
from gnc_cli.search.problem import SoftmaxCode, Tammes
from gnc_cli.search.state import Candidate, Found, SearchState, from_plain, to_plain


def some_state(rng: np.random.Generator) -> SearchState:
    restricted = Tammes(cyclic_orbits(np.diag([-1.0, -1.0, 1.0]), 2, 6))
    pairs = ActivePairs(np.array([0, 1]), np.array([2, 3]))
    pool = [
        Candidate(0.1, random_points(rng, 6, 3), 1e-16, active=(pairs, np.array([0.5, 0.5]))),
        Candidate(
            0.2,
            restricted.whole(restricted.starts(rng, 1)[0]),
            restricted=restricted,
            origin="orbits of Z2",
        ),
    ]
    return SearchState(
        round=3,
        tasks=7,
        restarts=24,
        steps=900,
        idle=1,
        batches=20,
        hits=4,
        credit={"hop": 0.5},
        pool=pool,
        history=[(300, 0.3), (900, 0.1)],
        finds=[pool[0]],
        cut_restarts=5,
        cut_steps=6,
        ended={2: Found("hop", pool[:1], 16, 300, True, (0.25, 0.3)), 0: Found("shake", [])},
    )


def test_through_a_file(tmp_path: Path, rng: np.random.Generator) -> None:
    old = some_state(rng)
    file = tmp_path / "code.h5"
    write_code(file, CodeFile(weights=np.eye(3), state=to_plain(old)))
    stored = read_code(file).state
    assert stored is not None
    new = from_plain(stored, 3, 6)
    for name in (field.name for field in fields(SearchState)):
        if name not in ("pool", "finds", "ended"):
            assert getattr(new, name) == getattr(old, name)
    for a, b in zip(old.pool + old.finds, new.pool + new.finds, strict=True):
        assert (a.value, a.stationarity, a.origin) == (b.value, b.stationarity, b.origin)
        assert np.array_equal(a.whole, b.whole)
    for at, found in old.ended.items():
        assert replace(new.ended[at], candidates=[]) == replace(found, candidates=[])
    assert new.all_restarts == 24 + 5 + 16 and new.all_steps == 900 + 6 + 300
    (a,), (b,) = old.ended[2].candidates, new.ended[2].candidates
    assert a.value == b.value and np.array_equal(a.whole, b.whole)
    active, read_active = old.pool[0].active, new.pool[0].active
    assert active is not None and read_active is not None
    assert np.array_equal(active[0].b, read_active[0].b)
    assert np.array_equal(active[1], read_active[1])
    kept, read = old.pool[1].restricted, new.pool[1].restricted
    assert new.pool[0].restricted is None and kept is not None and isinstance(read, Tammes)
    unknown = kept.unknowns(old.pool[1].whole)
    assert np.array_equal(read.whole(unknown), kept.whole(unknown))
    empty = from_plain(to_plain(SearchState()), 3, 6)
    assert empty.pool == [] and empty.history == [] and empty.best is None


@pytest.mark.parametrize(
    "missing",
    [
        "round",
        "idle",
        "history",
        "pool/0",
        "pool/0/value",
        "pool/0/stationarity",
        "ended/2/found",
        "ended/2/found/0/value",
    ],
)
def test_damaged_states_are_refused(missing: str, rng: np.random.Generator) -> None:
    plain = to_plain(some_state(rng))
    with pytest.raises(ValueError, match=r"\(6, 3\), not \(7, 3\)"):
        from_plain(plain, 3, 7)
    *path, last = missing.split("/")
    place = plain
    for key in path:
        place = place[key]
    del place[last]
    with pytest.raises(KeyError):
        from_plain(plain, 3, 6)


def test_softmax_states_hold_weights_and_features(rng: np.random.Generator) -> None:
    problem = SoftmaxCode(free(3, 6))
    whole = problem.whole(problem.starts(rng, 1)[0])
    state = SearchState(pool=[Candidate(-0.5, whole)])
    again = from_plain(to_plain(state), 3, 6, separate=True)
    assert again.pool[0].whole.shape == (12, 3) and np.array_equal(again.pool[0].whole, whole)
