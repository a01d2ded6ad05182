"""The events of a group in a simulation: who runs at first, and what the scenario does when."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs
from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.simulate.assumptions import Assumptions
from groupcheck.oracles.simulate.streams import Streams


@frozen
class Action:
    """At this time (ms) something happens to a member: start, close, crash, stall (it does not
    poll), outage (it neither polls nor sends heartbeats), or pause (the same, but the time in which
    it stands still does not count as lost); start_in_round: it starts as soon as the next
    generation begins. Or the topic gets a partition: add_partitions.
    """

    at_ms: float
    what: str
    member: int
    # How long a stall, an outage or a pause lasts.
    length_ms: float = 0.0


@frozen
class Course:
    """The course of a scenario at a size and a seed."""

    # How many members run, and have run for long, when it begins: those of the first indexes.
    running: int
    actions: tuple[Action, ...]


@frozen
class Scenario:
    """A kind of change. `course(members, assumptions, streams)`."""

    name: str
    doc: str
    course: Callable[[int, Assumptions, Streams], Course]
    # The rule that a variant must have for it; empty: any variant.
    needs: str = ""
    # The fewest members for which it makes sense, with one changed member.
    least: int = 2
    # All members change unless it is said how many; in the others one does.
    all_change: bool = False


def changed(scenario: str, members: int, a: Assumptions) -> Assumptions:
    """The assumptions with the number of members that change in a scenario."""
    usual = members if SCENARIOS[scenario].all_change else 1
    return attrs.evolve(a, changed_members=a.changed_members or usual)


def _changed(members: int, a: Assumptions, kept: int = 1) -> int:
    count = int(a.changed_members or 1)
    if count > members - kept:
        raise UserError(
            f"changed_members is {count}, but the group has {members} members",
            where="assumptions",
            do=f"give at most {members - kept}",
        )
    return count


def _chosen(members: int, count: int, streams: Streams) -> list[int]:
    """Members to which something happens, drawn without looking at the variant."""
    return sorted(streams("chosen").sample(range(members), count))


def _scale_out(members: int, a: Assumptions, streams: Streams) -> Course:
    running = members - _changed(members, a)
    return Course(running, tuple(Action(0, "start", i) for i in range(running, members)))


def _late_join(members: int, a: Assumptions, streams: Streams) -> Course:
    late = _changed(members, a, 2)
    running = members - late - 1
    starts = [Action(0, "start_in_round", i) for i in range(running + 1, members)]
    return Course(running, (*starts, Action(0, "start", running)))


def _scale_in(members: int, a: Assumptions, streams: Streams) -> Course:
    gone = _chosen(members, _changed(members, a), streams)
    return Course(members, tuple(Action(0, "close", i) for i in gone))


def _crash(members: int, a: Assumptions, streams: Streams) -> Course:
    gone = _chosen(members, _changed(members, a), streams)
    return Course(members, tuple(Action(0, "crash", i) for i in gone))


def _sick_host(members: int, a: Assumptions, streams: Streams) -> Course:
    running = members - 1
    sick = _chosen(running, _changed(running, a), streams)
    stalls = tuple(Action(0, "stall", i, a.stall_ms.draw(streams("stall", i))) for i in sick)
    return Course(running, (*stalls, Action(a.trigger_ms, "start", running)))


def _slow_message(members: int, a: Assumptions, streams: Streams) -> Course:
    slow = _chosen(members, _changed(members, a), streams)
    stalls = [Action(0, "stall", i, a.stall_ms.draw(streams("stall", i))) for i in slow]
    return Course(members, tuple(stalls))


def _outage(members: int, a: Assumptions, streams: Streams) -> Course:
    silent = _chosen(members, _changed(members, a, 0), streams)
    outages = [Action(0, "outage", i, a.pause_ms.draw(streams("outage", i))) for i in silent]
    return Course(members, tuple(outages))


def _steady(members: int, a: Assumptions, streams: Streams) -> Course:
    return Course(members, ())


def _rolling_restart(members: int, a: Assumptions, streams: Streams) -> Course:
    actions: list[Action] = []
    at = 0.0
    a = changed("rolling-restart", members, a)
    for i in _chosen(members, _changed(members, a, 0), streams):
        actions += [Action(at, "close", i), Action(at + a.restart_ms, "start", i)]
        at += a.restart_ms + a.restart_gap_ms
    return Course(members, tuple(actions))


def _bounce(members: int, a: Assumptions, streams: Streams) -> Course:
    chosen = _chosen(members, _changed(members, a, 0), streams)
    crashes = tuple(Action(0, "crash", i) for i in chosen)
    return Course(members, (*crashes, *(Action(a.restart_ms, "start", i) for i in chosen)))


def _cold_start(members: int, a: Assumptions, streams: Streams) -> Course:
    starts = tuple(
        Action(a.start_spread_ms * streams("start", i).random(), "start", i) for i in range(members)
    )
    return Course(0, starts)


def _partitions_added(members: int, a: Assumptions, streams: Streams) -> Course:
    return Course(members, (Action(0, "add_partitions", 0),) * int(a.added_partitions))


SCENARIOS: Mapping[str, Scenario] = {
    s.name: s
    for s in (
        Scenario(
            "scale-out",
            "New members join a running group, which has `members` members then.",
            _scale_out,
        ),
        Scenario(
            "late-join",
            "A new member joins a running group, and others start as soon as its generation begins:"
            " they join while the members wait for their shares.",
            _late_join,
            least=3,
        ),
        Scenario("scale-in", "Members close.", _scale_in),
        Scenario("crash", "Processes die without a word and do not come back.", _crash),
        Scenario(
            "sick-host",
            "The applications of sick hosts stop polling, while their heartbeats go on; then"
            " another member joins.",
            _sick_host,
            least=3,
        ),
        Scenario(
            "slow-message",
            "One message takes its member so long that it does not poll meanwhile; nobody joins.",
            _slow_message,
        ),
        Scenario(
            "outage",
            "Members that work lose the coordinator for pause_ms: they neither poll nor send"
            " heartbeats.",
            _outage,
        ),
        Scenario(
            "steady",
            "Nothing happens but loss and pauses, if they are assumed.",
            _steady,
            least=1,
        ),
        Scenario(
            "rolling-restart",
            "One member after the other closes and comes back: all of them, or changed_members.",
            _rolling_restart,
            all_change=True,
        ),
        Scenario("bounce", "Processes die at once and come back soon.", _bounce),
        Scenario("cold-start", "All members of an empty group start.", _cold_start, least=1),
        Scenario(
            "partitions-added",
            "The topic gets more partitions, which the leader sees when it next looks.",
            _partitions_added,
            needs="add_partitions",
        ),
    )
}


def scenario(name: str) -> Scenario:
    """The scenario of this name. Raises `UserError`."""
    if name not in SCENARIOS:
        raise UserError(f"there is no scenario {name!r}", do="one of " + ", ".join(SCENARIOS))
    return SCENARIOS[name]
