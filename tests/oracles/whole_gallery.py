"""The score of all known bugs, which `make nightly` runs: each bug is searched for again for
each promise that it breaks.
"""

from __future__ import annotations

from groupcheck.model.mutations import all_mutations
from groupcheck.oracles.check.score import score

EVERY = all_mutations()


def test_every_bug_breaks_the_promises_that_it_names_and_every_promise_finds_a_bug() -> None:
    whole = score(EVERY)
    assert whole.idle == ()
    assert [one.mutation for one in whole.killed] == list(EVERY)
    for one in whole.killed:
        assert one.mutation.invariant in one.invariants
        assert (one.mutation.progress in one.progress) == bool(one.mutation.progress)
