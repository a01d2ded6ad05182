"""One simulation from its setup to its result."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from attrs import evolve

from groupcheck.model.engine import Spec, UserError
from groupcheck.model.engine.values import unremembered
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.model.variants import registry
from groupcheck.oracles.quantities import MOST_SECONDS
from groupcheck.oracles.simulate.assumptions import Assumptions
from groupcheck.oracles.simulate.background import Background, checked
from groupcheck.oracles.simulate.consumer.group import ConsumerGroup
from groupcheck.oracles.simulate.distributions import distribution
from groupcheck.oracles.simulate.drives import undriven
from groupcheck.oracles.simulate.lag import lag
from groupcheck.oracles.simulate.protocol import simulated
from groupcheck.oracles.simulate.running import Group, Watch
from groupcheck.oracles.simulate.scenarios import Action, Course, scenario
from groupcheck.oracles.simulate.setup import Result, Setup
from groupcheck.oracles.simulate.streams import Streams

AnyGroup = Group | ConsumerGroup
LOOK_MS = 1_000.0  # between two looks whether the group rests
CALM_BEAT_MS = 40.0  # between two heartbeats of KIP-848 there
WARM_UP_MS = 100.0  # in a place where everything happens at once
LEAST_S = 1800.0  # of virtual time, unless somebody gives less
MOST_MEMBERS = 100_000
MOST_PARTITIONS = 100_000


def simulate(
    setup: Setup,
    watch: Watch | None = None,
    deadline: float = math.inf,
    report: Callable[[float], bool] | None = None,
) -> Result:
    """Runs a simulation. `watch(group, rule, index)` is told every rule that fires, `report` from
    time to time which part of the scenario is over; if it says True, the run ends there. Raises
    `UserError`; and `OutOfTime`, if it still runs at the `deadline` (s, by `time.monotonic`).
    """
    with unremembered(), _without_collecting():
        return _simulated(lasting(setup), watch, deadline, report)


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Nobody looks for cycles meanwhile: states have none, and to look takes up to a third of the
    time of a large group, whose values all stay.
    """
    resume = gc.enable if gc.isenabled() else gc.disable
    gc.disable()
    try:
        yield
    finally:
        resume()


def _simulated(
    setup: Setup,
    watch: Watch | None,
    deadline: float,
    report: Callable[[float], bool] | None,
) -> Result:
    assert setup.seconds is not None
    group = begun(setup, watch, deadline)
    if setup.until_rest:
        group.clock.at(group.last_ms + LOOK_MS, _look, group)
    if report is not None:
        end = group.last_ms + LOOK_MS if setup.until_rest else setup.seconds * 1000
        group.clock.tells = lambda: report(min(group.clock.now / end, 1.0))
    group.clock.run(setup.seconds * 1000)
    result = _result(setup, group)
    if group.beside is not None:
        vars(group.beside).clear()
    vars(group).clear()  # its parts name each other, so nothing else would free them soon
    return result


def begun(setup: Setup, watch: Watch | None = None, deadline: float = math.inf) -> AnyGroup:
    """The group at the moment when the scenario begins, with all that the scenario will do on its
    clock. Raises as `simulate` does.
    """
    spec, variant = admitted(setup), registry.load(setup.variant)
    course = _course(setup)
    calm, seed = _calm(setup.assumptions), setup.draws
    group: AnyGroup
    if isinstance(spec.scope, ConsumerScope):
        group = ConsumerGroup(spec, calm, seed, watch)
    else:
        group = Group(spec, variant.coordinator, calm, seed, watch)
    group.clock.deadline = deadline
    _warm_up(group, course.running, setup.assumptions)
    for action in course.actions:
        group.clock.at(action.at_ms, _act, group, action)
    group.last_ms = _last_ms(course)
    Background(group, setup.background).begin()
    if setup.assumptions.other_group_members:
        _shares(group, begun(_other(setup), None, deadline))
    return group


def _other(setup: Setup) -> Setup:
    """The other group at the same coordinator: its draws are its own."""
    size = int(setup.assumptions.other_group_members)
    other = setup.with_(members=size, partitions=size, course=None, other_group_members=0)
    return evolve(other, seed=-1 - setup.seed, background=())


def _shares(group: AnyGroup, other: AnyGroup) -> None:
    """The other group has the same clock, and its coordinator is the same thread."""
    group.clock.takes(other.clock)
    other.clock = group.clock
    other.coordinator.line = group.coordinator.line
    group.beside = other


def _course(setup: Setup) -> Course:
    if setup.course is not None:
        return setup.course
    streams = Streams(setup.draws)
    return scenario(setup.scenario).course(setup.members, setup.assumptions, streams)


def _last_ms(course: Course) -> float:
    return max((a.at_ms + a.length_ms for a in course.actions), default=0.0)


def lasting(setup: Setup) -> Setup:
    """The setup with a limit of virtual time. Where it has none, that is `LEAST_S`, or longer if
    the scenario is: what two rounds may wait for anything, after the last thing that happens.
    Raises `UserError`.
    """
    if setup.seconds is not None:
        return setup
    _check(setup)
    a = setup.assumptions
    rounds = a.session_timeout_ms + a.max_poll_interval_ms + a.initial_rebalance_delay_ms
    waits = 2 * (rounds + a.request_timeout_ms) + a.rebalance_delay_ms + a.metadata_max_age_ms
    enough = (_last_ms(_course(setup)) + waits) / 1000
    return evolve(setup, seconds=min(max(LEAST_S, enough), MOST_SECONDS))


def admitted(setup: Setup) -> Spec:
    """The spec of a setup. Raises `UserError` for one that cannot be simulated."""
    _check(setup)
    variant = registry.load(setup.variant)
    needs = "" if setup.course else scenario(setup.scenario).needs
    added = int(setup.assumptions.added_partitions) if needs == "add_partitions" else 0
    spec = simulated(variant, setup.members, setup.partitions, added, static=setup.static)
    if setup.static and not isinstance(spec.scope, ConsumerScope):
        raise UserError(
            "static members of the classic protocol are a variant of their own",
            where=setup.variant,
            do="simulate static_membership",
        )
    if needs and needs not in {rule.name for rule in spec.rules}:
        raise UserError(
            f"{setup.scenario} needs the rule {needs}, which {setup.variant} does not have",
            where="scenario",
            do="simulate triggers, the classic group whose topics change",
        )
    if rules := [rule.name for rule in spec.rules if rule.written]:
        raise UserError(
            f"{', '.join(rules)} concerns two members at once, and the clock moves one at a time",
            where=setup.variant,
            do="simulate another variant",
        )
    if rules := undriven(spec):
        raise UserError(
            f"nothing says when {', '.join(rules)} fires",
            where=setup.variant,
            do="simulate another variant",
        )
    return spec


def _check(setup: Setup) -> None:
    named = "a course" if setup.course else setup.scenario
    least = 1 if setup.course else scenario(setup.scenario).least
    if not least <= setup.members <= MOST_MEMBERS:
        raise UserError(
            f"members is {setup.members}, not a number from {least} to {MOST_MEMBERS:,}",
            where=named,
        )
    if not 1 <= setup.partitions <= MOST_PARTITIONS:
        raise UserError(
            f"partitions is {setup.partitions}, not a number from 1 to {MOST_PARTITIONS:,}",
            where="setup",
        )
    added = setup.assumptions.added_partitions
    if named == "partitions-added" and not 1 <= added < setup.partitions:
        raise UserError(
            f"added_partitions is {added:g}, and partitions {setup.partitions}",
            where=setup.scenario,
            do="add at least one, and fewer than all",
        )
    checked(setup.background, setup.members)
    if setup.seconds is not None and not 0 < setup.seconds <= MOST_SECONDS:
        raise UserError(
            f"seconds is {setup.seconds:g}, not above 0 and up to {MOST_SECONDS:,}", where="setup"
        )


def _calm(a: Assumptions) -> Assumptions:
    """A place where everything happens at once: there a group comes to rest before the scenario
    begins.
    """
    at_once = distribution(0)
    return evolve(
        a,
        network_ms=at_once,
        service_ms=at_once,
        join_ms_per_member=0,
        answer_ms=0,
        append_ms=at_once,
        assign_ms_per_partition=0,
        revoke_ms=at_once,
        resume_ms=at_once,
        bytes_per_ms=1e12,
        other_requests_per_s=0,
        loss=0,
        initial_rebalance_delay_ms=1,
        consumer_heartbeat_interval_ms=min(a.consumer_heartbeat_interval_ms, CALM_BEAT_MS),
        consumer_assignment_interval_ms=5,
        records_per_s=0,
    )


def _warm_up(group: AnyGroup, running: int, a: Assumptions) -> None:
    """The first members join and come to rest; then the time of the scenario begins. Raises
    `UserError` if they do not.
    """
    for index in range(running):
        group.members.start(index)
    group.clock.run(WARM_UP_MS)
    if running and not _rests(group):
        raise UserError(
            "a group with these timeouts does not even come to rest where nothing takes time",
            where="assumptions",
            do="give longer ones, such as heartbeat_interval_ms=3000 and session_timeout_ms=45000",
        )
    group.clock.reset()
    group.observer.begin()
    group.assumptions = a
    members = group.members
    phases = [members.phase(index) for index in range(running)]
    group.coordinator.ages(lambda index: phases[index])
    for index, phase in enumerate(phases):
        members.beat_from(index, members.heartbeat_interval_ms - phase)
        members.looks_from(index)
    for index in range(group.size):
        members.pauses_from(index)


def _act(group: AnyGroup, action: Action) -> None:
    if action.what == "stall":
        group.members.stall(action.member, action.length_ms)
    elif action.what == "outage":
        group.members.pause(action.member, action.length_ms)
    elif action.what == "pause":
        group.members.freeze(action.member, action.length_ms)
    elif action.what == "add_partitions":
        bound = group.world.rules[action.what]
        outcome = group.world.outcomes(bound, 0)[0]
        before = group.world["cluster", 0]
        assert isinstance(group, Group)
        group.take(bound, 0, outcome, group.clock.now, of_member=True)
        group.observer.added(group.world["cluster", 0] & ~before, group.clock.now)
    elif action.what == "start":
        group.members.start(action.member)
    elif action.what == "start_in_round":
        group.observer.next_round.append(lambda: _starts(group, action.member))
    else:
        group.members.stop(action.member, action.what)


def _starts(group: AnyGroup, member: int) -> None:
    """A process starts, once the step at hand is over."""
    group.clock.at(group.clock.now, group.members.start, member)


def _rests(group: AnyGroup) -> bool:
    """Has every process its share, and is every partition somebody's?"""
    coordinator = group.coordinator
    quiet = coordinator.rests() and coordinator.knows_all() and not group.observer.stopped
    quiet = quiet and (group.workers is None or group.workers.rest())
    return quiet and group.members.rest()


def _look(group: AnyGroup) -> None:
    """Ends the run once the group has been at rest for longer than its members need to hear of
    anything.
    """
    a, now = group.assumptions, group.clock.now
    quiet = 2 * (group.members.heartbeat_interval_ms + a.retry_backoff_ms)
    if now >= max(group.last_ms, group.observer.changed) + quiet and _rests(group):
        group.clock.stop()
    else:
        group.clock.at(now + LOOK_MS, _look, group)


def _result(setup: Setup, group: AnyGroup) -> Result:
    now, last, seen = group.clock.now, group.last_ms, group.observer
    open_ones = [(index, since, now) for index, since in seen.paused.items()]
    pauses, stood = [0.0] * setup.members, [0.0] * setup.members
    for index, since, until in (*seen.pauses, *open_ones):
        pauses[index] = max(pauses[index], until - since)
        stood[index] += until - since
    starts = [until - since for _, since, until in seen.starts]
    starts += [now - since for since in seen.starting.values()]
    return Result(
        setup=setup,
        longest_pause_ms=max(pauses, default=0.0),
        total_pause_ms=math.fsum(stood),
        paused_members=sum(pause > 0 for pause in pauses),
        pauses_ms=tuple(pauses),
        stood_ms=tuple(stood),
        longest_start_ms=max(starts, default=0.0),
        settled_ms=max(seen.changed, last) if now >= last and _rests(group) else None,
        rounds=seen.rounds,
        moved_partitions=seen.moved,
        false_expiries=seen.expired,
        requests=dict(sorted(seen.requests.items())),
        join_answer_bytes=seen.join_bytes,
        lag=lag(seen.turns, setup.partitions, now, setup.assumptions),
        ended_ms=now,
    )
