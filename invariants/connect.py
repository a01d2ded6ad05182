"""Connect workers: nothing runs twice or stops without need, and lost work waits only for its delay
(KIP-415).

The promises about plans look at each plan as the leader makes it. A plan that tells nobody to join
again is the last one of a rebalance, so what it does not give away stays idle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import or_
from typing import Annotated, Any

from groupcheck.model.engine import invariant, step_invariant, view
from groupcheck.model.protocol.classic import client as members
from groupcheck.model.protocol.classic import client_faults
from groupcheck.model.protocol.classic.client import Client, Member
from groupcheck.model.protocol.classic.group import Core, Seats, is_member
from groupcheck.model.protocol.connect import leader, worker
from groupcheck.model.protocol.connect.leader import Deal, Survey
from groupcheck.model.protocol.connect.memory import Memory, Schedule
from groupcheck.model.protocol.connect.scope import ConnectScope
from groupcheck.model.protocol.connect.worker import Backs, Led, Worker
from groupcheck.model.protocol.family import (
    CONNECT,
    CONNECT_ALIKE,
    CONNECT_BACKOFF,
    CONNECT_VERSIONS,
)

SENDING = (
    members.send_join.name,
    client_faults.lose_response.name,
    client_faults.delay_request.name,
)


@view(of=CONNECT)
def settled_work(
    core: Core,
    seats: Annotated[Seats, "seats[i]"],
    client: Annotated[Client, "client[i]"],
    worker: Annotated[Worker, "worker[i]"],
) -> int:
    """The work (bit mask) that a worker runs which has got its share of the current generation, and
    not only an error.
    """
    settled = client.state == Member.STABLE and not client.refused
    current = client.generation == core.generation and is_member(seats[client.id])
    return worker.runs if settled and current else 0


@view(of=CONNECT_VERSIONS)
def left_over_work(
    core: Core,
    seats: Annotated[Seats, "seats[i]"],
    client: Annotated[Client, "client[i]"],
    worker: Annotated[Worker, "worker[i]"],
) -> int:
    """The work (bit mask) that such a worker runs beside its share."""
    settled = client.state == Member.STABLE and not client.refused
    current = client.generation == core.generation and is_member(seats[client.id])
    return worker.runs & ~client.owned if settled and current else 0


@view(of=CONNECT)
def outsider_work(
    seats: Annotated[Seats, "seats[i]"],
    client: Annotated[Client, "client[i]"],
    worker: Annotated[Worker, "worker[i]"],
) -> int:
    """The work (bit mask) that a worker runs which is not a member, or has forgotten its id."""
    return 0 if is_member(seats[client.id]) else worker.runs


@view(of=CONNECT_BACKOFF)
def backing_work(worker: Annotated[Worker, "worker[i]"]) -> int:
    """The work (bit mask) that a worker runs which backs off."""
    return worker.runs if worker.backs != Backs.NO else 0


# -- the workers


@invariant(
    source="KIP-415; KAFKA-9841, KAFKA-10763",
    broken="{name} runs work that {other} runs, too",
    of=CONNECT_ALIKE,
)
def work_runs_once(
    a: Annotated[int, "settled_work[i]"], b: Annotated[int, "settled_work[j]"]
) -> bool:
    """No two workers that have got their shares of the current generation run the same work.

    Why: a worker stops what is revoked before it starts anything, and the leader revokes from all
    of them what several report. A worker outside the generation is presumed dead, and may still run
    what another one has got (see the goal `presumed_dead_runs`). If it comes back, and the leader
    has to answer with an error because it is behind, both go on until the next round. Where workers
    of several versions meet, this is no promise (see the goal `runs_what_another_has`).
    """
    return not a & b


@invariant(
    source="DistributedHerder.handleRebalanceCompleted; KAFKA-9851",
    broken="{name} has its share, and does not run all of it",
    of=CONNECT,
)
def runs_all_of_its_share(client: Client, worker: Worker) -> bool:
    """A worker that has its share and no reason to join again runs all of it.

    Why: it starts what it was given and does not run, whatever it ran before.
    """
    settled = client.state == Member.STABLE and not client.rejoin
    return not settled or not client.owned & ~worker.runs


@step_invariant(
    "client",
    "worker",
    rules=SENDING,
    source="KIP-415; WorkerCoordinator.onJoinPrepare",
    broken="{name} stops work to join again, although nobody has revoked it",
    of=CONNECT,
)
def work_goes_on(before: Any, after: Any) -> bool:
    """A worker that joins goes on with all of its work, even if it has lost its generation or its
    id. (One whose last round was eager does not.)

    Why: it keeps its work until the leader revokes it, so a rebalance stops only what moves.
    """
    if after.client in worker.GONE:  # `delay_request` may let a process close
        return True
    if after.worker.eager:
        return True
    kept = after.client.owned == before.client.owned
    return bool(kept and after.worker.runs == before.worker.runs)


@step_invariant(
    "client",
    "worker",
    rules=(worker.lose_coordinator.name,),
    source="WorkerCoordinator.poll; KAFKA-9184",
    broken="{name} does not find the coordinator, and goes on with its work",
    of=CONNECT,
)
def stops_when_cut_off(before: Any, after: Any) -> bool:
    """A worker that does not find the coordinator stops the work of its share.

    Why: it cannot know whether its work was given to another worker. (One whose last round was
    eager, and that could not start its work then, has stopped it already, unless the group has
    fallen back to eager rebalancing.)
    """
    if before.worker.eager and not before.worker.resolved:
        return True
    return not after.worker.runs & before.client.owned and not after.client.owned


@step_invariant(
    "client",
    "link",
    "worker",
    rules=(members.sync_answer.name,),
    source="DistributedHerder.handleRebalanceCompleted",
    broken="{name} does not join again, although its answer makes that necessary",
    of=CONNECT,
)
def joins_again(before: Any, after: Any) -> bool:
    """A worker joins again if its answer revokes something, or says that the leader was behind, or
    if the worker has read other configurations than the leader; with a delay it joins again when
    that is over.

    Why: only another round gives away what was revoked and what is lost. The worker starts nothing
    from configurations that are not the leader's.
    """
    told = before.link.answer.told
    if told is None or after.client.generation != before.link.answer.generation:
        return True
    if after.client.state != Member.STABLE or before.client.state == Member.STABLE:
        return True
    due = told.stops or told.error or after.worker.read != told.offset
    return bool((after.client.rejoin or not due) and after.worker.waits == told.delay)


# -- the plans


def _made(before: Any, after: Any) -> tuple[Survey, Deal] | None:
    """The leader's survey, and its plan; None if it makes none."""
    survey, deal = before.walk.errand, after.walk.errand
    return (survey, deal) if isinstance(deal, Deal) and not deal.error else None


def _of_all(masks: Iterable[int]) -> int:
    return reduce(or_, masks, 0)


def _remembered(before: Any) -> Memory:
    """The facts that the leader remembers as it makes the plan."""
    survey = before.walk.errand
    fresh = survey.leader.led == Led.NO
    return Memory() if fresh else before.memory


def _lost(before: Any, deal: Deal, scope: ConnectScope) -> int:
    """The work (bit mask) that the leader believes to be assigned and nobody reports, of what
    exists. A leader whose last plan was not completed believes nothing.
    """
    survey = before.walk.errand
    if survey.leader.led != Led.SETTLED:
        return 0
    reported = _of_all(claim.owned for claim in survey.claims)
    remembered = before.memory
    if remembered.revoked & reported:
        return 0
    return int(remembered.previous & ~reported & scope.configured(deal.offset))


def _counts(masks: Iterable[int], scope: ConnectScope) -> Iterator[list[int]]:
    """How many tasks each has, and how many connectors."""
    tasks = (1 << scope.task_count) - 1
    each = list(masks)
    yield [(mask & tasks).bit_count() for mask in each]
    yield [(mask & ~tasks).bit_count() for mask in each]


PLAN = leader.make_plan.name


@step_invariant(
    "walk",
    "memory",
    rules=(PLAN,),
    source="IncrementalCooperativeAssignor; KIP-415",
    broken="the leader gives away work that another worker still runs",
    of=CONNECT,
)
def plan_moves_in_two_steps(before: Any, after: Any) -> bool:
    """A plan gives no work to a worker while another one reports it. (An eager one does.)

    Why: the worker that has it must have stopped it first. It says so when it joins again.
    """
    made = _made(before, after)
    if made is None or made[1].eager:
        return True
    pairs = list(made[1].chosen)
    for k, (claim, share) in enumerate(pairs):
        others = [*pairs[:k], *pairs[k + 1 :]]
        given = share.owned & ~claim.owned
        if any(given & theirs.owned for theirs, _ in others):
            return False
    return True


@step_invariant(
    "walk",
    "memory",
    rules=(PLAN,),
    source="IncrementalCooperativeAssignor.handleLostAssignments; KAFKA-15693",
    broken="the leader's plan leaves work to nobody, and nobody will join again because of that",
    of=CONNECT,
)
def idle_work_is_scheduled(before: Any, after: Any, scope: ConnectScope) -> bool:
    """If a plan leaves work to nobody, a delay begins or runs, or a worker joins again at once,
    because the plan tells it to stop something.

    Why: so lost work is idle for the delay and the rounds behind it at most, while the leader
    stays. When the delay is over, there is only a second round if the plan revokes something.
    """
    made = _made(before, after)
    if made is None:
        return True
    deal = made[1]
    given = _of_all(share.owned for _, share in deal.chosen)
    idle = scope.configured(deal.offset) & ~given
    waits = deal.delay and _remembered(before).schedule != Schedule.OVER
    return not idle or waits or _revokes(deal)


@step_invariant(
    "walk",
    "memory",
    rules=(PLAN,),
    source="IncrementalCooperativeAssignor.handleLostAssignments; KAFKA-9848",
    broken="the leader begins a delay, although no worker has left",
    of=CONNECT,
)
def delay_has_a_reason(before: Any, after: Any) -> bool:
    """A delay begins only if a worker has left since the last plan, or if that revoked work to
    balance loads.

    Why: work that nobody runs although nobody has left was given away in an answer that got lost.
    It is given away again at once.
    """
    made = _made(before, after)
    if made is None or not made[1].delay:
        return True
    was = _remembered(before)
    if was.schedule != Schedule.NONE:
        return True
    known = sum(claim.known for claim in made[0].claims)
    return bool(was.balanced or known < was.members)


@step_invariant(
    "walk",
    "memory",
    rules=(PLAN,),
    source="IncrementalCooperativeAssignor.resetDelay; KAFKA-9184",
    broken="the leader goes on with a delay, although no work is lost",
    of=CONNECT,
)
def delay_ends_when_work_is_back(before: Any, after: Any, scope: ConnectScope) -> bool:
    """If nothing is lost, and the last plan revoked nothing to balance loads, no delay runs.

    Why: what was lost has come back with its worker. Otherwise the old delay would still count when
    other work is lost.
    """
    made = _made(before, after)
    if made is None or _remembered(before).balanced or _lost(before, made[1], scope):
        return True
    return not made[1].delay


@step_invariant(
    "walk",
    "memory",
    rules=(PLAN,),
    source="IncrementalCooperativeAssignor.candidateWorkersForReassignment; KAFKA-10413",
    broken=(
        "the delay is over, and the workers that came back do not get equal parts of the lost work"
    ),
    of=CONNECT,
)
def candidates_get_lost_work(before: Any, after: Any, scope: ConnectScope) -> bool:
    """When the delay is over, the workers that came with nothing while it ran get the lost work, in
    equal numbers: a worker that comes back alone gets all of it. (The same plan may take back what
    is then too much.)

    Why: such a worker is most probably the one that was lost. If another leader was elected
    meanwhile, it knows of no delay.
    """
    made = _made(before, after)
    if made is None or made[1].eager or _remembered(before).schedule != Schedule.OVER:
        return True
    deal = made[1]
    lost = _lost(before, deal, scope)
    came = [(claim, share) for claim, share in deal.chosen if claim.candidate]
    if not lost or not came:
        return True
    got = [(share.owned | share.stops) & ~claim.owned & lost for claim, share in came]
    even = all(max(counts) - min(counts) <= 1 for counts in _counts(got, scope))
    return even and _of_all(got) == lost


@step_invariant(
    "walk",
    "memory",
    rules=(PLAN,),
    source="IncrementalCooperativeAssignor.performLoadBalancingRevocations; KAFKA-12495",
    broken="the leader's plan gives one worker more than its part, and nobody will join again",
    of=CONNECT,
)
def last_plan_is_balanced(before: Any, after: Any, scope: ConnectScope) -> bool:
    """A plan after which nobody joins again gives workers equal numbers of tasks, and of
    connectors, or one more to some.

    Why: the leader revokes what a worker has too much, whether or not it did so in its last plan.
    """
    made = _made(before, after)
    if made is None or made[1].delay or _revokes(made[1]):
        return True
    shares = [share.owned for _, share in made[1].chosen]
    return all(max(counts) - min(counts) <= 1 for counts in _counts(shares, scope))


def _revokes(deal: Deal) -> bool:
    return any(share.stops for _, share in deal.chosen)


@step_invariant(
    "walk",
    "memory",
    rules=(PLAN,),
    source="IncrementalCooperativeAssignor.ensureLeaderConfig",
    broken="the leader makes a plan from configurations that are older than a worker's",
    of=CONNECT,
)
def plan_knows_all_work(before: Any, after: Any) -> bool:
    """A plan is made from configurations that no worker's are ahead of.

    Why: a leader that is behind would give away work that no longer exists, and leave out what is
    new. It lets everybody join again instead.
    """
    made = _made(before, after)
    return made is None or made[1].offset >= made[0].offset


@step_invariant(
    "memory",
    "leavers",
    rules=(leader.delay_over.name,),
    source="DistributedHerder.backoff; KAFKA-9849",
    broken="the delay is over, and a worker that had left before still runs its work",
    of=CONNECT_BACKOFF,
)
def stops_before_the_delay_is_over(before: Any, after: Any) -> bool:
    """When a delay is over, every worker that had left before it began, because it could not read
    the topic of configurations, has joined again or has stopped its work.

    Why: its back-offs take less than a quarter of the delay. Otherwise its work would be given away
    while it still runs. (A new leader knows of no delay, and gives it away at once: see the goal
    `runs_while_it_backs_off`.)
    """
    return not before.leavers
