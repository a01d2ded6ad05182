"""Mistakes that a coordinator of streams groups (KIP-1071), or a member, could make, seeded."""

from __future__ import annotations

from typing import Any

import attrs

from groupcheck.model.engine import evolve
from groupcheck.model.mutations.twists import Values, after, reads, sees
from groupcheck.model.protocol.consumer.memory import Previous, State, Timer
from groupcheck.model.protocol.consumer.messages import Tag
from groupcheck.model.protocol.family import STREAMS
from groupcheck.model.protocol.mutation import SEEDED, Mutation
from groupcheck.model.protocol.streams import client, heartbeats, targets, timers
from groupcheck.model.protocol.streams.memory import Topics, placed
from groupcheck.model.protocol.streams.messages import Status
from groupcheck.model.protocol.streams.tasks import both, either

RECONCILE = heartbeats.reconcile_streams_member


def _given(before: Values, after: Values, tasks: int) -> Values:
    """The member is given these tasks, too, and is told."""
    seat, link = after["seat"], after["link"]
    assigned = seat.assigned | tasks
    state = State.STABLE if assigned == seat.target else seat.state
    new = evolve(seat, assigned=assigned, state=state)
    answer = attrs.evolve(link.answer, assigned=new.assigned) if link.answer else None
    core = placed(before["core"], before["seat"], new)
    return {"seat": new, "link": evolve(link, answer=answer), "core": core}


def _gives_what_others_have(before: Values, label: str, after: Values) -> Values:
    seat = after["seat"]
    if label != "advanced" or seat.state != State.UNRELEASED:
        return {}
    return _given(before, after, seat.target)


def _gives_what_its_process_has(before: Values, label: str, after: Values) -> Values:
    seat, core = after["seat"], before["core"]
    if label != "advanced" or seat.state != State.UNRELEASED:
        return {}
    copies = both(0, core.standbys[seat.process] & ~core.actives[seat.process])
    return _given(before, after, seat.target & copies)


def _forgets_who_has_it(before: Values, label: str, after: Values) -> Values:
    return {"core": evolve(after["core"], actives=before["core"].actives)}


def _hears_of_no_task(given: Values) -> Values:
    link = given["link"]
    if link.request is None:
        return {}
    return {"link": evolve(link, request=attrs.evolve(link.request, owned=0))}


def _in_seat(label: str, **changed: Any) -> Any:
    """Leaves other values in the record where this is the outcome."""

    def change(before: Values, given: str, after: Values) -> Values:
        return {"seat": evolve(after["seat"], **changed)} if given == label else {}

    return change


def _starts_no_timer(before: Values, label: str, after: Values) -> Values:
    seat = after["seat"]
    return {"seat": evolve(seat, session=False)} if label in ("kept", "advanced") else {}


def _keeps_its_timer(before: Values, label: str, after: Values) -> Values:
    if label != "advanced":
        return {}
    return {"seat": evolve(after["seat"], rebalance=before["seat"].rebalance)}


def _begins_epochs_anew(before: Values, label: str, after: Values) -> Values:
    if label != "advanced" or before["seat"].previous != Previous.OLDER:
        return {}
    return {"seat": evolve(after["seat"], previous=Previous.ZERO)}


def _answer(before: Values, label: str, after: Values, **changed: Any) -> Values:
    link = after["link"]
    if link.answer is None or label == "failed":
        return {}
    return {"link": evolve(link, answer=attrs.evolve(link.answer, **changed))}


def _gives_out_epochs_ahead(before: Values, label: str, after: Values) -> Values:
    return _answer(before, label, after, tag=Tag.AHEAD) if label == "advanced" else {}


def _says_nothing(status: Status) -> Any:
    def change(before: Values, label: str, after: Values) -> Values:
        answer = after["link"].answer
        said = answer.status & ~status if answer is not None else Status.NONE
        return _answer(before, label, after, status=said)

    return change


def _leaves_the_first_out(before: Values, label: str, after: Values) -> Values:
    walk = after["walk"]
    shares = tuple((key, share & (share - 1)) for key, share in walk.errand.shares)
    return {"walk": evolve(walk, errand=evolve(walk.errand, shares=shares))}


def _takes_the_topics_for_ready(given: Values) -> Values:
    return {"core": evolve(given["core"], known=Topics.READY)}


def _takes_all_for_taken(given: Values) -> Values:
    core = given["core"]
    return {"core": evolve(core, standbys=tuple(either(-1) for _ in core.standbys))}


def _hears_no_assignment(given: Values) -> Values:
    link = given["link"]
    if given["client"].holds == 0 or link.answer.assigned is None:
        return {}
    return {"link": evolve(link, answer=attrs.evolve(link.answer, assigned=None))}


ONE: dict[str, Any] = {"members": 1, "tasks": 1}
TWO: dict[str, Any] = {"members": 2, "tasks": 1}

MUTATIONS = (
    Mutation(
        id="streams_task_of_another_is_free",
        ticket=SEEDED,
        title="A member is given a task that another one has not given up.",
        family=STREAMS,
        invariant="task_is_run_once",
        doc="Seeded: nobody asks which process runs the task.",
        scope={**TWO, "processes": 2},
        twists=after(RECONCILE, change=_gives_what_others_have),
    ),
    Mutation(
        id="streams_task_of_ghost_is_free",
        ticket=SEEDED,
        title="A member is given the task of one whose thread is gone, before its session ends.",
        family=STREAMS,
        invariant="task_of_ghost_is_kept",
        doc="Seeded: nobody asks which process runs the task.",
        scope={**ONE, "faults": {"crash": 1}},
        twists=after(RECONCILE, change=_gives_what_others_have),
    ),
    Mutation(
        id="streams_standby_of_the_process_is_free",
        ticket=SEEDED,
        title="A member is given a standby that another thread of its process has.",
        family=STREAMS,
        invariant="process_has_a_task_once",
        doc="Seeded: nobody asks which standbys the process has.",
        scope={"members": 3, "processes": 2, "tasks": 1, "standbys": 1},
        twists=after(RECONCILE, change=_gives_what_its_process_has),
    ),
    Mutation(
        id="streams_owner_is_not_noted",
        ticket=SEEDED,
        title="A task that is given still counts as free.",
        family=STREAMS,
        invariant="task_of_member_is_taken",
        doc="Seeded: the record of a member does not change which process has which task.",
        scope=ONE,
        twists=after(RECONCILE, change=_forgets_who_has_it),
    ),
    Mutation(
        id="streams_revocation_is_not_awaited",
        ticket=SEEDED,
        title="A task counts as given up as soon as the member is to give it up.",
        family=STREAMS,
        invariant="member_runs_what_it_was_given",
        doc="Seeded: the coordinator takes a heartbeat for one that names no tasks.",
        scope={**TWO, "faults": {"lose_response": 1}},
        twists=sees(RECONCILE, change=_hears_of_no_task),
    ),
    Mutation(
        id="streams_waiting_member_is_stable",
        ticket=SEEDED,
        title="A member that waits for a task counts as stable.",
        family=STREAMS,
        invariant="stable_member_runs_its_target",
        doc="Seeded: the state UNRELEASED_TASKS is never written.",
        scope=TWO,
        twists=after(RECONCILE, change=_in_seat("advanced", state=State.STABLE)),
    ),
    Mutation(
        id="streams_revocation_is_not_kept",
        ticket=SEEDED,
        title="What a member has to give up is not written.",
        family=STREAMS,
        invariant="giving_up_has_its_state",
        doc="Seeded: the record has the state, but no tasks that are pending.",
        scope=TWO,
        twists=after(RECONCILE, change=_in_seat("unrevoked", revoking=0)),
    ),
    Mutation(
        id="streams_session_timer_is_not_started",
        ticket=SEEDED,
        title="A heartbeat does not start the session timer.",
        family=STREAMS,
        invariant="streams_session_is_watched",
        doc="Seeded: the timer is taken away and no other one begins.",
        scope=ONE,
        twists=after(RECONCILE, change=_starts_no_timer),
    ),
    Mutation(
        id="streams_rebalance_timer_is_not_started",
        ticket=SEEDED,
        title="Nobody watches a member that has to give up a task.",
        family=STREAMS,
        invariant="giving_up_is_watched",
        doc="Seeded: the rebalance timer does not begin.",
        scope=TWO,
        twists=after(RECONCILE, change=_in_seat("unrevoked", rebalance=Timer.OFF)),
    ),
    Mutation(
        id="streams_rebalance_timer_goes_on",
        ticket=SEEDED,
        title="The rebalance timer of a member goes on after it has given up its tasks.",
        family=STREAMS,
        invariant="only_giving_up_is_watched",
        doc="Seeded: the timer is not taken away.",
        scope=TWO,
        twists=after(RECONCILE, change=_keeps_its_timer),
    ),
    Mutation(
        id="streams_size_is_not_checked",
        ticket=SEEDED,
        title="A full group takes another member.",
        family=STREAMS,
        invariant="streams_size_is_limited",
        doc="Seeded: group.streams.max.size is compared with the size of an empty group.",
        scope={**TWO, "max_size": 1},
        twists=reads(heartbeats.streams_heartbeat, max_size=None),
    ),
    Mutation(
        id="streams_empty_group_is_not_settled",
        ticket=SEEDED,
        title="A group that has lost its last member waits for a target.",
        family=STREAMS,
        invariant="empty_streams_group_is_at_its_target",
        doc="Seeded: what Kafka did before 4.4.",
        scope={**ONE, "kafka": "4.4.0", "faults": {"session_timeout": 1}},
        twists=reads(timers.streams_session_timeout, kafka="4.3.1"),
    ),
    Mutation(
        id="streams_epoch_is_ahead",
        ticket=SEEDED,
        title="The answer has the epoch of the group's next target.",
        family=STREAMS,
        invariant="streams_member_knows_no_later_epoch",
        doc="Seeded: the answer is made of the group epoch plus one; the next heartbeat is fenced.",
        scope=ONE,
        twists=after(RECONCILE, change=_gives_out_epochs_ahead),
    ),
    Mutation(
        id="streams_epochs_begin_anew",
        ticket=SEEDED,
        title="A member that has had several epochs is written as a new one.",
        family=STREAMS,
        invariant="streams_epoch_never_goes_back",
        doc="Seeded: the previous epoch is written as 0.",
        scope={"members": 3, "tasks": 1},
        twists=after(RECONCILE, change=_begins_epochs_anew),
    ),
    Mutation(
        id="streams_plan_is_incomplete",
        ticket=SEEDED,
        title="The plan leaves a task out.",
        family=STREAMS,
        invariant="plan_gives_every_task",
        doc="Seeded: an assignor that gives each member one task less. Nobody runs those.",
        scope=ONE,
        twists=after(targets.compute_streams_target, change=_leaves_the_first_out),
    ),
    Mutation(
        id="streams_plan_without_topics",
        ticket=SEEDED,
        title="The plan has tasks whose topics are missing.",
        family=STREAMS,
        invariant="plan_gives_every_task",
        doc="Seeded: the assignor is asked although the topology is not ready.",
        scope={**ONE, "faults": {"metadata": 1}},
        twists=sees(targets.compute_streams_target, change=_takes_the_topics_for_ready),
    ),
    Mutation(
        id="streams_free_task_is_not_given",
        ticket=SEEDED,
        title="A member waits for a task although it is free.",
        family=STREAMS,
        invariant="waits_for_a_task_of_others",
        doc="Seeded: every process counts as one that has every standby.",
        scope=ONE,
        twists=sees(RECONCILE, change=_takes_all_for_taken),
    ),
    Mutation(
        id="streams_member_keeps_its_first_tasks",
        ticket=SEEDED,
        title="A member takes its first tasks and no others.",
        family=STREAMS,
        invariant="streams_member_knows_its_tasks",
        doc="Seeded: an assignment is followed only by a member that has none.",
        scope=TWO,
        twists=sees(client.hear_streams_answer, change=_hears_no_assignment),
    ),
    Mutation(
        id="streams_full_group_refuses_its_member",
        ticket=SEEDED,
        title="A full group refuses a member of its own that joins again.",
        family=STREAMS,
        invariant="streams_member_may_begin_anew",
        doc="Seeded: what Kafka did before 4.4.",
        scope={**ONE, "kafka": "4.4.0", "max_size": 1, "faults": {"lose_response": 1}},
        twists=reads(heartbeats.streams_heartbeat, kafka="4.3.1"),
    ),
    Mutation(
        id="streams_stop_is_not_told",
        ticket=SEEDED,
        title="Members do not hear that the application is to stop.",
        family=STREAMS,
        invariant="stop_is_told",
        doc="Seeded: the answer lacks the status SHUTDOWN_APPLICATION.",
        scope={**TWO, "faults": {"shutdown": 1}},
        twists=after(RECONCILE, change=_says_nothing(Status.SHUTDOWN_APPLICATION)),
    ),
    Mutation(
        id="streams_former_topology_is_not_told",
        ticket=SEEDED,
        title="A member with a former topology does not hear of it.",
        family=STREAMS,
        invariant="former_topology_is_told",
        doc="Seeded: the answer lacks the status STALE_TOPOLOGY.",
        scope={**TWO, "topologies": 2},
        twists=after(RECONCILE, change=_says_nothing(Status.STALE_TOPOLOGY)),
    ),
)
