"""Schedules until the time is over: each group goes to the nearest kind of row that nobody has
seen, and at random once there is none.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from functools import partial

from attrs import define, evolve, field

from groupcheck.oracles.conform.row import Asks, Fires, Memory
from groupcheck.oracles.judge.broker.acts import asked, due
from groupcheck.oracles.judge.broker.differences import Differs, Late
from groupcheck.oracles.judge.broker.graph import KeptRows
from groupcheck.oracles.judge.broker.kinds import Edge, Way, kind_of, may_change
from groupcheck.oracles.judge.broker.ledger import TRIES, Ledger, wanted_of
from groupcheck.oracles.judge.broker.profiles import Profile, rows_of
from groupcheck.oracles.judge.broker.refusals import LOOKS
from groupcheck.oracles.judge.broker.surroundings import coordinator_of
from groupcheck.oracles.judge.broker.target import Pace, Target
from groupcheck.oracles.judge.broker.walk import Walk
from groupcheck.oracles.judge.following import requests
from groupcheck.oracles.judge.following.nearest import nearest
from groupcheck.oracles.judge.report.schedules import Act
from groupcheck.oracles.wire.connections import Connections
from groupcheck.oracles.wire.security import PLAINTEXT, Security

STEPS = 24  # of one schedule, at most
FAR = 5_000  # memories among which the nearest row is looked for
NEAR = 100  # the same, while timers run
LOOKS_APART = 0.25  # of the steps are questions about no group, as long as there are some
STRAYS = 0.1  # of the steps are taken at random
# The least and the most: before an answer counts as not come, and for one that must come.
QUIET_S, PATIENCE_S = (0.01, 0.25), (1.5, 7.0)
HASTY_S = 0.5  # the least, for what is tried again at leisure
MOST = 0.95  # of the answers, where a longer wait is no loss
LEARNED, LONGER = 20, 8  # answers from which patience is learned, and how much longer it is
CAREFUL_S, CAREFUL_WAITING_S = 0.4, 0.15  # before an answer counts as not come, at leisure
TOLD_S = 0.1  # between two reports of how far it is


@define
class Judging:
    """One broker that is judged."""

    target: Target
    security: Security = PLAINTEXT
    seed: int = 0
    ledger: Ledger = field(factory=Ledger)
    # Set by Ctrl-C, or by an error in one of the threads.
    stopped: threading.Event = field(factory=threading.Event)
    _rows: dict[object, KeptRows] = field(factory=dict)
    _edges: dict[tuple[str, Memory], tuple[Edge, ...]] = field(factory=dict)
    _groups: int = 0
    _threads: int = 0
    _prefix: str = field(factory=lambda: f"groupcheck-{time.time_ns() // 1_000_000:x}")

    def rows(self, profile: Profile) -> KeptRows:
        with self.ledger.lock:
            if profile.rows not in self._rows:
                self._rows[profile.rows] = rows_of(profile)
            return self._rows[profile.rows]

    def pace(self, share: float = 1.0, least_s: float = PATIENCE_S[0]) -> Pace:
        """As fast as the broker's answers allow: an answer that must not come is waited for as long
        as most answers take, one that must come for longer than this share of them took, and for
        `least_s` at least.
        """
        every = list(self.ledger.waited_s)
        some = sorted(seconds for _, seconds in every[-200:])
        usual = some[int(len(some) * 0.95)] if some else QUIET_S[0]
        of_api: dict[str, list[float]] = {}
        for name, seconds in every:
            of_api.setdefault(name, []).append(seconds)
        # A LeaveGroup may end a round, as a JoinGroup does.
        rounds = of_api.get(requests.JOIN_GROUP.name, [])
        of_api[requests.LEAVE_GROUP.name] = rounds + of_api.get(requests.LEAVE_GROUP.name, [])
        return Pace(
            usual_s=_patience([seconds for _, seconds in every], share, least_s),
            of_api={
                name: _patience(waited, share, least_s)
                for name, waited in of_api.items()
                if len(waited) >= LEARNED
            },
            quiet_s=min(max(2 * usual, QUIET_S[0]), QUIET_S[1]),
        )

    def haste(self) -> Pace:
        """Faster, for what is tried again at leisure."""
        return evolve(self.pace(MOST, HASTY_S), lag_s=HASTY_S)

    def leisure(self, profile: Profile) -> Pace:
        """Slower: twice the patience, and longer waits for answers that must not come."""
        usual, quiet_s = self.pace(MOST), CAREFUL_WAITING_S if profile.waits else CAREFUL_S
        of_api = {name: min(2 * one, PATIENCE_S[1]) for name, one in usual.of_api.items()}
        usual_s = min(2 * usual.usual_s, PATIENCE_S[1])
        return Pace(usual_s, of_api, max(quiet_s, usual.quiet_s))

    def started(
        self, profile: Profile, pace: Pace, is_over: Callable[[], bool] = lambda: False
    ) -> Walk:
        """A group that nobody has used."""
        with self.ledger.lock:
            self._groups += 1
            group = f"{self._prefix}-{self._groups}"
        at = coordinator_of(group, self.target, self.security)
        connections = Connections(at, self.security)
        return Walk(self.target, profile, self.rows(profile), connections, group, pace, is_over)

    def explore(
        self,
        profiles: Sequence[Profile],
        seconds: float,
        threads: int,
        tell: Callable[[], None],
        most: int | None = None,
    ) -> None:
        """Runs schedules for so many seconds. After `most` schedules no more are begun."""
        until = time.monotonic() + seconds
        plain = [profile for profile in profiles if not profile.waits]
        waiting = [profile for profile in profiles if profile.waits]
        kinds = [plain] * threads if plain else []
        kinds += [waiting] * threads if waiting else []
        jobs = [
            partial(self._some, some, until, random.Random(f"{self.seed}-{k}"), most)
            for k, some in enumerate(kinds, self._threads)
        ]
        self._threads += len(kinds)  # whoever explores once more chooses otherwise
        self.all(jobs, len(jobs), tell)

    def all(
        self, jobs: Sequence[Callable[[], None]], threads: int, tell: Callable[[], None]
    ) -> None:
        """Does the jobs, several at a time. The first error, and Ctrl-C, end the others early."""
        with ThreadPoolExecutor(threads or 1) as pool:
            left = {pool.submit(job) for job in jobs}
            try:
                while left:
                    tell()
                    done, left = wait(left, TOLD_S, FIRST_COMPLETED)
                    for job in done:
                        job.result()
            except BaseException:
                self.stopped.set()
                raise

    def _some(
        self,
        profiles: Sequence[Profile],
        until: float,
        rng: random.Random,
        most: int | None,
    ) -> None:
        while time.monotonic() < until and not self.stopped.is_set():
            if most is not None and self.ledger.schedules >= most:
                return
            there = [p for p in profiles if not self.ledger.dropped(p)]
            if not there:  # the broker makes no group of any of them
                return
            # One in which something is left to see, if there is one, of the profiles with the
            # fewest schedules. The way is looked for before any timer runs.
            rng.shuffle(there)
            there.sort(key=lambda profile: self.ledger.begun[profile.name])
            ways = ((p, self._way(p, self.rows(p).start())) for p in there)
            profile, way = next((one for one in ways if one[1]), (there[0], ()))
            self._one(profile, way, rng, until)

    def _one(
        self, profile: Profile, way: tuple[Way, ...], rng: random.Random, until: float
    ) -> None:
        """One schedule, which begins with this way."""
        walk = self.started(profile, self.pace(), self.stopped.is_set)
        walk.way = list(way)
        self._seeks(walk)
        with self.ledger.lock:
            self.ledger.begun[profile.name] += 1
        try:
            walk.begin()
            for _ in range(STEPS):
                if time.monotonic() > until or self.stopped.is_set():
                    self._sought_in_vain(walk)
                    break
                if walk.is_late():
                    raise Late
                if not self._step(walk, rng):
                    break
        except Differs as differs:
            walk.note(differs.difference)
        except Late:
            self._sought_in_vain(walk)
            with self.ledger.lock:
                self.ledger.late += not self.stopped.is_set()
        finally:
            walk.close()
        self.ledger.note(profile, walk.met)

    def inputs(self, profile: Profile, memory: Memory) -> list[Asks | Fires]:
        """What may be sent, or waited for, in a group of that profile."""
        rows = self.rows(profile)
        return [*rows.asks(memory), *due(profile, rows, memory)]

    def _way(self, profile: Profile, memory: Memory, waited: str = "") -> tuple[Way, ...]:
        """The nearest way to a kind of row that is wanted, first one that nobody else is on his way
        to, or, if there is none, to one of a known kind in which the model allows what was not seen
        in it; empty if there is none. `waited`: the timer that was waited for; what lies behind it
        is wanted, too.
        """
        rows, ledger = self.rows(profile), self.ledger

        def edges(at: Memory) -> list[Edge]:
            every = [e for e in self.edges(profile, at) if not ledger.muted(profile, e.kind)]
            if profile.waits and not waited:  # no request is sought, but as a step to a timer
                return [e for e in every if may_change(at, e.given)]
            return every

        def new(at: Memory, edge: Edge) -> bool:
            if waited and not isinstance(edge.given, Fires):
                return not ledger.behind[profile.name, waited, edge.kind]
            return aims_at(profile, edge.given) and ledger.wanted(profile, edge.kind, 1)

        def wanted(at: Memory, edge: Edge) -> bool:
            return aims_at(profile, edge.given) and ledger.wanted(profile, edge.kind)

        def finer(at: Memory, edge: Edge, tries: int = TRIES) -> bool:
            what = rows.what(at, edge.given)
            return aims_at(profile, edge.given) and ledger.wanted_finer(
                profile, edge.kind, what, tries
            )

        def after(at: Memory, edge: Edge) -> tuple[Memory, ...]:
            return rows.kept_after(at, edge.given)

        limit = NEAR if waited else FAR
        goals = (new, partial(finer, tries=1), wanted, finer)
        ways = (nearest(memory, edges, after, goal, limit) for goal in goals)
        return next(filter(None, ways), ())

    def edges(self, profile: Profile, memory: Memory) -> tuple[Edge, ...]:
        """What may be sent, or waited for, in a group of that profile, each with its kind. Where
        timers are waited for, first what leaves the group as it is: behind a timer a schedule asks
        all of that before it goes on.
        """
        one = profile.name, memory
        if one not in self._edges:
            every = self.inputs(profile, memory)
            if profile.waits:
                every.sort(key=partial(may_change, memory))
            self._edges[one] = tuple(
                Edge(given, kind_of(memory, given)) for given in every if self.spoken(given)
            )
        return self._edges[one]

    def spoken(self, given: Asks | Fires) -> bool:
        """Does the broker announce what is needed for that?"""
        if isinstance(given, Fires):
            return True
        return requests.API_OF[type(given.request)].key in self.target.announced

    def _step(self, walk: Walk, rng: random.Random) -> bool:
        """The next step; False if there is none."""
        profile, memory = walk.profile, walk.memory
        if self._looked(walk, rng):
            return True
        if not walk.way or walk.way[0][0] != memory:  # at its end, or the broker went another way
            strays = rng.random() < STRAYS
            walk.way = [] if strays else list(self._way(profile, memory, walk.waited))
            self._seeks(walk)
        if walk.way:
            given = walk.way.pop(0)[1].given
            if isinstance(given, Fires):
                return walk.wait()
            if walk.can(given):
                return walk.ask(given, self._version(walk, given, rng))
        if self._looked(walk, rng):
            return True
        if walk.due() and rng.random() < 0.3:
            return walk.wait()
        options = [
            given
            for given in self.rows(profile).asks(memory)
            if walk.can(given) and not self.ledger.muted(profile, kind_of(memory, given))
        ]
        if not options:
            return False
        if walk.changed and rng.random() > STRAYS:
            options = self._behind(walk, options) or options
        usual = [given for given in options if requests.natural(memory, given)]
        given = rng.choice([*usual, *usual, *options])
        return walk.ask(given, self._version(walk, given, rng))

    def _seeks(self, walk: Walk) -> None:
        """Somebody is on this way."""
        walk.aim = walk.way[-1] if walk.way else None
        self._count(walk, 1)

    def _sought_in_vain(self, walk: Walk) -> None:
        """The schedule has ended because of the time, which says nothing about its way: it is as if
        nobody had been on it. Otherwise a busy machine uses up all tries.
        """
        self._count(walk, -1)

    def _count(self, walk: Walk, by: int) -> None:
        if walk.aim is not None:
            profile, (at, goal) = walk.profile, walk.aim
            what = self.rows(profile).what(at, goal.given)
            with self.ledger.lock:
                self.ledger.sought[profile.name, goal.kind] += by
                self.ledger.sought_finer[profile.name, goal.kind, what] += by

    def _behind(self, walk: Walk, options: Sequence[Asks]) -> list[Asks]:
        """Those that nobody has sent behind the row that changed the phase."""
        profile, behind = walk.profile, self.ledger.behind
        return [
            given
            for given in options
            if not behind[profile.name, walk.changed, kind_of(walk.memory, given)]
        ]

    def _looked(self, walk: Walk, rng: random.Random) -> bool:
        """Asks a question about the group that nobody has asked in this phase; False if there is
        none.
        """
        if walk.profile.waits:
            return False
        ledger, profile = self.ledger, walk.profile
        kinds = {one: one.kind(walk.worlds[0]) for one in walk.looks() if not one.is_harsh}
        some = [one for one, kind in kinds.items() if ledger.wanted(profile, kind)]
        if rng.random() > LOOKS_APART:
            some = [one for one in some if not one.is_apart]
        if not some:
            return False
        sought = {one: ledger.sought[wanted_of(profile, kinds[one])] for one in some}
        look = rng.choice([one for one in some if sought[one] == min(sought.values())])
        with ledger.lock:
            ledger.sought[wanted_of(profile, kinds[look])] += 1
        spoken = look.versions(self.target.announced[look.api.key])
        walk.look(look, self._untried(look.api.name, list(spoken), rng))
        return True

    def _version(self, walk: Walk, given: Asks, rng: random.Random) -> int:
        name = requests.API_OF[type(given.request)].name
        return self._untried(name, list(walk.versions(given)), rng)

    def _untried(self, name: str, versions: list[int], rng: random.Random) -> int:
        """A version that nobody has spoken, or any one, of those that have not closed
        connections.
        """
        every = [v for v in versions if not self.ledger.broken(name, v)] or versions
        new = [v for v in every if not self.ledger.versions[name, v]]
        return rng.choice(new or every)

    # -- again

    def again(
        self,
        profile: Profile,
        acts: Sequence[Act],
        pace: Pace | None = None,
        is_over: Callable[[], bool] = lambda: False,
    ) -> Walk:
        """Carries out a schedule, at leisure if no pace is given; acts that have no meaning here
        are left out. `is_over`: does nobody want the rest any more?
        """
        walk = self.started(profile, pace or self.leisure(profile), is_over)
        try:
            walk.begin()
            for act in acts:
                if walk.is_late():
                    break
                if act.kind == "wait":
                    walk.wait()
                elif act.kind == "look":
                    look = LOOKS.get(act.name)
                    if look in walk.looks() and act.version in look.versions(
                        self.target.announced[look.api.key]
                    ):
                        walk.look(look, act.version)
                else:
                    given = asked(act, walk.memory)
                    if walk.can(given) and act.version in walk.versions(given):
                        walk.ask(given, act.version)
        except Differs as differs:
            walk.note(differs.difference)
        except Late:
            pass
        finally:
            walk.close()
        with self.ledger.lock:
            self.ledger.measure(walk.met)
        return walk


def _patience(waited_s: Sequence[float], share: float, least_s: float) -> float:
    """How long to wait for an answer of a broker that has taken so long for others."""
    if len(waited_s) < LEARNED:
        return PATIENCE_S[1]
    slow_s = sorted(waited_s)[int((len(waited_s) - 1) * share)]
    return min(max(LONGER * slow_s, least_s), PATIENCE_S[1])


def aims_at(profile: Profile, given: Asks | Fires) -> bool:
    """Is this what the profile is for? Those that wait for timers leave the rest to others."""
    return isinstance(given, Fires) or not profile.waits
