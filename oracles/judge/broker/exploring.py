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
from groupcheck.oracles.judge.broker.kinds import Kind, kind_of
from groupcheck.oracles.judge.broker.ledger import Found, Ledger
from groupcheck.oracles.judge.broker.looks import LOOKS
from groupcheck.oracles.judge.broker.profiles import Profile, rows_of
from groupcheck.oracles.judge.broker.surroundings import coordinator_of
from groupcheck.oracles.judge.broker.target import Pace, Target
from groupcheck.oracles.judge.broker.walk import Walk
from groupcheck.oracles.judge.following import requests
from groupcheck.oracles.judge.following.nearest import nearest
from groupcheck.oracles.judge.report.schedules import Act
from groupcheck.oracles.wire.connections import Connections
from groupcheck.oracles.wire.security import PLAINTEXT, Security
from groupcheck.traces.messages.apis import api

STEPS = 24  # of one schedule, at most
FAR = 400  # memories among which the nearest row is looked for
STRAYS = 0.1  # of the steps are taken at random
# The least and the most: before an answer counts as not come, and for one that must come.
QUIET_S, PATIENCE_S = (0.01, 0.25), (1.5, 7.0)
LEARNED, LONGER = 20, 8  # answers from which patience is learned, and how much longer it is
CAREFUL, CAREFUL_WAITING = Pace(quiet_s=0.4), Pace(quiet_s=0.15)
REPEATS = 3
TOLD_S = 0.1  # between two reports of how far it is
SHORTENINGS, SHORTENING_S, RENEWING_S = 40, 20.0, 10.0  # schedules that are tried to shorten one


@define
class Judging:
    """One broker that is judged."""

    target: Target
    security: Security = PLAINTEXT
    seed: int = 0
    ledger: Ledger = field(factory=Ledger)
    # Set by Ctrl-C, or by an error in one of the threads.
    stopped: threading.Event = field(factory=threading.Event)
    _rows: dict[str, KeptRows] = field(factory=dict)
    _groups: int = 0
    _prefix: str = field(factory=lambda: f"groupcheck-{time.time_ns() // 1_000_000:x}")

    def rows(self, profile: Profile) -> KeptRows:
        with self.ledger.lock:
            if profile.name not in self._rows:
                self._rows[profile.name] = rows_of(profile)
            return self._rows[profile.name]

    def pace(self) -> Pace:
        """As fast as the broker's answers allow: an answer that must not come is waited for as long
        as most answers take.
        """
        every = self.ledger.waited_s
        some = sorted(seconds for _, seconds in every[-200:])
        usual = some[int(len(some) * 0.95)] if some else QUIET_S[0]
        rounds = [seconds for name, seconds in every if name == requests.JOIN_GROUP.name]
        return Pace(
            patience_s=_patience([seconds for _, seconds in every]),
            round_s=_patience(rounds),
            quiet_s=min(max(2 * usual, QUIET_S[0]), QUIET_S[1]),
        )

    def started(self, profile: Profile, pace: Pace) -> Walk:
        """A group that nobody has used."""
        with self.ledger.lock:
            self._groups += 1
            group = f"{self._prefix}-{self._groups}"
        at = coordinator_of(group, self.target, self.security)
        connections = Connections(at, self.security)
        return Walk(self.target, profile, self.rows(profile), connections, group, pace)

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
            for k, some in enumerate(kinds)
        ]
        self._all(jobs, len(jobs), tell)

    def _all(
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
            profile = self._next(profiles, rng)
            if profile is None:
                return
            self._one(profile, rng, until)

    def _next(self, profiles: Sequence[Profile], rng: random.Random) -> Profile | None:
        """A profile in which something is left to see, if there is one; None if the broker makes no
        group of any of them.
        """
        there = [p for p in profiles if not self.ledger.dropped(p)]
        open_ones = [p for p in there if self._way(p, self.rows(p).start())]
        return rng.choice(open_ones or there) if there else None

    def _one(self, profile: Profile, rng: random.Random, until: float) -> None:
        """One schedule."""
        walk = self.started(profile, self.pace())
        try:
            walk.begin()
            for _ in range(STEPS):
                if time.monotonic() > until or self.stopped.is_set():
                    break
                if walk.is_late():
                    with self.ledger.lock:
                        self.ledger.late += 1
                    break
                if not self._step(walk, rng):
                    break
        except Differs as differs:
            walk.note(differs.difference)
        except Late:
            with self.ledger.lock:
                self.ledger.late += 1
        finally:
            walk.close()
        self.ledger.note(profile, walk.met)

    def inputs(self, profile: Profile, memory: Memory) -> list[Asks | Fires]:
        """What may be sent, or waited for, in a group of that profile."""
        rows = self.rows(profile)
        return [*rows.asks(memory), *due(profile, rows, memory)]

    def _way(
        self, profile: Profile, memory: Memory, waited: str = ""
    ) -> tuple[tuple[Memory, Asks | Fires], ...]:
        """The nearest way to a kind of row that is wanted; empty if there is none. `waited`: the
        timer that was waited for; what lies behind it is wanted, too.
        """
        rows, ledger = self.rows(profile), self.ledger

        def inputs(at: Memory) -> list[Asks | Fires]:
            return [
                given
                for given in self.inputs(profile, at)
                if not ledger.muted(profile, kind_of(at, given)) and self.spoken(given)
            ]

        def wanted(at: Memory, given: Asks | Fires) -> bool:
            kind = kind_of(at, given)
            if waited and not isinstance(given, Fires):
                return not ledger.behind[profile.name, waited, kind]
            return aims_at(profile, given) and ledger.wanted(profile, kind)

        return nearest(memory, inputs, rows.after, wanted, FAR) or ()

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
        way = self._way(profile, memory, walk.waited) if rng.random() > STRAYS else ()
        if way:
            at, goal = way[-1]
            if len(way) == 1 or not walk.acts:
                with self.ledger.lock:
                    self.ledger.sought[profile.name, kind_of(at, goal)] += 1
            given = way[0][1]
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
        usual = [given for given in options if requests.natural(memory, given)]
        if not options:
            return False
        given = rng.choice([*usual, *usual, *options])
        return walk.ask(given, self._version(walk, given, rng))

    def _looked(self, walk: Walk, rng: random.Random) -> bool:
        """Asks a question about the group that nobody has asked in this phase; False if there is
        none.
        """
        if walk.profile.waits:
            return False
        ledger, phase = self.ledger, str(walk.memory.core.phase)
        some = [
            look
            for look in walk.looks()
            if ledger.wanted(walk.profile, kind := Kind(phase, look.api.name))
            and not ledger.muted(walk.profile, kind)
        ]
        if not some:
            return False
        look = rng.choice(some)
        with ledger.lock:
            ledger.sought[walk.profile.name, Kind(phase, look.api.name)] += 1
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

    def again(self, profile: Profile, acts: Sequence[Act], pace: Pace | None = None) -> Walk:
        """Carries out a schedule, at leisure if no pace is given; acts that have no meaning here
        are left out.
        """
        leisure = CAREFUL_WAITING if profile.waits else CAREFUL
        walk = self.started(profile, pace or leisure)
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

    def confirm(self, found: Found) -> None:
        """Tries a difference again, carefully, and makes its schedule shorter while it shows."""
        self._shorten(found)
        self._renew(found)
        for _ in range(REPEATS):
            if self.stopped.is_set():
                return
            found.repeated += 1
            found.again += bool(self._shows(found, found.acts))

    def _shows(self, found: Found, acts: Sequence[Act], pace: Pace | None = None) -> bool:
        """Does the schedule show the difference? Then its transcript is kept."""
        walk = self.again(found.profile, acts, pace)
        for difference, some, lines in walk.met.differences:
            if difference == found.difference:
                found.difference, found.acts, found.lines = difference, some, lines
                return True
        return False

    def _shorten(self, found: Found) -> None:
        """Leaves out steps as long as the difference shows, first many at once, then one by one."""
        tries, many = 0, max(1, len(found.acts) // 2)
        until = time.monotonic() + SHORTENING_S
        while True:
            at = 0
            while at < len(found.acts) - 1:
                late = time.monotonic() > until or self.stopped.is_set()
                if tries == SHORTENINGS or late:
                    return
                tries += 1
                end = min(at + many, len(found.acts) - 1)
                fewer = [*found.acts[:at], *found.acts[end:]]
                if not self._shows(found, fewer, self.pace()):
                    at += many
            if many == 1:
                return
            many = max(1, many // 2)

    def _renew(self, found: Found) -> None:
        """Speaks newer versions where the difference shows in them, too: the old ones that are left
        may be what it needs.
        """
        until, needs = time.monotonic() + RENEWING_S, []
        for at, act in enumerate(found.acts):
            newer = self._newest(found.profile, act)
            if act.kind == "wait" or act.version >= newer:
                continue
            if time.monotonic() > until or self.stopped.is_set():
                return
            acts = [*found.acts[:at], evolve(act, version=newer), *found.acts[at + 1 :]]
            if not self._shows(found, acts, self.pace()):
                needs.append(f"{act.name} v{act.version}")
        if needs:
            found.needs = tuple(dict.fromkeys(needs))

    def _newest(self, profile: Profile, act: Act) -> int:
        """The newest version in which an act of that profile may be carried out."""
        of = api(act.name) if act.kind != "wait" else None
        if of is None:
            return 0
        newest = min(of.newest, self.target.announced[of.key].stop - 1)
        if of is requests.JOIN_GROUP and profile.settings.get("two_step") == "no":
            return min(newest, requests.TWO_STEP - 1)
        return min(newest, LOOKS[act.name].newest) if act.kind == "look" else newest

    def confirmed(
        self, some: Sequence[Found], until: float, threads: int, tell: Callable[[], None]
    ) -> None:
        """Confirms the differences in their order. Those that are not begun in time are left."""

        def one(found: Found) -> None:
            if time.monotonic() < until and not self.stopped.is_set():
                self.confirm(found)

        self._all([partial(one, found) for found in some], threads, tell)


def _patience(waited_s: Sequence[float]) -> float:
    """How long to wait for an answer of a broker that has taken so long for others."""
    if len(waited_s) < LEARNED:
        return PATIENCE_S[1]
    return min(max(LONGER * max(waited_s), PATIENCE_S[0]), PATIENCE_S[1])


def aims_at(profile: Profile, given: Asks | Fires) -> bool:
    """Is this what the profile is for? Those that wait for timers leave the rest to others."""
    return isinstance(given, Fires) or not profile.waits
