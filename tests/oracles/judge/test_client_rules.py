"""Each rule about clients on runs that are written by hand: what breaks it, and what only looks as
if it did.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from groupcheck.oracles.judge.client import events as said
from groupcheck.oracles.judge.client.machine_time import MachineTime
from groupcheck.oracles.judge.client.record import (
    App,
    Asked,
    Closed,
    Committed,
    Ended,
    Event,
    Listed,
    MemberSeat,
    Moved,
    Record,
    Stopping,
    Told,
)
from groupcheck.oracles.judge.client.rules import RULES
from groupcheck.oracles.judge.client.rules.rule import seen

RULE = {rule.name: rule for rule in RULES}
BOTH = frozenset({("t", 0), ("t", 1)})
FIRST, SECOND = frozenset({("t", 0)}), frozenset({("t", 1)})


class Run:
    """A run that is written down event by event. `now` is the time in seconds."""

    def __init__(self, assignor: str = "range", static: bool = False, wrong: str = "") -> None:
        self.listed, self.static = Listed(assignor, wrong=wrong), static
        self.events: list[Event] = []
        self.now, self.number = 0.0, 0

    def wait(self, seconds: float) -> Run:
        self.now += seconds
        return self

    def ask(self, api: str, **fields: Any) -> int:
        self.number += 1
        node = 1 if api == "Fetch" else 2
        self.events.append(Asked(self.now, self.number, node, node, api, **fields))
        return self.number

    def tell(self, number: int, error: int = 0, **fields: Any) -> Run:
        self.events.append(Told(self.now, number, error, **fields))
        return self

    def join(self, id: str = "m", error: int = 0, generation: int = 1, **fields: Any) -> Run:
        asks = self.ask("JoinGroup", member=id, protocols=(self.listed,))
        return self.tell(asks, error, member=id, generation=generation, **fields)

    def sync(self, share: frozenset[tuple[str, int]], generation: int = 1, **fields: Any) -> Run:
        return self.tell(
            self.ask("SyncGroup", member="m", generation=generation, **fields), share=share
        )

    def member(self, share: frozenset[tuple[str, int]] = BOTH, generation: int = 1) -> Run:
        return self.join(generation=generation).sync(share, generation)

    def beat(self, error: int = 0, generation: int = 1, id: str = "m") -> Run:
        return self.tell(self.ask("Heartbeat", member=id, generation=generation), error)

    def anew(self, id: str) -> Run:
        """It joins without an id, and is given this one."""
        asks = self.ask("JoinGroup", protocols=(self.listed,))
        return self.tell(asks, member=id, generation=2)

    def commit(self, parts: frozenset[tuple[str, int]], generation: int = 1, id: str = "m") -> Run:
        offsets = dict.fromkeys(parts, 5)
        return self.tell(
            self.ask("OffsetCommit", member=id, generation=generation, offsets=offsets)
        )

    def fetch(self, parts: frozenset[tuple[str, int]]) -> Run:
        self.ask("Fetch", offsets=dict.fromkeys(parts, 5))
        return self

    def say(self, event: said.Event) -> Run:
        self.events.append(App(self.now, event))
        return self

    def delivered(self, number: int) -> Run:
        return self.say(said.Delivered(("t", number), 0, 4))

    def claims(self, owned: frozenset[tuple[str, int]], error: int = 0) -> Run:
        """It joins in the cooperative protocol."""
        self.listed = Listed("cooperative-sticky", owned=owned)
        return self.join(error=error)

    def others(self, offset: int) -> Run:
        """Another member commits that offset of both partitions."""
        self.events.append(Committed(self.now, dict.fromkeys(BOTH, offset)))
        return self

    def offsets(self, offset: int = 9) -> Run:
        """It is told this committed offset of both; 16: none, but that error."""
        number = self.ask("OffsetFetch")
        refused = offset == 16
        return self.tell(
            number, 16 * refused, offsets={} if refused else dict.fromkeys(BOTH, offset)
        )

    def grows(self) -> Run:
        """It is told that there is another partition."""
        return self.tell(self.ask("Metadata"), partitions={"t": 3})

    def event(self, event: Callable[..., Event], *fields: Any) -> Run:
        self.events.append(event(self.now, *fields))
        return self

    def cases(self, rule: str) -> list[str]:
        """For each occasion what was broken."""
        record = Record(tuple(self.events), {"t": 2}, 3000, 2000, self.static)
        return [case.broken for case in RULE[rule].cases(seen(record))]


def shrunk() -> Run:
    """A member of generation 2 that has kept t-0 of two partitions."""
    return Run().member(BOTH).wait(1).beat(27).member(FIRST, generation=2)


def comes_back(offset: int = 9) -> Run:
    """Another member has had t-1 for a generation, and has committed that offset of it."""
    return shrunk().commit(FIRST, 2).others(offset).beat(27, 2).member(BOTH, generation=3)


def looks() -> Run:
    """A member that looks for its coordinator while that is silent."""
    run = Run().member().event(Moved, "silence", "", 9.0).wait(3)
    run.ask("FindCoordinator")
    return run.wait(5)


def fenced() -> Run:
    return Run(static=True).member().wait(1).beat(82)


SEATS = (MemberSeat("a", None, frozenset({"t"})), MemberSeat("m", None, frozenset({"t"})))


def leader(**plan: frozenset[tuple[str, int]] | None) -> Run:
    return Run().join(seats=SEATS).sync(FIRST, plan=plan)


COOPERATIVE = "cooperative-sticky"
BREAKS: dict[str, list[tuple[str, Run]]] = {
    "commits_what_was_delivered": [
        ("none of the last 2 records", Run().say(said.Delivered(("t", 0), 0, 2)).commit(FIRST)),
        # It asks for what it has committed itself.
        ("none of the last 2", Run().say(said.Delivered(("t", 0), 0, 2)).commit(FIRST).offsets(5)),
    ],
    "begins_where_committed": [
        # What it has given up and others have committed comes back.
        (
            "it is given t-1 anew, and fetches it from 5 on, where 9 is committed",
            comes_back().offsets().fetch(BOTH),
        ),
        ("fetches it from 5 on", comes_back().wait(0.6).fetch(BOTH)),
        ("commits it from 5 on", comes_back().commit(BOTH, 3)),
        # It was away; and an OffsetFetch was refused, which is no answer that nothing is committed.
        (
            "t-0 anew, and fetches it from 5 on, where 7 is committed",
            Run().member(FIRST).beat(25).others(7).member(FIRST, 2).offsets(16).fetch(FIRST),
        ),
    ],
    "assigns_once": [
        (
            "t-0 is assigned again, and was neither",
            Run().say(said.Assigned(BOTH)).say(said.Revoked(SECOND)).say(said.Assigned(FIRST)),
        ),
    ],
    "claims_its_share": [
        (
            "it claims t-0, and owns t-0, t-1",
            Run(COOPERATIVE).member().wait(1).beat(27).claims(FIRST),
        ),
        ("t-0, t-1, and owns nothing", Run(COOPERATIVE).member().join(error=25).claims(BOTH)),
    ],
    "commits_its_share": [
        ("it commits t-1 in generation 2, in which it was given t-0", shrunk().commit(BOTH, 2)),
    ],
    "commits_with_its_generation": [
        ("0.9 s after it was told generation 2", shrunk().wait(0.9).commit(FIRST, 1)),
        ("after it was answered 25 UNKNOWN", Run().member().beat(25).wait(0.9).commit(FIRST)),
    ],
    "never_commits_from_outside": [
        ("with generation -1 and member id ''", Run().member().beat(25).commit(BOTH, -1, "")),
    ],
    "fetches_its_share": [
        ("after it was answered 25 UNKNOWN", Run().member().beat(25).wait(0.9).fetch(FIRST)),
        ("it fetches t-1 when its share is t-0", shrunk().wait(0.9).fetch(SECOND)),
        ("after its JoinGroup, before its SyncGroup", Run().member().join().wait(1).fetch(FIRST)),
    ],
    "reads_its_share": [
        ("nothing of t-0, t-1 3.0 s after it was given that", Run().member().wait(3).beat()),
        ("nothing of t-1 3.0 s after", Run().member().fetch(FIRST).wait(3).beat()),
        ("nothing of t-0, t-1 4.0 s after", Run().member().wait(1).offsets().wait(3).beat()),
    ],
    "delivers_its_share": [
        ("records of t-1 when its share is t-0", shrunk().wait(1.5).delivered(1)),
    ],
    "delivers_between_callbacks": [
        (
            "records of t-1, which is not assigned after its revoked callback",
            Run().say(said.Assigned(BOTH)).say(said.Revoked(SECOND)).delivered(0).delivered(1),
        ),
    ],
    "uses_the_id_it_is_given": [
        ("it joins with the id 'x'", Run().join("m", 79).wait(0.3).join("x")),
        ("it joins with the id ''", Run().join("m", 79).wait(1).join("")),
    ],
    "forgets_a_refused_id": [
        ("that was answered 25", Run().member().beat(25).wait(0.4).join("m", 25)),
    ],
    "keeps_its_id": [
        ("it joins without an id, and nobody has refused", Run().member().beat(27).join("")),
        ("joins without an id", Run().member().event(Moved, "silence", "", 1.0).wait(1).join("")),
        # It has heard of its coordinator while its round went on.
        ("it joins without an id", Run().member().wait(2.9).beat(27).wait(1).join("")),
        # It has learnt long before its JoinGroup that it is no member.
        ("without an id", Run().member().beat(25).beat(25, -1, "").wait(0.3).anew("n").anew("o")),
    ],
    "joins_again": [
        (
            "which lacks what it owned",
            Run(COOPERATIVE).member().wait(1).member(FIRST, 2).wait(3).fetch(FIRST),
        ),
        ("no JoinGroup for 3.0 s after", Run().member().beat(27).wait(3).fetch(FIRST)),
        ("no JoinGroup for 2.8 s after", Run().member().beat(27).wait(2.8).join()),
    ],
    "keeps_its_session": [
        ("no Heartbeat for 4.0 s", Run().member().beat().wait(4).fetch(FIRST)),
    ],
    "gives_up_a_silent_coordinator": [
        (
            "the coordinator is silent for 8.0 s",
            Run().member().event(Moved, "silence", "", 9.0).wait(7).fetch(BOTH).wait(1).fetch(BOTH),
        ),
    ],
    "tells_what_is_fatal": [
        (
            "is told nothing of 24 INVALID_GROUP_ID to its JoinGroup",
            Run().delivered(0).join("", 24).wait(4).delivered(0),
        ),
    ],
    "stops_when_fenced": [
        ("JoinGroup 1.5 s after 82 FENCED", fenced().wait(1.5).join("")),
        ("Fetch 1.5 s after 82 FENCED", fenced().wait(1.5).fetch(BOTH)),
    ],
    "leaves_on_close": [
        ("no LeaveGroup in the 1.0 s", Run().member().event(Stopping).wait(1).event(Ended, 0)),
    ],
    "subscribes_readably": [
        (
            "its subscription for range: 4 bytes are expected",
            Run(wrong="4 bytes are expected and 0 are there").join(),
        ),
    ],
    "plans_for_all": [
        ("t-0 is given to both a and m", leader(a=FIRST, m=BOTH)),
        ("t-1 is given to nobody", leader(a=FIRST, m=frozenset())),
        ("the share of m in its plan cannot be read", leader(a=BOTH, m=None)),
        ("x is no member of the group", leader(a=BOTH, m=frozenset(), x=FIRST)),
        # It learns of a partition, or has learned of it while its round went on.
        ("t-2 is given to nobody", leader(a=SECOND, m=FIRST).wait(1).grows().wait(2.1).beat()),
        (
            "t-2 is given to nobody",
            Run()
            .join(seats=SEATS)
            .grows()
            .sync(FIRST, plan={"a": SECOND, "m": FIRST})
            .wait(2.1)
            .beat(),
        ),
    ],
}


@pytest.mark.parametrize(
    ("rule", "words", "run"),
    [(rule, *one) for rule, runs in BREAKS.items() for one in runs],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_breaks_a_rule(rule: str, words: str, run: Run) -> None:
    broken = [case for case in run.cases(rule) if case]
    assert broken and words in broken[0]


def leave(run: Run) -> Run:
    run.ask("LeaveGroup", members=("m",))
    return run


KEEPS: dict[str, list[Run]] = {
    "commits_what_was_delivered": [
        Run().delivered(0).commit(FIRST),
        # The event comes later than the commit.
        Run().say(said.Delivered(("t", 0), 0, 2)).commit(FIRST).delivered(0),
        Run().say(said.Delivered(("t", 0), 0, 2)).offsets(5).commit(FIRST),
        # It goes on where others have committed.
        Run().say(said.Assigned(FIRST)).fetch(FIRST).commit(FIRST),
    ],
    "begins_where_committed": [
        comes_back(5).offsets().fetch(BOTH).commit(BOTH, 3),
        # It had not read its share yet, and commits in the old generation.
        comes_back().wait(0.1).fetch(BOTH).commit(BOTH, 2).offsets(5).fetch(BOTH),
        # Another commit came before the answer.
        comes_back().others(5).offsets().fetch(BOTH),
    ],
    "assigns_once": [
        Run().say(said.Assigned(BOTH)).say(said.Lost(BOTH)).say(said.Assigned(FIRST)),
        Run().say(said.Assigned(FIRST)).say(said.Revoked(FIRST)).say(said.Assigned(FIRST)),
    ],
    "claims_its_share": [
        Run(COOPERATIVE).member().wait(1).beat(27).claims(BOTH),
        Run(COOPERATIVE).member().join(error=25).claims(frozenset()),
        # What it says without an id is thrown away.
        Run(COOPERATIVE).member().join(error=25).claims(BOTH, 79).claims(frozenset()),
        # It has not read the refusal yet.
        Run(COOPERATIVE).member().wait(1).beat(25).wait(0.1).claims(BOTH),
    ],
    "commits_its_share": [
        shrunk().commit(FIRST, 2),
        # Under way while the group went on: the broker refuses it, and it proves nothing.
        shrunk().commit(BOTH, 1),
        # A cooperative member commits what it gives up.
        Run("cooperative-sticky").member(BOTH).member(FIRST, 2).commit(BOTH, 2),
    ],
    "commits_with_its_generation": [
        shrunk().wait(0.1).commit(BOTH, 1),
        Run().member().beat(27).wait(1.5).commit(BOTH),
        # The refusal of an old commit does not concern the new membership.
        shrunk().commit(FIRST, 1).wait(1).commit(FIRST, 2),
    ],
    "never_commits_from_outside": [Run().member().commit(BOTH)],
    "fetches_its_share": [
        Run().member().beat(25).wait(0.1).fetch(FIRST),
        Run().member().beat(27).wait(1.5).fetch(BOTH),
        Run("cooperative-sticky").member().join().wait(1).fetch(BOTH),
        shrunk().wait(0.9).fetch(FIRST),
    ],
    "reads_its_share": [
        Run().member().wait(2).fetch(FIRST).fetch(SECOND).wait(9).beat(),
        # It connects again, and asks where to begin; and it has to join again.
        Run().member().wait(2).event(Closed, 2, 2, True).wait(2).offsets().wait(2).fetch(BOTH),
        shrunk().fetch(FIRST).beat(27, 2).wait(9).beat(27, 2),
    ],
    "delivers_its_share": [shrunk().wait(0.9).delivered(1), shrunk().wait(1.5).delivered(0)],
    "delivers_between_callbacks": [
        Run().say(said.Assigned(FIRST)).say(said.Assigned(SECOND)).delivered(0).delivered(1),
    ],
    "uses_the_id_it_is_given": [Run().join("m", 79).join("m")],
    "forgets_a_refused_id": [
        Run().member().beat(25).wait(0.3).join("").wait(1).join("n", 25),
    ],
    "keeps_its_id": [
        Run().member().beat(27).join(),
        Run().member().beat(27).join().sync(BOTH).beat(25).join(""),
        leave(Run().member().beat(27).join()).join(""),
        # Its session is over, by its own clock.
        Run().member().beat(27).join().wait(3.1).join(""),
        # It learns that it is no member while it joins, and drops the answer.
        Run().member().beat(25).beat(25, -1, "").wait(0.1).anew("n").wait(1).anew("o").join("o"),
    ],
    "joins_again": [
        Run().member().beat(27).wait(1.9).join(),
        # What happens meanwhile may hold it up.
        Run().member().beat(27).event(Moved, "fail-over").wait(3).join(),
    ],
    "keeps_its_session": [
        Run().member().beat().wait(2.6).beat(),
        Run().member().beat().beat(27).wait(4).fetch(FIRST),
        Run().member().beat().beat().event(Moved, "silence", "", 9.0).wait(4).fetch(FIRST),
    ],
    "gives_up_a_silent_coordinator": [
        looks().fetch(BOTH).wait(1).fetch(BOTH),
        Run().member().event(Moved, "silence", "", 9.0).wait(8).beat(),
    ],
    "tells_what_is_fatal": [
        Run().join("", 24).wait(1).say(said.Failed("INVALID_GROUP_ID")).wait(4).delivered(0),
    ],
    "stops_when_fenced": [
        fenced().wait(0.5).commit(BOTH).wait(1).say(said.Failed("FENCED", True)),
        leave(fenced().wait(2)),
    ],
    "leaves_on_close": [
        leave(Run().member().event(Stopping)).event(Ended, 0),
        Run(static=True).member().event(Stopping).wait(1).event(Ended, 0),
    ],
    "subscribes_readably": [Run().join()],
    "plans_for_all": [
        leader(a=SECOND, m=FIRST),
        leader(a=BOTH),
        # It did not know the topic yet, and joins again once it does.
        leader(a=frozenset(), m=frozenset()).wait(0.2).join(generation=2),
        leader(a=SECOND, m=FIRST).wait(1).grows().wait(1.5).join(generation=2),
        leader(a=SECOND, m=FIRST).grows().wait(1).event(Stopping).wait(2).event(Ended, 0),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "run"),
    [(rule, run) for rule, runs in KEEPS.items() for run in runs],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_keeps_a_rule(rule: str, run: Run) -> None:
    cases = run.cases(rule)
    assert cases and not any(cases)


def test_a_storm_is_a_refused_request_that_is_repeated_without_a_pause() -> None:
    storm, calm = Run(), Run()
    for _ in range(100):
        storm.wait(0.01).join("", 14)
        calm.wait(0.05).join("", 14)
    assert "in one second, each after an error" in storm.cases("backs_off")[0]
    assert calm.cases("backs_off") == [""]
    # On a machine that stood still for as long as that.
    time = MachineTime()
    for k in range(20):
        time.stalled(1.0 + k, 0.5)
    events = tuple(evolve(event, at=time(event.at)) for event in calm.events)
    slow = Record(events, {"t": 2}, 3000, 2000, clock=time)
    assert [case.broken for case in RULE["backs_off"].cases(seen(slow))] == [""]


def test_every_rule_has_a_run_that_breaks_it_and_one_that_keeps_it() -> None:
    by_hand = {*BREAKS, "backs_off"}
    assert by_hand == {*KEEPS, "backs_off"} == set(RULE)


def test_a_rule_that_needs_events_is_not_judged_without_them() -> None:
    silent = Run().join("", 24).wait(5).fetch(FIRST)
    assert silent.cases("tells_what_is_fatal") == []


def test_a_member_that_is_removed_while_it_closes_need_not_leave() -> None:
    run = Run().member().event(Stopping).beat(25).wait(1).event(Ended, 0)
    assert run.cases("leaves_on_close") == []


@pytest.mark.parametrize("first", [True, False])
def test_a_member_that_looks_for_its_coordinator_need_not_leave(first: bool) -> None:
    run = Run().member().beat()
    if first:
        run.ask("FindCoordinator")
    run.event(Stopping)
    if not first:
        run.ask("FindCoordinator")
    assert run.wait(1).event(Ended, 0).cases("leaves_on_close") == []


def test_a_static_member_that_leaves_breaks_its_rule() -> None:
    run = leave(Run(static=True).member().event(Stopping)).event(Ended, 0)
    assert "it has an instance id" in run.cases("leaves_on_close")[0]


def test_a_member_that_does_not_know_its_coordinator_need_not_leave() -> None:
    moved = Run().member().beat(16).event(Stopping).wait(1).event(Ended, 0)
    cut = Run().member().event(Closed, 2, 2, True).event(Stopping).wait(1).event(Ended, 0)
    assert moved.cases("leaves_on_close") == cut.cases("leaves_on_close") == []


def test_the_page_for_maintainers_names_every_rule() -> None:
    page = (Path(__file__).parents[3] / "docs/judge/your_client.md").read_text("utf-8")
    assert {name for name in RULE if f"`{name}`" not in page} == set()
