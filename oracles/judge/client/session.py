"""One program with a coordinator of its own, and the moves that are made against it."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from attrs import evolve, frozen

from groupcheck.model.assignors import Partitions
from groupcheck.oracles.judge.client.adversary import GROUP, PARTITIONS, TOPIC, Adversary, Aim
from groupcheck.oracles.judge.client.beside import PROTOCOLS, VERSIONS, Beside
from groupcheck.oracles.judge.client.events import MemberSettings
from groupcheck.oracles.judge.client.moves import OLD_VERSIONS, Move, Setting, Step
from groupcheck.oracles.judge.client.program import Program
from groupcheck.oracles.judge.client.record import NOTHING, Ended, Moved, Record, Stopping
from groupcheck.oracles.judge.client.targets import Target
from groupcheck.oracles.judge.client.watching import Watch
from groupcheck.oracles.wire.serving import in_background

SESSION_MS, HEARTBEAT_MS, COMMIT_MS, REBALANCE_MS = 3000, 300, 300, 5000
START_S, HIT_S, CLOSE_S = 25.0, 6.0, 10.0
CALM_S = 0.9  # how long a member is watched when all is well again
SLOW_S = 3.0
LONGEST = 4  # times as long as it would take on an idle machine
AWAY_S = 2.0
SILENT_S = 2 * SESSION_MS / 1000 + 2.0
AFTER_FATAL_S = 4.0
AFTER_GROWTH_S = 3.0  # a leader looks at its topics from time to time
COOPERATIVE = "cooperative"
EVERY: Partitions = frozenset((TOPIC, number) for number in range(PARTITIONS))
# What the client is given, round by round, if another member leads.
GIVEN = tuple(frozenset((TOPIC, number) for number in of) for of in ((0, 1, 2, 3), (0,), (1, 2)))


@frozen
class Command:
    """How the program under test is started."""

    words: tuple[str | Path, ...]
    environment: Mapping[str, str]
    # What it calls the assignor that an eager member has.
    eager: str = "range"


@frozen
class MoveResult:
    """A move that was tried."""

    move: Move
    # Was the client answered so?
    hit: bool
    # Was it a member again afterwards, in time?
    calm: bool
    # When it began, in seconds of the record.
    began: float = 0.0


class Session:
    """A context manager: the program runs inside."""

    def __init__(
        self,
        command: Command,
        setting: Setting,
        stopped: threading.Event | None = None,
    ) -> None:
        """`stopped`: is set when everything shall end at once."""
        self.setting = setting
        self.stopped = stopped or threading.Event()
        self._command = command
        self._stack = ExitStack()
        self.watch = Watch(SESSION_MS, REBALANCE_MS, lambda id: TOPIC)
        self._beside: list[Beside] = []
        self._given = itertools.cycle(GIVEN)
        self._give = next(self._given)
        self._program: Program | None = None
        self._stopped = False
        self._pending: tuple[Aim, float] | None = None
        self.played: list[MoveResult] = []

    def __enter__(self) -> Self:
        self.adversary = Adversary(self.watch, self.setting.max_size, self.setting.old)
        self.adversary.round = self._another
        self._stack.enter_context(in_background(self.adversary.server))
        self._stack.callback(self._end_beside)
        return self

    def __exit__(self, *_: object) -> None:
        if self._program is not None:
            self._program.end()
        self._stack.close()

    # -- Who is there

    @property
    def cooperative(self) -> bool:
        return self.setting.assignor == COOPERATIVE

    def start(self) -> bool:
        """Client and others join; is the client a member?"""
        if not self.setting.leads:
            self._join_beside().joined(START_S)
        told = MemberSettings(
            bootstrap=self.adversary.address,
            group=GROUP,
            topic=TOPIC,
            instance="instance-1" if self.setting.static else "",
            assignor=COOPERATIVE if self.cooperative else self._command.eager,
            session_ms=SESSION_MS,
            heartbeat_ms=HEARTBEAT_MS,
            commit_ms=COMMIT_MS,
            rebalance_ms=REBALANCE_MS,
        )
        environment = {**self._command.environment, **told.environment()}
        self._program = Program(self._command.words, environment, self.watch.heard)
        if self.setting.max_size is not None or self.setting.protocols:
            return True
        there = self.calm(START_S)
        if there and self.setting.leads:
            self._join_beside().joined(START_S)
            there = self.calm(START_S)
        return there

    def _join_beside(self) -> Beside:
        one = Beside(
            self.adversary.address,
            GROUP,
            TOPIC,
            self._plan,
            protocols=self._protocols(),
            versions=OLD_VERSIONS if self.setting.old else VERSIONS,
        )
        one.reads = self.adversary.ends
        self._beside.append(one)
        one.start()
        return one

    def _protocols(self) -> Sequence[str]:
        if self.setting.protocols:
            return self.setting.protocols
        return [name for name in PROTOCOLS if not self.cooperative or COOPERATIVE in name]

    def _plan(self, owned: Mapping[str, Partitions]) -> dict[str, Partitions]:
        """The plan of another member that leads: what the client owns and shall not have any more
        goes to nobody for a round, if it is cooperative.
        """
        ours = [one.id for one in self._beside if one.id in owned]
        shares = {member: self._give for member in owned if member not in ours}
        rest = NOTHING if self.cooperative else EVERY
        for given in shares.values():
            rest = rest - given
        return shares | {m: rest if m == ours[0] else NOTHING for m in ours[:1]}

    def _another(self) -> None:
        """A round begins: another member joins, or one that has joined so leaves."""
        self._give = next(self._given)
        if len(self._beside) > 1:
            one = self._beside.pop()
            one.quit()
        else:
            self._join_beside()

    def _end_beside(self) -> None:
        for one in self._beside:
            one.end(wait=False)

    # -- Waiting

    def calm(self, seconds: float) -> bool:
        """Waits until the client is a member with a share, and was for a while."""
        began = self.watch.now()
        while self._passed(began) < seconds:
            now = self.watch.knowledge
            good = now.state == "member" and self._passed(max(began, now.share_at)) > CALM_S
            if good and now.beaten_at > max(began, now.share_at):
                return True
            if now.fatal is not None or self.ended or self.stopped.is_set():
                return False
            time.sleep(0.02)
        return False

    def _watches(self, seconds: float) -> None:
        """Waits for so many seconds that count; on a busy machine that takes longer."""
        began = self.watch.now()
        while self._passed(began) < seconds and not self.stopped.wait(0.02):
            pass

    def _passed(self, began: float) -> float:
        """The seconds that count since a moment of the run; a part of all in any case."""
        now, clock = self.watch.now(), self.watch.clock
        return max(clock(now) - clock(began), (now - began) / LONGEST)

    @property
    def ended(self) -> bool:
        """Has the program ended?"""
        return self._program is None or self._program.code is not None

    # -- Moves

    def play(self, move: Move, ways: Sequence[tuple[Step, ...]], state: str = "") -> MoveResult:
        """Makes a move, if the client lets it come about."""
        return self._finished(self._begun(move, ways, state))

    def aim_first(self, target: Target) -> None:
        """The move is made while the client joins for the first time."""
        self._pending = self._begun(target.move, target.ways, target.state)

    def finish(self) -> MoveResult:
        """What came of the move that `aim_first` has begun."""
        assert self._pending is not None
        return self._finished(self._pending)

    def _begun(self, move: Move, ways: Sequence[tuple[Step, ...]], state: str) -> tuple[Aim, float]:
        aim, began = Aim(move, tuple(ways), state), self.watch.now()
        self.adversary.aims(aim)
        for step in move.first:
            self._first(step)
        return aim, began

    def _finished(self, begun: tuple[Aim, float]) -> MoveResult:
        aim, began = begun
        waits = self.watch.now()
        while aim.taken is None and self._passed(waits) < HIT_S and not self.ended:
            if self.stopped.wait(0.01):
                break
        self.adversary.aims(None)
        hit = aim.taken is not None
        if hit and Step.GROW in aim.move.first:
            self._watches(AFTER_GROWTH_S)
        calm = not self._stopped and self.calm(REBALANCE_MS / 1000 + HIT_S)
        for one in self._beside:
            one.slow_s = 0.0
        if hit and self.watch.knowledge.fatal is not None and not self._stopped:
            self._watches(AFTER_FATAL_S)
        played = MoveResult(evolve(aim.move, steps=aim.taken or ()), hit, calm, began)
        self.played.append(played)
        return played

    def _first(self, step: Step) -> None:
        seconds = {Step.SILENCE: SILENT_S, Step.AWAY: AWAY_S, Step.SLOW: SLOW_S}.get(step, 0.0)
        kind = "silence" if step == Step.SILENCE else "first"
        self.watch.add(Moved(self.watch.now(), kind, step.value, seconds))
        match step:
            case Step.ROUND:
                self._another()
            case Step.MOVE:
                self.adversary.elsewhere()
            case Step.EXPIRE:
                self.adversary.expire()
            case Step.FENCE:
                self.adversary.fence()
            case Step.GROW:
                self._wait_joining()
                self.adversary.grow()
            case Step.SLOW:
                for one in self._beside:
                    one.slow_s = SLOW_S
            case Step.AWAY:
                self.adversary.lose()
                self.stopped.wait(AWAY_S)
                self.adversary.move(2)
            case Step.SILENCE:
                self.adversary.silence(True)
                # A client's own timers do not stand still: a longer silence would be another one.
                self.stopped.wait(SILENT_S)
                self.adversary.silence(False)
                self.watch.add(Moved(self.watch.now(), "first", "the nodes answer again"))
            case Step.CLOSE:
                self._wait_joining()
                self._stop()

    def _wait_joining(self) -> None:
        """Waits until the client's JoinGroup waits, if a round has begun."""
        until = time.monotonic() + HIT_S
        begun = any(one.slow_s for one in self._beside)
        while begun and self.watch.knowledge.state != "joining" and time.monotonic() < until:
            time.sleep(0.01)

    def _stop(self) -> None:
        if not self._stopped and self._program is not None:
            self._stopped = True
            self.watch.add(Stopping(self.watch.now()))
            self._program.stop()

    def close(self) -> Record:
        """Closes the client; all that was seen of it."""
        early = self.ended
        if not early:
            self._stop()
        assert self._program is not None
        code = self._program.wait(0.0 if early or self.stopped.is_set() else CLOSE_S)
        self.watch.add(Ended(self.watch.now(), code))
        self._program.end()
        self.played = [evolve(one, began=self.watch.clock(one.began)) for one in self.played]
        return self.watch.record(
            topics={TOPIC: PARTITIONS},
            session_ms=SESSION_MS,
            rebalance_ms=REBALANCE_MS,
            static=self.setting.static,
        )

    @property
    def log(self) -> list[str]:
        """The last lines that the program wrote and that are no events."""
        return [] if self._program is None else [*self._program.strange, *self._program.log]
