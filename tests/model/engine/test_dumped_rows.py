"""A checkpoint holds each row of the rules that was filled, wherever its cell lies, and no
other.
"""

import pytest

from groupcheck.model.engine import Spec, array, invariant, rule, single, urgent, view
from groupcheck.model.engine.fast import packed
from groupcheck.model.engine.fast.search import Search


@rule
def raise_(n, lamp):
    if n < 9:
        yield n + 1, lamp
        yield n + 1, 1 - lamp


@rule("up", "down")
def turn(n, top):
    if n % 2:
        yield "up", n, top + 1
        yield "down", n - 1, 0


@urgent
def fall(top):
    if top == 3:
        yield 0


@view
def is_lit(lamp):
    return lamp == 1


@invariant
def always(lit: "is_lit[i]", top):
    return top < 4 or lit


SLOTS = {"n": single(0), "top": single(0), "lamp": array(2, 0)}
SPEC = Spec("dumped", SLOTS, [raise_, turn, fall], invariants=[always], views=[is_lit])


def rows(tape, inputs):
    """(table, numbers of its inputs) -> its outcomes, each a label and new numbers."""
    found, at = {}, 0
    while at < len(tape):
        table, count, width = tape[at], tape[at + 1], len(inputs[tape[at]])
        first = at + 2 + width
        key = (table, *tape[at + 2 : first])
        at = first + count * (1 + width)
        assert key not in found
        found[key] = [tuple(tape[o : o + 1 + width]) for o in range(first, at, 1 + width)]
    assert at == len(tape)
    return found


def searched():
    """A search that has expanded everything."""
    search, done = Search(SPEC), 0
    search.begin()
    while done < search.log.states:
        done = search.stretch(done, search.log.states)
    return search


def called(search):
    """What the rules say of each row that was filled, from the tables of Python."""
    places = {}
    for place in range(search.log.states):
        ids = search.log.ids(place)
        for table, inputs in enumerate(search.tables.rules):
            if table < search.tables.ordinary:
                places[(table, *[ids[k] for k in inputs.inputs])] = place
    out = {}
    for key, place in places.items():
        tape = []
        search.rows.row(key[0], key[1:], place, tape)
        out |= rows(tape, search.packed.shape.inputs)
    return out


@pytest.mark.parametrize("keyed", [0, 4, packed.KEYED_BITS])  # none by a key, some, all
@pytest.mark.parametrize("limit", [0, 3, packed.DENSE_BITS])  # all by hash, some, none
def test_every_filled_row_is_dumped_once_with_its_outcomes(monkeypatch, limit, keyed):
    monkeypatch.setattr(packed, "KEYED_BITS", keyed)
    monkeypatch.setattr(packed, "DENSE_BITS", limit)
    monkeypatch.setattr(packed, "SMALL_BITS", limit)
    search = searched()
    shape = search.packed.shape
    hashed = {search.packed.is_hashed[k] for k in range(shape.rules)}
    assert hashed == {0: {True}, 3: {True, False}}.get(limit, {False})
    dumped = rows(search.packed.dump().tolist(), shape.inputs)
    assert len(dumped) == sum(search.packed.filled[: shape.rules])
    ordinary = {key: row for key, row in dumped.items() if key[0] < shape.to_ordinary}
    assert ordinary == called(search)
    assert any(ordinary.values())
    assert not all(ordinary.values())
