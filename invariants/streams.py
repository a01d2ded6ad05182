"""What a streams group of KIP-1071 promises: each task is run once, no process has it twice,
members follow the coordinator, and timers watch those for whom others wait.
"""

from __future__ import annotations

from typing import Annotated, Any

from groupcheck.model.engine import (
    always_possible,
    goal,
    invariant,
    settles,
    step_invariant,
    view,
)
from groupcheck.model.protocol.consumer.client import Member
from groupcheck.model.protocol.consumer.memory import Core, Previous, Seat, State, Timer
from groupcheck.model.protocol.consumer.messages import Kind, Tag
from groupcheck.model.protocol.family import STREAMS
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.streams import heartbeats, targets
from groupcheck.model.protocol.streams.client import StreamsMember
from groupcheck.model.protocol.streams.memory import StreamsCore, StreamsSeat, Topics
from groupcheck.model.protocol.streams.messages import Status, StreamsLink
from groupcheck.model.protocol.streams.reconciliation import taken
from groupcheck.model.protocol.streams.scope import StreamsScope
from groupcheck.model.protocol.streams.tasks import active, both, either, standby

TaskMasks = tuple[int, int]


@view(of=STREAMS)
def task_claim(seat: StreamsSeat | None, client: StreamsMember, link: StreamsLink) -> TaskMasks:
    """What a member has, and what the coordinator has for it. One whose epoch the coordinator does
    not know any more is a zombie, which its next heartbeat tells it.
    """
    if seat is None or not client.beats or link.tag == Tag.OLD:
        return 0, 0
    return client.holds, seat.owned


@view(of=STREAMS)
def in_process(seat: StreamsSeat | None) -> TaskMasks:
    """The process of a member (-1: there is none), and the tasks that are its own until it gives
    them up.
    """
    return (-1, 0) if seat is None else (seat.process, seat.owned)


@view(of=STREAMS)
def of_ghosts(ghosts: tuple[Seat, ...]) -> tuple[TaskMasks, ...]:
    """The same of members whose threads are gone."""
    return tuple((g.process, g.owned) for g in ghosts if isinstance(g, StreamsSeat))


def _run_once(a: TaskMasks, b: TaskMasks) -> bool:
    return not active(a[1] & b[1])


def _in_process_once(a: TaskMasks, b: TaskMasks) -> bool:
    return a[0] != b[0] or not either(a[1]) & either(b[1])


@invariant(
    of=STREAMS,
    source="KIP-1071, StreamsGroup.currentActiveTaskProcessId",
    broken="two members run one task",
)
def task_is_run_once(
    a: Annotated[TaskMasks, "in_process[i]"], b: Annotated[TaskMasks, "in_process[j]"]
) -> bool:
    """No task is active for two members, one that is still to be given up included."""
    return _run_once(a, b)


@invariant(
    of=STREAMS,
    source="KIP-1071, CurrentAssignmentBuilder",
    broken="two members of one process have one task, so they meet in its state directory",
)
def process_has_a_task_once(
    a: Annotated[TaskMasks, "in_process[i]"], b: Annotated[TaskMasks, "in_process[j]"]
) -> bool:
    """No two members of a process have the same task, in whatever roles.

    Why: a process keeps the state of a task in one directory, which one thread may open.
    """
    return _in_process_once(a, b)


@invariant(
    of=STREAMS,
    source="KIP-1071",
    broken="a member is given what another one has, whose thread is gone",
)
def task_of_ghost_is_kept(
    a: Annotated[TaskMasks, "in_process[i]"],
    b: Annotated[tuple[TaskMasks, ...], "of_ghosts"],
) -> bool:
    """What a member had whose thread is gone is nobody's, until its session ends."""
    return all(_run_once(a, g) and _in_process_once(a, g) for g in b)


@invariant(
    of=STREAMS,
    source="StreamsGroup.currentActiveTaskProcessId, currentStandbyTaskProcessIds",
    broken="a member has a task that counts as free",
)
def task_of_member_is_taken(core: StreamsCore, a: Annotated[TaskMasks, "in_process[i]"]) -> bool:
    """What a member has counts as taken in its process."""
    process, owned = a
    if process < 0:
        return True
    here = taken(core, process)
    return not owned & ~both(here.active_here, here.standby_here)


@invariant(
    of=STREAMS,
    source="KIP-1071",
    broken="a member that the coordinator knows has what the coordinator has not given it",
)
def member_runs_what_it_was_given(a: Annotated[TaskMasks, "task_claim[i]"]) -> bool:
    """A member has no task that the coordinator does not have for it, unless it was removed. It may
    have one as a standby that it has not heard it is to run.
    """
    extra = active(a[0] & ~a[1]) | either(a[0]) & ~either(a[1])
    return not extra


@invariant(
    of=STREAMS,
    source="KIP-1071",
    broken="a member counts as stable, but does not have its target",
)
def stable_member_runs_its_target(core: Core, seat: StreamsSeat | None) -> bool:
    """A member that is stable at the epoch of the target has the target, and nothing to give up."""
    if seat is None or core.pending or not seat.current or seat.state != State.STABLE:
        return True
    return not seat.revoking and seat.assigned == seat.target


@invariant(
    of=STREAMS,
    source="MemberState.UNREVOKED_TASKS",
    broken="a member is to give up nothing, or does not know that it is to give up something",
)
def giving_up_has_its_state(seat: StreamsSeat | None) -> bool:
    """A member has something to give up if, and only if, its state says so."""
    return seat is None or (seat.state == State.UNREVOKED) == bool(seat.revoking)


@invariant(
    of=STREAMS,
    source="group.streams.session.timeout.ms",
    broken="nothing would notice that a member is gone: its session timer does not run",
)
def streams_session_is_watched(seat: StreamsSeat | None) -> bool:
    """The session timer of each member runs."""
    return seat is None or seat.session


@invariant(
    of=STREAMS,
    source="KIP-1071, rebalance timeout",
    broken="nothing would end the wait for a member that gives up tasks",
)
def giving_up_is_watched(seat: StreamsSeat | None) -> bool:
    """The rebalance timer runs for each member that has something to give up."""
    return seat is None or seat.state != State.UNREVOKED or seat.rebalance == Timer.ON


@invariant(
    of=STREAMS,
    source="KIP-1071, rebalance timeout",
    broken="a member that has nothing to give up is removed when its rebalance timer ends",
)
def only_giving_up_is_watched(seat: StreamsSeat | None) -> bool:
    """The rebalance timer runs for no member that has nothing to give up."""
    return seat is None or seat.state == State.UNREVOKED or seat.rebalance == Timer.OFF


@invariant(of=STREAMS, source="group.streams.max.size", broken="the group has too many members")
def streams_size_is_limited(core: Core, scope: StreamsScope) -> bool:
    """No group has more members than group.streams.max.size."""
    return scope.max_size is None or core.members <= scope.max_size


@invariant(
    of=STREAMS, source="KAFKA-20442", broken="the empty group waits for a target that nobody asks"
)
def empty_streams_group_is_at_its_target(core: Core, scope: StreamsScope) -> bool:
    """With Kafka 4.4, a group without members is at its target."""
    settles = scope.release.settles_empty and core.exists
    return not settles or core.members > 0 or not core.pending


@invariant(
    of=STREAMS,
    source="KIP-1071, previous member epoch",
    broken="a member knows an epoch that the coordinator never gave it",
)
def streams_member_knows_no_later_epoch(link: StreamsLink) -> bool:
    """No member knows an epoch that is ahead of its record."""
    return link.tag != Tag.AHEAD


@step_invariant(
    "seat",
    rules=(heartbeats.reconcile_streams_member.name,),
    source="KIP-1071, member epoch",
    broken="the epoch of a member goes back",
    of=STREAMS,
)
def streams_epoch_never_goes_back(before: Any, after: Any) -> bool:
    """The epoch of a member never goes back, nor to that of one that has just come."""
    old, new = before.seat, after.seat
    if old is None or new is None:
        return True
    began = new.previous == Previous.ZERO and old.previous not in (Previous.NEW, Previous.ZERO)
    return bool(new.current >= old.current and not began)


@step_invariant(
    "walk",
    "core",
    rules=(targets.compute_streams_target.name,),
    source="KIP-1071, StickyTaskAssignor",
    broken="the plan leaves a task out, or gives it to one process twice",
    of=STREAMS,
)
def plan_gives_every_task(before: Any, after: Any, scope: StreamsScope) -> bool:
    """Each task is run by one member, and has its standbys in as many other processes as it needs,
    or as there are; without its topics the topology has no tasks.
    """
    shares = after.walk.errand.shares
    if before.core.known != Topics.READY or not shares:
        return not any(share for _, share in shares)
    processes = len({process for (process, *_), _ in shares})
    for task in range(scope.tasks):
        runs = [p for (p, *_), share in shares if active(share) >> task & 1]
        copies = [p for (p, *_), share in shares if standby(share) >> task & 1]
        every = [*runs, *copies]
        if len(runs) != 1 or len(copies) != min(scope.standbys, processes - 1):
            return False
        if len({*every}) != len(every):
            return False
    return True


@step_invariant(
    "core",
    "seat",
    "link",
    rules=(heartbeats.reconcile_streams_member.name,),
    source="KIP-1071, MemberState.UNRELEASED_TASKS",
    broken="a member waits for a task that nobody has",
    of=STREAMS,
)
def waits_for_a_task_of_others(before: Any, after: Any) -> bool:
    """A member waits only for tasks that somebody has: another member, or itself until now."""
    new, core = after.seat, before.core
    if before.link.undo is not None or new is None or new.state != State.UNRELEASED:
        return True
    had = 0
    for run, copied in zip(core.actives, core.standbys):
        had |= run | copied
    wanted = new.target | before.link.recalled
    return bool(either(wanted & ~new.assigned) & had)


@invariant(
    of=STREAMS,
    source="KIP-1071, StreamsGroupHeartbeatResponse",
    broken="a member that has heard every answer believes in other tasks",
)
def streams_member_knows_its_tasks(
    seat: StreamsSeat | None, client: StreamsMember, link: StreamsLink
) -> bool:
    """A member that has heard the answers to all its heartbeats knows its tasks.

    Why: the coordinator counts them as run, and gives them to nobody else.
    """
    if seat is None or client.state != Member.STABLE or link.tag != Tag.CURRENT:
        return True
    return not client.told or client.holds == seat.assigned


@step_invariant(
    "seat",
    "link",
    rules=(heartbeats.streams_heartbeat.name,),
    source="KIP-1071, group.streams.max.size",
    broken="a full group refuses a member that it has, until its session ends",
    of=STREAMS,
)
def streams_member_may_begin_anew(before: Any, after: Any, scope: StreamsScope) -> bool:
    """From Kafka 4.4 on, a member of a full group may join it again."""
    if before.seat is None or before.link.request.kind != Kind.JOIN:
        return True
    refused = after.link.answer is not None and after.link.answer.code == heartbeats.REFUSED["full"]
    return not refused or not scope.release.admits_stored


def _said(before: Any, after: Any) -> Status | None:
    """What the answer says to a member; None: it is an error, or nobody hears it."""
    answer = after.link.answer
    return None if answer is None or answer.code else answer.status


@step_invariant(
    "core",
    "link",
    rules=(heartbeats.reconcile_streams_member.name,),
    source="KIP-1071, SHUTDOWN_APPLICATION",
    broken="a member is not told that the application is to stop",
    of=STREAMS,
)
def stop_is_told(before: Any, after: Any) -> bool:
    """Once a member has asked that the application stops, the answer to each heartbeat says so."""
    said = _said(before, after)
    return said is None or not before.core.shutdown or bool(said & Status.SHUTDOWN_APPLICATION)


@step_invariant(
    "seat",
    "link",
    rules=(heartbeats.reconcile_streams_member.name,),
    source="KIP-1071, STALE_TOPOLOGY",
    broken="a member is not told that its topology is a former one",
    of=STREAMS,
)
def former_topology_is_told(before: Any, after: Any) -> bool:
    """A member with a former topology hears of it with each answer."""
    said = _said(before, after)
    return said is None or not before.seat.behind or bool(said & Status.STALE_TOPOLOGY)


def _arrived(core: StreamsCore, seat: StreamsSeat | None, client: StreamsMember) -> bool:
    settled = seat is not None and seat.current and seat.state == State.STABLE
    has = seat is not None and client.holds == seat.assigned
    seen = not core.pending and core.known == core.there
    return settled and has and seen and client.state == Member.STABLE


@goal("all i", of=STREAMS)
def streams_converged(core: StreamsCore, seat: StreamsSeat | None, client: StreamsMember) -> bool:
    """Every thread is a member that has its target."""
    return _arrived(core, seat, client)


@goal(of=STREAMS)
def waits_for_a_task(seat: StreamsSeat | None) -> bool:
    """A member waits for a task that another one has yet to give up."""
    return seat is not None and seat.state == State.UNRELEASED


@goal(of=STREAMS)
def has_to_give_up_a_task(seat: StreamsSeat | None) -> bool:
    """A member has to give up a task."""
    return seat is not None and seat.state == State.UNREVOKED


@view(of=STREAMS)
def streams_arrived(core: StreamsCore, seat: StreamsSeat | None, client: StreamsMember) -> bool:
    """Has a thread its target, or has it stopped?"""
    return client.state == Member.FATAL or _arrived(core, seat, client)


@always_possible("all i", source="KIP-1071", of=STREAMS)
def streams_can_converge(budget: Budget, at_target: Annotated[bool, "streams_arrived[i]"]) -> bool:
    """From every state in which no more faults come, some way leads to a group in which every
    thread has its target. Exempt is a thread that has stopped.
    """
    return at_target or budget.any > 0 or budget.left != ()


@settles(source="KIP-1071", of=STREAMS)
def streams_group_converges(at_target: Annotated[bool, "streams_arrived[i]"]) -> bool:
    """Once faults stop, every thread comes to its target and keeps it."""
    return at_target
