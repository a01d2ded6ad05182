"""A cluster of Connect's workers as far as its leader sees it: what they report from round to round
if they do what they are told, leave, come back, or miss an answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from random import Random

from attrs import evolve, frozen

from groupcheck.model.assignors.connect import (
    CURRENT,
    NOTHING,
    Config,
    Memory,
    Release,
    Round,
    Work,
    Worker,
    perform_assignment,
    running,
    work,
)
from groupcheck.model.assignors.connect.values import NO_GENERATION
from groupcheck.model.assignors.hash_order import by_text
from groupcheck.oracles.connect.rounds import Step

NO_CONFIG, NO_MEMORY = Config(), Memory()
NOW = 10_000_000
"""The time of every round in a normal form, in ms; what lies in the past is at 1."""


@frozen(cache_hash=True)
class Process:
    """A worker's process, member or not."""

    # Its member id; "" while it is no member.
    id: str = ""
    has: Work = NOTHING
    # The generation that it completed last.
    completed: int = NO_GENERATION
    # What it has read of the configurations.
    read: Config = NO_CONFIG
    # What it remembers as a leader.
    memory: Memory = NO_MEMORY
    up: bool = False


@frozen(cache_hash=True)
class Cluster:
    """All processes, what is configured, and the time."""

    processes: tuple[Process, ...]
    config: Config
    generation: int = 0
    now: int = NOW

    def members(self) -> list[int]:
        """The places of those that are in the group."""
        return [place for place, process in enumerate(self.processes) if process.id]

    def put(self, place: int, process: Process) -> Cluster:
        """The same with another process at a place."""
        before, after = self.processes[:place], self.processes[place + 1 :]
        return evolve(self, processes=(*before, process, *after))


@frozen
class Settings:
    """The choices that a cluster has."""

    configs: tuple[Work, ...]
    max_delay: int
    # Ids of members are numbered, each unlike all that somebody remembers; otherwise they are
    # random, as Kafka's are.
    numbered: Random | None = None


def start(processes: int, configured: Work) -> Cluster:
    """Nobody is there yet."""
    return Cluster((Process(),) * processes, Config(1, configured))


def changes(cluster: Cluster, settings: Settings) -> Iterator[Cluster]:
    """The events that can happen before a round: nothing; a process starts, dies, drops out of the
    group with all that it runs, comes back with it or without it; the configurations change, and
    one worker or all have read it; time passes.
    """
    yield cluster
    for place in range(len(cluster.processes)):
        yield from _moves(cluster, place, settings)
    for configured in settings.configs:
        yield from _reconfigured(cluster, configured)
    for ms in _waits(cluster):
        yield aged(cluster, ms)


def _moves(cluster: Cluster, place: int, settings: Settings) -> Iterator[Cluster]:
    process = cluster.processes[place]
    if not process.up:
        new = Process(_new_id(cluster, place, settings), read=cluster.config, up=True)
        yield cluster.put(place, new)
        return
    yield cluster.put(place, Process())
    if process.id:
        yield cluster.put(place, evolve(process, id=""))
        return
    back = evolve(process, id=_new_id(cluster, place, settings))
    yield cluster.put(place, back)
    yield cluster.put(place, evolve(back, has=NOTHING))


def _reconfigured(cluster: Cluster, configured: Work) -> Iterator[Cluster]:
    if configured == cluster.config.work:
        return
    config = Config(cluster.config.offset + 1, configured)
    changed = evolve(cluster, config=config)
    yield evolve(changed, processes=tuple(evolve(one, read=config) for one in cluster.processes))
    for place in cluster.members():
        yield changed.put(place, evolve(cluster.processes[place], read=config))


def _waits(cluster: Cluster) -> list[int]:
    due = [one.memory.scheduled_rebalance - cluster.now for one in cluster.processes]
    left = min((ms for ms in due if ms > 0), default=0)
    return [ms for ms in dict.fromkeys((left // 2, left)) if ms]


def aged(cluster: Cluster, ms: int) -> Cluster:
    """The same some ms later."""
    return evolve(cluster, now=cluster.now + ms)


def _new_id(cluster: Cluster, place: int, settings: Settings) -> str:
    letter = chr(ord("a") + place)
    if settings.numbered is not None:
        return f"{letter}-{settings.numbered.getrandbits(128):032x}"
    known = {one.id for one in cluster.processes}
    for one in cluster.processes:
        known |= one.memory.previous_members | set(one.memory.candidate_workers)
    return next(name for number in range(100) if (name := f"{letter}{number}") not in known)


def turns(cluster: Cluster, settings: Settings) -> Iterator[tuple[Cluster, int, int | None]]:
    """Every change, each member as the leader of the round after it, and who misses the answer."""
    for changed in changes(cluster, settings):
        members = changed.members()
        for leader in members:
            for missing in (None, *members):
                yield changed, leader, missing


def round_of(cluster: Cluster, leader: int, settings: Settings) -> Round:
    """The round that this leader is given."""
    ids = {cluster.processes[place].id: place for place in cluster.members()}
    workers = tuple(
        Worker(name, one.read.offset, one.has)
        for name in by_text(ids)
        if (one := cluster.processes[ids[name]])
    )
    first = cluster.processes[leader]
    return Round(
        leader=first.id,
        workers=workers,
        config=first.read,
        fresh=cluster.config,
        last_completed_generation_id=first.completed,
        generation_id=cluster.generation + 1,
        now=cluster.now,
        max_delay=settings.max_delay,
    )


def after(
    cluster: Cluster, leader: int, missing: int | None, round_: Round, release: Release
) -> Cluster:
    """The cluster after a round whose answers came to all but one."""
    assigned = perform_assignment(cluster.processes[leader].memory, round_, release)
    cluster = evolve(cluster, generation=round_.generation_id)
    first = evolve(cluster.processes[leader], memory=assigned.memory, read=assigned.config)
    cluster = cluster.put(leader, first)
    for place in cluster.members():
        if place != missing:
            one = cluster.processes[place]
            told = assigned.answer(one.id)
            cluster = cluster.put(
                place,
                evolve(
                    one,
                    has=running(one.has, told.revoked, told.assigned),
                    completed=round_.generation_id,
                ),
            )
    return cluster


def normal(cluster: Cluster) -> Cluster:
    """The same in other numbers: only differences of time, generation and offset count."""
    past = cluster.now - NOW
    current = evolve(cluster.config, offset=2)

    def process(one: Process) -> Process:
        memory = one.memory
        synced = memory.previous_generation_id == one.completed
        due = memory.scheduled_rebalance
        known = min(memory.previous_generation_id, 0)
        read = current if one.read == cluster.config else evolve(one.read, offset=1)
        memory = evolve(
            memory,
            previous_generation_id=known,
            scheduled_rebalance=max(1, due - past) if due > 0 else due,
        )
        return evolve(one, memory=memory, completed=known if synced else 1, read=read)

    return Cluster(tuple(map(process, cluster.processes)), current)


def reachable(
    processes: int, settings: Settings, most: int, release: Release = CURRENT
) -> Iterator[Step]:
    """Every round of the first clusters, breadth first; each memory with each input once."""
    first = start(processes, settings.configs[0])
    seen, waiting = {normal(first)}, deque([normal(first)])
    asked: set[tuple[Memory, Round]] = set()
    while waiting and most:
        most -= 1
        for changed, leader, missing in turns(waiting.popleft(), settings):
            round_ = round_of(normal(changed), leader, settings)
            before = normal(changed)
            memory = before.processes[leader].memory
            if (memory, round_) not in asked:
                asked.add((memory, round_))
                yield Step(round_, memory=memory)
            end = normal(after(before, leader, missing, round_, release))
            if end not in seen:
                seen.add(end)
                waiting.append(end)


def run(
    random: Random, processes: int, settings: Settings, length: int, release: Release = CURRENT
) -> Sequence[Step]:
    """One random run, in processes that go on."""
    cluster = start(processes, random.choice(settings.configs))
    steps: list[Step] = []
    started: set[int] = set()
    for _ in range(length):
        before = cluster
        cluster = _changed(random, cluster, settings)
        started -= {k for k, one in enumerate(cluster.processes) if not one.up}
        if cluster.now == before.now:
            cluster = aged(cluster, random.choice((0, 1, 1000)))
        members = cluster.members()
        if not members:
            continue
        leader = random.choice(members)
        missing = random.choice(members) if random.random() < 0.15 else None
        round_ = round_of(cluster, leader, settings)
        steps.append(Step(round_, process=leader, starts=leader not in started))
        started.add(leader)
        cluster = after(cluster, leader, missing, round_, release)
    return steps


def _changed(random: Random, cluster: Cluster, settings: Settings) -> Cluster:
    """One change; a process that is not in the group comes into it more often than one leaves."""
    out = [place for place, one in enumerate(cluster.processes) if not one.id]
    chosen = random.random()
    if out and chosen < 0.4:
        return random.choice(list(_moves(cluster, random.choice(out), settings)))
    if chosen < 0.6:
        place = random.randrange(len(cluster.processes))
        return random.choice(list(_moves(cluster, place, settings)))
    if chosen < 0.75:
        configured = random.choice(settings.configs)
        return random.choice([*_reconfigured(cluster, configured), cluster])
    if chosen < 0.9:
        return aged(cluster, random.choice([0, *_waits(cluster)]))
    return cluster


def configs(connectors: str, tasks: int) -> tuple[Work, ...]:
    """All configurations of these connectors with up to so many tasks each; the fullest first."""
    found = [NOTHING]
    for connector in connectors:
        more = [
            work((connector,), [(connector, task) for task in range(number)])
            for number in range(tasks + 1)
        ]
        found += [
            work((*one.connectors, *two.connectors), (*one.tasks, *two.tasks))
            for one in found
            for two in more
        ]
    return tuple(reversed(found))
