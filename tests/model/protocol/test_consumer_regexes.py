"""Regular expressions of consumer groups (KIP-848) that are resolved in the background: what holds,
how many states there are, and where Kafka does not keep it.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from groupcheck.model.engine import ScopeError, Spec, reference
from groupcheck.model.engine.staged import explore
from groupcheck.model.engine.verdict import HOLDS, VIOLATED
from groupcheck.model.protocol.consumer.memory import Core
from groupcheck.model.protocol.consumer.regexes import (
    Age,
    Regexes,
    Task,
    resolution_ends,
    started,
    time_passes,
)
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.model.protocol.faults import Budget
from groupcheck.oracles.explain.subject import subject

ONE: dict[str, Any] = {
    "members": 1,
    "topics": 2,
    "partitions": 1,
    "regexes": 2,
}
TWO: dict[str, Any] = {**ONE, "members": 2, "regexes": 1}
LAST = 0b10  # the partition of the last topic
BOTH = 0b11


def group(**fields: Any) -> Spec:
    return subject("consumer", **fields).spec


@pytest.mark.parametrize(
    ("fields", "states", "transitions"),
    [
        ({**ONE, "faults": {"subscription": 1, "metadata": 2}}, 12_551, 46_944),
        ({**TWO, "restricted": True}, 8_556, 36_408),
        pytest.param(
            {**TWO, "restricted": True, "any_faults": 1},
            446_350,
            2_366_873,
            marks=pytest.mark.night,
        ),
        pytest.param(
            {**TWO, "faults": {"metadata": 2}}, 494_992, 2_683_289, marks=pytest.mark.night
        ),
    ],
    ids=str,
)
def test_expressions_mean_what_they_match(
    fields: dict[str, Any], states: int, transitions: int
) -> None:
    verdict = explore(group(**fields))
    assert verdict.verdict == HOLDS
    assert (verdict.states, verdict.transitions) == (states, transitions)


def test_both_engines_tell_the_same_of_expressions() -> None:
    spec = group(**{**ONE, "faults": {"append_failure": 1, "metadata": 1}})
    fast, plain = explore(spec), reference.explore(spec)
    assert (fast.verdict, fast.states, fast.transitions) == (
        plain.verdict,
        plain.states,
        plain.transitions,
    )
    assert fast.rules == plain.rules


@pytest.mark.parametrize(
    ("fields", "promise", "depth"),
    [
        ({"restricted": True, "k34": "as_kafka"}, "expression_means_what_it_matches", 6),
        ({"restricted": True, "k34": "as_kafka"}, "given_can_be_consumed", 6),
        ({"topics": 1, "faults": {"close": 1}, "k35": "as_kafka"}, "plan_is_legal", 7),
        ({"members": 1, "requests": "anybody", "k22": "as_kafka"}, "given_can_be_consumed", 4),
    ],
    ids=str,
)
def test_as_kafka_is_partitions_are_consumed_by_nobody(
    fields: dict[str, Any], promise: str, depth: int
) -> None:
    verdict = explore(group(**{**TWO, **fields}).only([promise]))
    assert verdict.verdict == VIOLATED
    assert [(v.invariant, v.depth) for v in verdict.violations] == [(promise, depth)]


def broken(**fields: Any) -> set[str]:
    verdict = explore(group(progress=True, **fields), liveness=True)
    return {name for name, kind in verdict.progress.items() if kind == "violated"}


@pytest.mark.night
def test_k34_a_group_whose_members_have_different_rights_never_converges() -> None:
    assert broken(**TWO, restricted=True) == set()
    assert broken(**TWO, restricted=True, k34="as_kafka") == {"group_converges"}


@pytest.mark.parametrize("step", ["resolver_looks", "resolution_ends", "time_passes"])
def test_an_expression_is_resolved_only_if_the_coordinator_goes_on(step: str) -> None:
    # Two members: the second expression waits for 10 s.
    fields = {**ONE, "members": 2, "topics": 1}
    asked = ["expression_is_resolved"]
    spec = group(progress=True, **fields).only(asked)
    unfair = attrs.evolve(spec, fair=[f for f in spec.fair if f.name != step])
    found = [explore(s, liveness=True).progress for s in (spec, unfair)]
    assert found == [{asked[0]: "holds"}, {asked[0]: "violated"}]


SCOPE = ConsumerScope(**ONE)


def known(members: tuple[int, int], found: tuple[int | None, ...], **more: Any) -> Regexes:
    return Regexes(members=members, named=(0, 0), found=found, **{"age": Age.OLDER, **more})


@pytest.mark.parametrize(
    ("regexes", "counts", "regex", "changes", "asked"),
    [
        # The first one; a second one, 10 s after the first, or sooner; one that runs.
        (known((0, 0), (None, None)), (1, 0), 1, True, (1,)),
        (known((1, 0), (BOTH, None)), (1, 1), 2, True, (1, 2)),
        (known((1, 0), (BOTH, None), age=Age.RECENT), (1, 1), 2, True, None),
        (known((1, 0), (None, None), task=Task((1,), 0)), (1, 1), 2, True, None),
        # One that waits is resolved by the next heartbeat, of any member.
        (known((1, 1), (BOTH, None)), (1, 1), 1, False, (1, 2)),
        # All are; a topic was created; the refresh interval is over.
        (known((1, 1), (BOTH, LAST)), (1, 1), 1, False, None),
        (known((1, 1), (BOTH, LAST), behind=True), (1, 1), 1, False, (1, 2)),
        (known((1, 1), (BOTH, LAST), age=Age.DUE), (1, 1), 1, False, (1, 2)),
        # The last member of the first one takes the second one, which waits: the result that this
        # heartbeat makes superfluous still counts, so the next one has it resolved.
        (known((1, 1), (BOTH, None)), (0, 2), 2, True, None),
        # The last one is given up: nothing is left to resolve.
        (known((1, 0), (BOTH, None), age=Age.DUE), (0, 0), 0, True, None),
        (known((0, 0), (None, None)), (0, 0), 0, False, None),
    ],
)
def test_what_a_heartbeat_has_resolved(
    regexes: Regexes,
    counts: tuple[int, ...],
    regex: int,
    changes: bool,
    asked: tuple[int, ...] | None,
) -> None:
    assert started(regexes, counts, regex, changes, SCOPE) == asked


def test_nothing_is_refreshed_by_time_up_to_4_0() -> None:
    due = known((1, 1), (BOTH, LAST), age=Age.DUE)
    old = attrs.evolve(SCOPE, kafka="4.0.0")
    assert started(due, (1, 1), 1, False, old) is None
    assert started(attrs.evolve(due, behind=True), (1, 1), 1, False, old) == (1, 2)


def test_a_result_is_as_old_as_its_look_at_the_topics() -> None:
    looked = known((1, 0), (None, None), task=Task((1,), 0, (LAST,)))
    labels = dict(time_passes.call(looked))
    assert {*labels} == {"ten_seconds", "interval"}
    core = Core(exists=True, members=1, topics=BOTH)
    [(label, after, _, new)] = resolution_ends.call(core, Budget(), labels["interval"], SCOPE)
    assert (label, new.found, new.age, after.pending) == ("written", (LAST, None), Age.DUE, True)
    [(label, after, _, same)] = resolution_ends.call(
        core, Budget(), attrs.evolve(looked, members=(0, 0)), SCOPE
    )
    assert (label, same.found, same.task, after) == ("superfluous", (None, None), None, core)


def test_all_subscribe_to_the_same_by_names_or_by_one_expression_alone() -> None:
    def alike(members: tuple[int, int], named: tuple[int, int], count: int) -> bool:
        return Regexes(members=members, named=named).uniform(count)

    assert alike((0, 0), (2, 0), 2) and alike((2, 0), (0, 0), 2) and alike((0, 0), (0, 0), 2)
    assert not alike((0, 0), (2, 1), 2) and not alike((1, 1), (0, 0), 2)
    assert not alike((2, 0), (1, 0), 2)


def test_a_scope_of_expressions_that_cannot_be_is_refused_in_words() -> None:
    for fields, said in (
        ({"restricted": True}, "restricted needs regexes"),
        ({"regexes": 1, "java": True}, "not combined with java"),
        ({"regexes": 1, "offsets": True}, "not combined with offsets"),
        ({"regexes": 1, "interval": True}, "not combined with interval"),
    ):
        with pytest.raises(ScopeError, match=said):
            ConsumerScope(**fields)
