"""Of equal values of slots the one that came first, and what a large group would cost otherwise."""

from __future__ import annotations

import gc

import pytest
from attrs import field, frozen

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.consumer.memory import Seat, State
from groupcheck.model.protocol.consumer.messages import Kind, Link, Request
from groupcheck.oracles.simulate import Setup, simulate
from groupcheck.oracles.simulate.interning import Interner


def test_the_first_of_equal_values_stands_for_all() -> None:
    kept = Interner()

    def link(owned: int) -> Link:
        return Link(out=Request(Kind.BEAT, owned=owned), static=True, wants=(1 << owned, 0))

    first = link(3)
    assert kept(first) is first and kept(link(3)) is first
    assert kept(link(4)) is not first and kept(evolve(first, out=None)) is not first
    assert kept(evolve(link(3), static=False)) is not first
    assert kept(None) is None and kept(5) == 5


def test_values_of_other_classes_are_never_one() -> None:
    @frozen
    class Other:
        state: State = State.STABLE

    @frozen
    class Another:
        state: State = State.STABLE

    kept = Interner()
    assert kept(Other()) == Other() and kept(Another()) == Another()
    assert type(kept(Another())) is Another


def test_a_class_that_compares_in_its_own_way_does_so_here() -> None:
    @frozen
    class Rounded:
        value: float = field(eq=round)

    kept = Interner()
    first = kept(Rounded(1.1))
    assert kept(Rounded(0.9)) is first and kept(Rounded(1.9)) is not first


def test_masks_of_partitions_that_lie_61_apart_do_not_share_a_hash() -> None:
    seats = [Seat(assigned=1 << k, target=1 << k) for k in range(0, 61 * 40, 61)]
    assert len({hash(seat) for seat in seats}) == 1, "what makes this necessary"
    kept = Interner()
    kept(Seat())  # its parts are known from now on
    assert len({hash(kept._keys[Seat](seat)) for seat in seats}) == len(seats)


@pytest.mark.parametrize("collects", [True, False])
def test_a_run_leaves_the_collector_as_it_was(collects: bool) -> None:
    seen = set()
    was = gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        small = Setup(variant="consumer", members=2, partitions=2)
        simulate(small, lambda *_: seen.add(gc.isenabled()))
        assert seen == {False} and gc.isenabled() == collects
    finally:
        (gc.enable if was else gc.disable)()
