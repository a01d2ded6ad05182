"""The plans of a leader of workers: Kafka's assignor (`model.assignors.connect`) with the memory
and the reports of the model.

The assignor's answer depends on two orders of the workers' ids, which are random in Kafka: that of
the ids, and that of a HashMap of them. Here every order is possible, and so is every order in which
candidates came. A worker lists its work in ascending order.

Time is abstract: the assignor is asked at a time before the schedule, or behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import permutations

from attrs import evolve, frozen

from groupcheck.model.assignors import connect as assignor
from groupcheck.model.assignors.connect import CURRENT, Release, Round, Work, work
from groupcheck.model.protocol.connect.memory import Memory, Schedule
from groupcheck.model.protocol.connect.scope import ConnectScope

NOW, DUE_MS, MAX_DELAY_MS = 1_000, 2_000, 300_000
LAST, THIS = 1, 2  # generations: the one that the leader completed last, and the present one


@frozen(order=True)
class Claim:
    """The facts that the leader knows of one worker."""

    # What it reports, as a bit mask.
    owned: int
    # The leader's last plan counted it (previousMembers).
    known: bool = False
    candidate: bool = False


@frozen(order=True)
class Share:
    """The work that one worker has after the plan."""

    # As a bit mask.
    owned: int
    # What it is told to stop, as a bit mask. It may never have had some of this: the plan gives
    # lost work to a candidate first, and then takes back what is too much.
    stops: int = 0
    candidate: bool = False


Chosen = tuple[tuple[Claim, Share], ...]  # for each worker


@frozen
class Planned:
    """A plan, and what the leader remembers then."""

    memory: Memory
    chosen: Chosen

    @property
    def delay(self) -> bool:
        """Does it tell the workers to join again after a delay?"""
        return self.memory.schedule != Schedule.NONE


@frozen
class Order:
    """The names and orders that are random in Kafka. The worker of claim number k is called
    `names[k]`; the workers stand in the leader's map in the order `listed`, and candidates came in
    the order `came` (both are numbers of claims).
    """

    names: Sequence[int]
    listed: Sequence[int]
    came: Sequence[int]


@frozen
class Times:
    """The leader's clock and settings, in ms."""

    now: int
    # When its delayed round is due, where one is scheduled (scheduledRebalance).
    due: int
    # scheduled.rebalance.max.delay.ms
    max_delay: int
    # numSuccessiveRevokingRebalances
    revoking: int = 0


def abstract(schedule: Schedule, scope: ConnectScope) -> Times:
    """Times of which only the order counts."""
    due = NOW if schedule == Schedule.OVER else DUE_MS
    return Times(NOW, due, MAX_DELAY_MS if scope.delay else 0)


@lru_cache(maxsize=1 << 14)
def plans(
    memory: Memory,
    settled: bool,
    claims: tuple[Claim, ...],
    configured: int,
    scope: ConnectScope,
    release: Release = CURRENT,
) -> tuple[Planned, ...]:
    """Every plan that the leader may make, each once. `settled`: its last plan is that of the
    generation that it completed last. `claims`: in ascending order.
    """
    times = abstract(memory.schedule, scope)
    found: dict[Planned, None] = {}
    for names in permutations(range(len(claims))):
        for listed in permutations(range(len(claims))):
            for came in permutations([k for k in listed if claims[k].candidate]):
                order = Order(names, listed, came)
                made, _ = plan(memory, settled, claims, configured, scope, order, times, release)
                found[evolve(made, chosen=tuple(sorted(made.chosen)))] = None
    return tuple(found)


def plan(
    memory: Memory,
    settled: bool,
    claims: tuple[Claim, ...],
    configured: int,
    scope: ConnectScope,
    order: Order,
    times: Times,
    release: Release = CURRENT,
) -> tuple[Planned, assignor.Memory]:
    """One plan, with the shares in the order of the claims, and what Kafka's assignor remembers
    then.
    """
    names = order.names
    known = [names[k] for k, claim in enumerate(claims) if claim.known]
    gone = range(len(claims), len(claims) + memory.members - len(known))
    scheduled = times.due if memory.schedule != Schedule.NONE else 0
    remembered = assignor.Memory(
        previous_assignment=work_of(memory.previous, scope),
        previous_revocation=work_of(memory.revoked, scope),
        previous_members=frozenset((*known, *gone)),
        previous_generation_id=LAST if settled else assignor.values.NO_GENERATION,
        scheduled_rebalance=scheduled,
        delay=scheduled and DUE_MS - NOW,
        candidate_workers=tuple(names[k] for k in order.came),
        revoked_in_previous=memory.balanced,
        num_successive_revoking_rebalances=times.revoking,
    )
    round_ = Round(
        leader=names[0],
        workers=tuple(
            assignor.Worker(names[k], 0, work_of(claims[k].owned, scope)) for k in order.listed
        ),
        config=assignor.Config(0, work_of(configured, scope)),
        last_completed_generation_id=LAST,
        generation_id=THIS,
        now=times.now,
        max_delay=times.max_delay,
    )
    made = assignor.perform_assignment(remembered, round_, release)
    after = made.memory
    shares = []
    for k, claim in enumerate(claims):
        answer = made.answer(names[k])
        stops = mask_of(answer.revoked, scope)
        has = claim.owned & ~stops | mask_of(answer.assigned, scope)
        shares.append((claim, Share(has, stops, names[k] in after.candidate_workers)))
    planned = Planned(
        Memory(
            previous=mask_of(after.previous_assignment, scope),
            revoked=mask_of(after.previous_revocation, scope),
            members=len(after.previous_members),
            schedule=Schedule.RUNNING if after.delay else Schedule.NONE,
            balanced=after.revoked_in_previous,
        ),
        tuple(shares),
    )
    return planned, after


def work_of(mask: int, scope: ConnectScope) -> Work:
    """The connectors and tasks of a bit mask, in ascending order."""
    items = [k for k in range(scope.partition_count) if mask >> k & 1]
    tasks = scope.task_count
    return work([k - tasks for k in items if k >= tasks], [(0, k) for k in items if k < tasks])


def mask_of(items: Work, scope: ConnectScope) -> int:
    """The bit mask of connectors and tasks."""
    return sum(1 << k for k in _bits(items, scope))


def _bits(items: Work, scope: ConnectScope) -> Iterator[int]:
    yield from (number for _, number in items.tasks)
    yield from (connector + scope.task_count for connector in items.connectors)


def forgotten(claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """The claims as a leader without memory sees them, in the same order."""
    return tuple(evolve(claim, known=False, candidate=False) for claim in claims)
