"""A user's assignor as a program of any language that reads and writes JSON: one line for a
question, one line for its answer.

    --against "program: ./my-assignor --quiet"

The command is split as a shell would split it, but no shell runs it. The program is started once,
and reads the questions on its standard input:

    {"topics": {"t": 2}, "members": [{"id": "A", "topics": ["t"], "owned": {"t": [0]}, "generation":
    1, "instance": null, "rack": null}]}

`owned` is what the member claims, `generation` the generation of the claim (-1: the member was
never assigned anything). Members come in the order in which the leader has them. The program
answers on its standard output, and flushes it:

    {"assignment": {"A": {"t": [0, 1]}}}        or, if it refuses,       {"failed": "why"}

A program that ends, takes longer than `PATIENCE_S`, or writes anything else has no answer to that
question, and is started again. At the end its input is closed. What it has started ends with it.
"""

from __future__ import annotations

import json
import os
import selectors
import shlex
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import IO

from attrs import define

from groupcheck.model.assignors import Group, NoAssignment
from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.against.against_types import Question, QuestionMember
from groupcheck.oracles.assignment.against.offered import (
    NO_ANSWER,
    Library,
    OfferedAssignor,
    assigned,
)
from groupcheck.oracles.assignment.groups import has_racks, racks_shown
from groupcheck.oracles.assignment.validity import Assigned
from groupcheck.oracles.kafka.values import by_topic
from groupcheck.oracles.processes import process_groups
from groupcheck.oracles.show.json_schemas import ABSENT, printed

PATIENCE_S = 4.0
ENDED = "it ended"
GRACE_S = 0.5  # until a program whose input was closed is killed
GLANCE_S = 0.1  # between two looks at whether it has ended
LONGEST = 1 << 20  # bytes of an answer
ERROR_BYTES_KEPT = 2_000  # bytes of standard error that are kept


def question(group: Group) -> Question:
    """A group as the program reads it."""
    members = [
        QuestionMember(
            id=m.id,
            topics=sorted(m.topics),
            owned=by_topic(m.owned),
            generation=m.generation,
            instance=m.instance,
            rack=m.rack,
        )
        for m in group.members
    ]
    racks = racks_shown(group) if has_racks(group) else ABSENT
    return Question(topics=dict(group.topics), racks=racks, members=members)


def library(command: str, like: str | None, name: str | None = None) -> Library:
    """One assignor, called by the program's name if it has no `name`. Raises `UserError` if the
    command cannot be split. The program starts with the first question.
    """
    try:
        arguments = shlex.split(command)
    except ValueError as error:
        raise UserError(
            f"the command cannot be split: {error}", where="--against program:"
        ) from None
    if not arguments:
        raise UserError(
            "no command", where="--against program:", do='write --against "program: COMMAND"'
        )
    program = Program(arguments)

    @contextmanager
    def running() -> Iterator[None]:
        try:
            yield
        finally:
            program.stop()

    def code(*groups: Group) -> str:
        lines = " ".join(shlex.quote(json.dumps(printed(question(group)))) for group in groups)
        return f"printf '%s\\n' {lines} | {shlex.join(arguments)}\n"

    name = name or arguments[0]
    offered = OfferedAssignor(name, like, program.solve, code, ask_again=True)
    return Library(name, "", (offered,), running, said=program.said)


@define
class Program:
    """A program that answers questions."""

    arguments: list[str]
    # None: it does not run.
    running: subprocess.Popen[bytes] | None = None
    # The end of what it wrote to its standard error.
    errors: bytes = b""
    reader: Thread | None = None

    def solve(self, group: Group) -> Assigned:
        """Its answer. Raises `NoAssignment` if it has none, `UserError` if it cannot be started."""
        line = self._answer(json.dumps(printed(question(group))).encode() + b"\n")
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            self.stop(grace=0)
            raise NoAssignment(NO_ANSWER, f"no JSON: {line[:80]!r}") from None
        if isinstance(answer, dict) and "failed" in answer:
            raise NoAssignment("failed", str(answer["failed"])[:200])
        if not isinstance(answer, dict) or "assignment" not in answer:
            raise NoAssignment("WrongAnswer", f"neither assignment nor failed: {line[:80]!r}")
        return assigned(answer["assignment"])

    def _answer(self, line: bytes) -> bytes:
        if self.running is None:
            self.running = process_groups.start(
                self.arguments,
                where="--against program:",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            self.reader = Thread(target=self._listen, args=(self.running.stderr,), daemon=True)
            self.reader.start()
        assert self.running.stdin is not None and self.running.stdout is not None
        try:
            self.running.stdin.write(line)
            self.running.stdin.flush()
            return self._line(self.running.stdout.fileno())
        except OSError:
            raise self._gone(ENDED) from None

    def _listen(self, stderr: IO[bytes]) -> None:
        """Reads its standard error to the end, and keeps the last of it."""
        with stderr:
            while part := os.read(stderr.fileno(), 1 << 12):
                self.errors = (self.errors + part)[-ERROR_BYTES_KEPT:]

    def said(self) -> str:
        """The end of what it wrote to its standard error."""
        return self.errors.decode(errors="replace")

    def _line(self, stdout: int) -> bytes:
        until, said = time.monotonic() + PATIENCE_S, b""
        with selectors.DefaultSelector() as waiting:
            waiting.register(stdout, selectors.EVENT_READ)
            while not said.endswith(b"\n"):
                left_s = max(0.0, until - time.monotonic())
                # What it has started may hold its output open when it has ended.
                has_ended = self.running is not None and self.running.poll() is not None
                if not waiting.select(0.0 if has_ended else min(left_s, GLANCE_S)):
                    if has_ended:
                        raise self._gone(ENDED)
                    if not left_s:
                        raise self._gone(f"no answer within {PATIENCE_S:g} s")
                    continue
                part = os.read(stdout, 1 << 16)
                if not part:
                    raise self._gone(ENDED)
                said += part
                if len(said) > LONGEST:
                    raise self._gone(f"an answer of more than {LONGEST:,} bytes")
        return said

    def _gone(self, why: str) -> NoAssignment:
        code = self.stop(grace=GRACE_S if why == ENDED else 0)
        said = f"Its standard error ends:\n{self.said()}" if self.errors else ""
        return NoAssignment(
            NO_ANSWER, f"{why} with exit code {code}" if why == ENDED else why, said
        )

    def stop(self, grace: float = GRACE_S) -> int | None:
        """Ends the program: closes its input, and kills it if it has not ended after so many
        seconds; and all that it has started. Returns its exit code, or None if it did not run.
        """
        if self.running is None:
            return None
        running, self.running = self.running, None
        assert running.stdin is not None and self.reader is not None
        with suppress(OSError):
            running.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            running.wait(timeout=grace)
        # The reader closes it, once nobody can write any more.
        running.stderr = None
        process_groups.end([running])
        self.reader.join(timeout=GRACE_S)
        return running.returncode
