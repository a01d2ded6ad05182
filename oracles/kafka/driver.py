"""Apache Kafka's own group coordinator, driven: schedules in, transcripts out.

The JVM starts with the first schedule and is reused. A driver that dies or hangs is started again,
and the schedules that were in flight are run again. The schedule that breaks it once more becomes a
`LostSchedule`, with the command. If none does, or if a signal from outside has ended the JVM,
nothing is known of Kafka: that is an `OutageError`.

A JVM that somebody kills is not evidence. If a signal from outside has ended it, or if it dies or
hangs and no schedule does that to it again when it is run alone, the answer is unknown
(`OutageError`). A schedule that breaks it again differs from the model.
"""

from __future__ import annotations

import atexit
import json
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

from groupcheck.model.engine import OutageError, UserError
from groupcheck.oracles.kafka import install
from groupcheck.oracles.kafka.commands import Command, Reset, encoded
from groupcheck.oracles.kafka.coverage import measuring
from groupcheck.oracles.kafka.jvm import OPTIONS, Broken, Jvm
from groupcheck.oracles.kafka.own_build import OwnBuild
from groupcheck.oracles.kafka.schedule import (
    DriverSchedule,
    LostSchedule,
    Schedule,
    Step,
    Transcript,
    looking,
    step,
)
from groupcheck.oracles.kafka.versions import DEFAULT, known
from groupcheck.oracles.show import terminal

AHEAD = 32  # schedules in flight: the JVM works on the next one while Python reads the last
SILENCE_S = 60.0
END_S, END_COUNTED_S = 2.0, 60.0  # for a JVM to end by itself; JaCoCo writes its counts then
# The first compiler only: twice as fast during the first half minute.
QUICK = ("-XX:TieredStopAtLevel=1",)
MAIN = "groupcheck.kafka.Main"
ELSEWHERE = (
    "the driver is in the middle of another run: read that run to its end, close it, or use another"
    " driver"
)
T = TypeVar("T")


class DriverLost(Exception):
    """The driver broke during a conversation. `lost` says where and why."""

    def __init__(self, lost: LostSchedule) -> None:
        self.lost = lost
        super().__init__(str(lost))


class Driver:
    """One JVM with the coordinator of one Kafka version, or of a build. A context manager. Not
    thread-safe.
    """

    def __init__(
        self,
        version: str | OwnBuild = DEFAULT,
        *,
        long_run: bool = False,
        silence_s: float = SILENCE_S,
        say: Callable[[str], None] = terminal.say,
        command: Sequence[str] = (),
        counts: Path | None = None,
    ) -> None:
        """Starts nothing yet. `version`: a release, or a build of the user's. `long_run`: the JVM
        uses its second compiler too, which pays off after about a minute. `command` is run in place
        of the JVM. `counts`: a file to which JaCoCo writes what was executed of Kafka's classes,
        when the JVM ends.
        """
        self.build = None if isinstance(version, str) else version
        # The release, or the one with which the build is compared; and what messages call it.
        self.version = known(version if isinstance(version, str) else version.release)
        self.title = version if isinstance(version, str) else version.title
        self._options = OPTIONS if long_run else (*QUICK, *OPTIONS)
        self._silence_s, self._progress, self._command = silence_s, say, tuple(command)
        self._counts = counts
        self._jvm: Jvm | None = None
        self._talking: Conversation | None = None
        self._flight: deque[Any] = deque()  # what was sent and is not yet answered
        self.restarts = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the JVM; the next schedule starts another one."""
        if self._jvm is not None:
            self._jvm.close(END_S if self._counts is None else END_COUNTED_S)
            self._jvm = None

    def _running(self) -> Jvm:
        if self._jvm is None:
            command = self._command or (
                *install.launcher(),
                *self._options,
                *self._agent(),
                "-cp",
                self._classpath(),
                MAIN,
            )
            name = f"the JVM with the code of Kafka {self.version}"
            self._jvm = self._started(Jvm(command, self._silence_s, name, self._progress))
        return self._jvm

    def _classpath(self) -> str:
        if self.build is not None:
            return self.build.classpath
        return install.classpath(self.version, self._progress)

    def _agent(self) -> tuple[str, ...]:
        if self._counts is None:
            return ()
        return (measuring.agent(self.version, self._counts, self._progress),)

    def _started(self, jvm: Jvm) -> Jvm:
        """A driver that cannot answer an empty schedule does not work at all: the cause is the
        user's Java, not a schedule, unless it was killed.
        """
        try:
            jvm.send(b"[]\n")
            jvm.receive()
        except Broken as broken:
            if broken.is_from_outside:
                raise _outage(broken) from None
            first = str(broken).partition("\n")[0]
            raise UserError(
                f"the driver of Kafka {self.title} does not start: {first[:300]}",
                do="install a JDK 17 or newer",
            ) from None
        except BaseException:
            jvm.kill()
            raise
        return jvm

    def _ask(self, sent: bytes) -> Any:
        """Sends one line and reads its answer. After `Broken` there is no JVM any more. Raises
        `OutageError` if it was killed.
        """
        assert not self._flight, ELSEWHERE
        jvm = self._running()
        try:
            jvm.send(sent)
            return json.loads(jvm.receive())
        except Broken as broken:
            self._restart(broken)
            raise
        except BaseException:
            self._abandon()
            raise

    def converse(self, speakers: Iterable[Generator[Mapping[str, Any], bytes, T]]) -> list[T]:
        """Conversations side by side, so that the JVM works on one while Python goes on with
        another. A speaker yields what is to be told, is sent the line of the answer, and returns
        its result; what it tells goes to the whole group `at` its place. Raises `OutageError`;
        after that, what was built up step by step is gone.
        """
        assert not self._flight, ELSEWHERE
        self._talking = None
        talks = list(speakers)
        results: dict[int, T] = {}
        flight: deque[int] = deque()
        self._flight = flight
        lines: list[bytes] = []

        def speak(number: int, answer: bytes | None) -> None:
            talk = talks[number]
            try:
                told = {**(next(talk) if answer is None else talk.send(answer)), "at": number}
            except StopIteration as end:
                results[number] = end.value
            else:
                lines.append(json.dumps(told, separators=(",", ":")).encode() + b"\n")
                flight.append(number)

        try:
            for number in range(len(talks)):
                speak(number, None)
            while flight:
                # Writing costs more than the rest of a short answer, so several lines go at once.
                if len(lines) > len(talks) // 3 or not self._running().answered:
                    self._running().send(b"".join(lines))
                    lines.clear()
                answer = self._running().receive()
                speak(flight.popleft(), answer)
        except Broken as broken:
            self._restart(broken)
            raise _outage(broken) from None
        finally:
            if flight:
                flight.clear()
                self._abandon()
        return [results[number] for number in range(len(talks))]

    def _restart(self, broken: Broken) -> None:
        """The next schedule starts another JVM. Raises `OutageError` if this one was killed: that
        is nothing that a schedule does.
        """
        self._jvm = None
        self.restarts += 1
        if broken.is_from_outside:
            raise _outage(broken) from None

    def _abandon(self) -> None:
        """Kills the JVM, because nobody will read the answers that are still to come."""
        if self._jvm is not None:
            self._jvm.kill()
            self._jvm = None

    def run(self, schedule: DriverSchedule[T]) -> T | LostSchedule:
        """One schedule, from a fresh coordinator or member."""
        (result,) = self.run_all([schedule])
        return result

    def run_all(self, schedules: Iterable[DriverSchedule[T]]) -> Iterator[T | LostSchedule]:
        """Runs schedules, several in flight at a time; results come in the same order."""
        with closing(self._exchange(schedules, lambda s: s.line(), AHEAD)) as exchanged:
            for flight, replies in exchanged:
                if isinstance(replies, Broken):
                    yield from self._one_by_one(flight, replies)
                else:
                    yield flight[0].outcome(replies)

    def assign_all(self, batches: Iterable[Sequence[str]]) -> Iterator[list[dict[str, Any]]]:
        """Answers assignors' problems, both as JSON, in the same order (`assignors.solve` is the
        typed form). A problem that breaks the driver is answered with "failed".
        """
        with closing(self._exchange(batches, _assign, 2)) as exchanged:
            for flight, answers in exchanged:
                if isinstance(answers, Broken):
                    yield from (
                        [self._assign_alone(problem) for problem in batch] for batch in flight
                    )
                else:
                    yield answers

    def _assign_alone(self, problem: str) -> dict[str, Any]:
        try:
            (answer,) = self._ask(_assign([problem]))
        except Broken as broken:
            return {"failed": str(broken)}
        return dict(answer)

    def _exchange(
        self, things: Iterable[T], text: Callable[[T], bytes], ahead: int
    ) -> Generator[tuple[tuple[T, ...], Any], None, None]:
        """Yields each thing with its reply; if the driver broke, everything that was in flight with
        the `Broken`.
        """
        assert not self._flight, ELSEWHERE
        self._talking = None
        flight: deque[T] = deque()
        self._flight = flight
        waiting = iter(things)
        try:
            while True:
                while len(flight) < ahead and (new := next(waiting, None)) is not None:
                    flight.append(new)
                    self._running().send(text(new))
                if not flight:
                    return
                try:
                    reply = json.loads(self._running().receive())
                except Broken as broken:
                    lost = tuple(flight)
                    flight.clear()
                    self._restart(broken)
                    yield lost, broken
                else:
                    yield (flight.popleft(),), reply
        except GeneratorExit:
            # The caller has seen enough. To read the rest is cheaper than to start another JVM.
            with suppress(Broken):
                while flight:
                    self._running().receive()
                    flight.popleft()
            raise
        finally:
            if flight:
                flight.clear()
                self._abandon()

    def _one_by_one(
        self, flight: tuple[DriverSchedule[T], ...], broken: Broken
    ) -> list[T | LostSchedule]:
        """Runs what was in flight when the driver broke again, command by command. Raises
        `OutageError` if nothing breaks now: then no schedule is to blame.
        """
        results = [self._slowly(schedule) for schedule in flight]
        if not any(isinstance(result, LostSchedule) for result in results):
            raise _outage(broken)
        return results

    def _slowly(self, schedule: DriverSchedule[T]) -> T | LostSchedule:
        replies: list[dict[str, Any]] = []
        commands = (schedule.setup, *schedule.commands)
        for number, (command, text) in enumerate(zip(commands, schedule.lines())):
            try:
                replies.append(self._ask(text))
            except Broken as broken:
                return LostSchedule(schedule, str(broken), command, number)
            if "refused" in replies[-1] or "failed" in replies[-1]:
                break
        return schedule.outcome(replies)

    def talk(self, conversation: Conversation, text: str, *, begin: bool) -> Any:
        """Carries out a command of a conversation. Another conversation or run ends it, by its own
        reset.
        """
        if begin:
            self._talking = conversation
        assert self._talking is conversation, (
            "the coordinator of this conversation is gone: the driver was used for something else"
        )
        return self._ask(text.encode() + b"\n")


def _outage(broken: Broken) -> OutageError:
    return OutageError(str(broken), do="run it again")


def _assign(problems: Sequence[str]) -> bytes:
    return f'{{"assign":[{",".join(problems)}]}}\n'.encode()


class Conversation:
    """Commands one by one, each chosen after the answer to the last one. Begins with a fresh
    coordinator.
    """

    def __init__(self, driver: Driver, setup: Reset | None = None, group: str = "g") -> None:
        self._driver, self.setup, self.group = driver, setup or Reset(), group
        self.commands: list[Command] = []
        self.steps: list[Step] = []
        self._tell(self.setup, encoded(self.setup))

    def do(self, command: Command, *, look: bool = False) -> Step:
        """Carries out one command; `look`: the step has memory and records. Raises `DriverLost`."""
        self.commands.append(command)
        text = encoded(command)
        reply = self._tell(command, looking(text, self.group) if look else text)
        self.steps.append(step(len(self.commands), command, reply, tuple(self.commands)))
        return self.steps[-1]

    def _tell(self, command: Command, text: str) -> dict[str, Any]:
        try:
            reply: dict[str, Any] = self._driver.talk(self, text, begin=command is self.setup)
        except Broken as broken:
            raise DriverLost(self._lost(str(broken), command)) from None
        if "failed" in reply:
            raise DriverLost(self._lost(reply["failed"], command))
        return reply

    def _lost(self, reason: str, command: Command) -> LostSchedule:
        return LostSchedule(
            Schedule(self.commands, self.setup), reason, command, len(self.commands)
        )

    def transcript(self) -> Transcript:
        return Transcript(Schedule(self.commands, self.setup, group=self.group), tuple(self.steps))


_SHARED: dict[tuple[int, str, bool], Driver] = {}


def shared(version: str = DEFAULT, *, long_run: bool = False) -> Driver:
    """This process's driver of that version, made once and closed at exit. A forked process has its
    own.
    """
    key = (os.getpid(), known(version), long_run)
    if key not in _SHARED:
        _SHARED[key] = Driver(version, long_run=long_run)
        atexit.register(_SHARED[key].close)
    return _SHARED[key]
