"""What a run says of a wrong model: one that allows more than the real coordinator does is not
called right, and rows that differ for one reason are told together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import pytest

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.classic.coordinator import heartbeat
from groupcheck.model.protocol.classic.timers import initial_delay
from groupcheck.model.protocol.transform import own, rebuilt, rewritten
from groupcheck.model.variants import load
from groupcheck.oracles.conform.conformance import conform
from groupcheck.oracles.conform.row_comparison import Conformance
from groupcheck.oracles.conform.row_results import plain
from groupcheck.oracles.explain import subject
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.show.text import as_plain

CLASSIC = load("classic")
ONE: Mapping[str, Any] = {"members": 1, "generations": 1, "faults": {"append_failure": 0}}


def test_settings_that_were_given_are_the_only_scope(coordinator: Driver):
    settings = {"max_size": "1"}
    found = conform("classic", kafka="4.3.0", driver=coordinator, settings=settings, **ONE)
    assert [toured.scope.max_size for toured in found.toured] == [1]


def allows_more(base: Spec) -> Spec:
    """A coordinator that may also tell a member of a stable group that a round is running."""
    heard = own(base, heartbeat)

    def more(*given: Any) -> Iterator[Any]:
        for label, core, seats, link in heard.call(*given):
            yield label, core, seats, link
            if label == "accepted" and link.answer is not None:
                answer = attrs.evolve(link.answer, code=27)
                yield "rebalancing", core, seats, attrs.evolve(link, answer=answer)

    return rebuilt(base, [rewritten(heard, more)])


def with_spec(change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    variant = attrs.evolve(CLASSIC, spec=lambda scope: change(CLASSIC.spec(scope)))
    monkeypatch.setattr(subject, "load", lambda name: variant)


def test_a_model_that_allows_more_than_was_ever_seen_is_unknown(
    coordinator: Driver, monkeypatch: pytest.MonkeyPatch, misfits
):
    with_spec(allows_more, monkeypatch)
    found = conform("classic", kafka="4.3.0", driver=coordinator, **ONE)
    assert (found.verdict, found.exit_code, found.differing) == ("unknown", 3, 0)
    assert found.counts.executed == found.counts.agreeing == found.counts.rows
    document = found.document()
    assert misfits(document) == []
    assert document["outcomes"]["unseen"] == len(document["unseen"]) > 0
    assert {tuple(one["rules"]) for one in document["unseen"]} == {("heartbeat:rebalancing",)}
    assert found.reason.endswith("outcomes that the model allows were never seen")
    text = as_plain(found.view())
    assert "member 0 sends Heartbeat(id=0, generation=1): heartbeat:rebalancing" in text


def forgets_to_leave_out(base: Spec) -> Spec:
    """A coordinator whose initial delay may always be extended once more."""
    delay = own(base, initial_delay)

    def more(core: Any, scope: Any) -> Iterator[Any]:
        yield from delay.call(core, scope)
        if not core.extended:
            yield "extended", core

    return rebuilt(base, [rewritten(delay, more)])


def test_a_timer_that_may_do_nothing_in_the_model_alone_is_unknown(
    coordinator: Driver, monkeypatch: pytest.MonkeyPatch
):
    with_spec(forgets_to_leave_out, monkeypatch)
    found = conform("classic", kafka="4.3.0", driver=coordinator, **ONE)
    assert found.verdict != "agrees"


def mistaken(coordinator: Driver, **options: Any) -> Conformance:
    bug = "heartbeat_ignores_generation"
    options = {**ONE, "mutation": bug, **options}
    return conform("classic", kafka="4.3.0", driver=coordinator, **options)


def test_differences_of_one_cause_are_one_group_with_its_shortest_schedule(
    coordinator: Driver, misfits
):
    found = mistaken(coordinator)
    document = found.document()
    assert misfits(document) == []
    cause, behind_an_append = document["causes"]
    assert (cause["kind"], cause["differs"]) == ("Heartbeat", ["request: error"])
    assert behind_an_append["kind"] == "Heartbeat"
    assert cause["rows"] + behind_an_append["rows"] == document["differing"] > 1
    lengths = [len(d["transcript"]) for d in document["differences"]]
    assert len(cause["first"]["transcript"]) == min(lengths)
    assert f"1. Heartbeat: {cause['rows']} rows differ in request: error" in as_plain(found.view())


def test_a_run_stops_after_so_many_rows_that_differ(coordinator: Driver):
    whole, some = mistaken(coordinator), mistaken(coordinator, max_differences=2)
    assert (some.verdict, some.exit_code, some.differing) == ("differs", 1, 2)
    assert some.reason == "stopped after 2 rows that differ"
    assert some.counts.executed < whole.counts.executed and whole.reason == ""
    assert mistaken(coordinator, max_differences=0).differing == whole.differing > 2


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("request 6: error is 27, in the model 0", "request: error"),
        ("request 6 gets no answer, in the model 27", "request gets no answer"),
        ("parked JoinGroup of m12 is False, in the model True", "parked JoinGroup of a member"),
        ("timers is {join-g}, in the model nothing", "timers"),
        ("there is no classic group, but NoGroup", "there is no classic group, but NoGroup"),
    ],
)
def test_what_differs_is_told_without_names_numbers_and_values(what: str, expected: str):
    assert plain((what, what)) == (expected,)
