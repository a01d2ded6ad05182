"""One schedule: a group at the broker and in the model, request by request, until the schedule ends
or the two differ.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count

from attrs import define, field, frozen

from groupcheck.model.protocol.classic.timers import rebalance_timeout
from groupcheck.oracles.conform.row import Asks, Memory
from groupcheck.oracles.conform.rows import Rows
from groupcheck.oracles.judge.following.refused import JOINS
from groupcheck.oracles.judge.following.requests import (
    API_OF,
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    Wire,
    natural,
    versions,
    wire,
)
from groupcheck.oracles.judge.following.said import instance
from groupcheck.oracles.judge.following.states import Fitting, follow, in_all
from groupcheck.oracles.judge.following.worlds import (
    End,
    RequestNumber,
    World,
    could,
    ends,
    fits,
    plan,
    problems,
    seen,
    shown,
)
from groupcheck.oracles.judge.live import asking
from groupcheck.oracles.judge.live.asking import SPOKEN, refused
from groupcheck.oracles.wire.connections import Answered, Closed, Connections
from groupcheck.traces.messages.apis import api

PATIENCE_S = 10.0  # for an answer, and for a timer of 0 ms on a busy machine
PAUSE_S = 0.005
ROUND_TRIPS = 3
STEPS = 40
EMPTIES = f"{rebalance_timeout.name}:nobody"
NOBODY = "nobody"

Choose = Callable[[int], int]  # a number below the given one


class Disagreement(Exception):
    """The model does not allow what the broker did. `what`: how the most similar end of the step
    differs; `transcript`: the schedule so far; `is_silence`: nothing that came is wrong, but
    something did not come in time.
    """

    def __init__(self, what: Sequence[str], transcript: Sequence[str], is_silence: bool) -> None:
        self.what, self.transcript, self.is_silence = tuple(what), tuple(transcript), is_silence
        super().__init__("; ".join(what))


@frozen
class Row:
    """A step that was taken: the model's memory before it, the request, the rules that fired."""

    before: Memory
    given: Asks
    rules: tuple[str, ...]


@define
class ScheduleSums:
    """The sum of what all schedules have met."""

    rows: set[Row] = field(factory=set)
    # The kinds of requests that the broker refused without the coordinator.
    refused: set[str] = field(factory=set)
    schedules: int = 0
    requests: int = 0


class Walk:
    """One group. `choose` decides what is done next; 0 is the simplest choice. The transcript calls
    ids m1, m2, ... in the order in which they appear.
    """

    def __init__(
        self,
        rows: Rows,
        connections: Connections,
        group: str,
        choose: Choose,
        total: ScheduleSums,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._rows, self._connections, self._group = rows, connections, group
        self._beat_of_nobody = {"groupId": group, "memberId": NOBODY}
        self._choose, self._total, self._patience_s = choose, total, patience_s
        self._short: dict[str, str] = {}
        self._numbers: dict[int, int] = {}
        self.transcript: list[str] = []
        # An id that comes and goes creates the group; the model's group exists from the start.
        first = self._ask(Wire(JOIN_GROUP, 5, {"groupId": group, **JOINS}, "makes the group"))
        self._gone = str(self._answer(first)["memberId"])
        self._answer(
            self._ask(
                Wire(LEAVE_GROUP, 3, {"groupId": group, "members": [{"memberId": self._gone}]})
            )
        )
        self.worlds = [World(rows.start(), self._gone)]

    def run(self) -> None:
        """Takes the steps of one schedule. Raises `Disagreement`."""
        self._total.schedules += 1
        for _ in range(1 + self._choose(STEPS)):
            options = self._options()
            if not options:
                return
            if self._choose(8) == 7:
                self._refused()
            else:
                self._step(options[self._choose(len(options))])

    def _options(self) -> list[Asks]:
        """Requests that make a difference in every world. What a member would do next comes first
        and is listed more often.
        """

        def asks(world: World) -> Iterator[Asks]:
            for given in self._rows.inputs(world.memory):
                if isinstance(given, Asks) and world.knows(given):
                    yield given

        every = list(in_all(self.worlds, asks))
        usual = [given for given in every if natural(self.worlds[0].memory, given)]
        return [*usual, *usual, *every]

    def _step(self, given: Asks) -> None:
        scope, api = self._rows.scope, API_OF[type(given.request)]
        named = instance(self.worlds[0].memory.seats[given.member], given.member)
        known = versions(api, scope, named, SPOKEN[api])
        version = known[self._choose(len(known))]
        plans = {plan(self._rows, world, given) for world in self.worlds}
        sent = {str(wire(self._group, world, given, version, scope)) for world in self.worlds}
        possible = all(self._rows.outcomes(world.memory, given) for world in self.worlds)
        if not possible or len(plans) > 1 or len(sent) > 1:  # its meaning depends on the world
            return
        number = self._ask(
            wire(self._group, self.worlds[0], given, version, scope, next(iter(plans))),
            f"member {given.member} sends ",
            given.member,
        )
        before = self.worlds[0].memory
        fitting = self._follow(
            ends(self._rows, self.worlds, given, RequestNumber(number, version)), number
        )
        if any(EMPTIES in end.rules for end, _ in fitting.reached):
            self._emptied()
        self.worlds = list(fitting.states)
        self._total.rows.add(Row(before, given, fitting.reached[0][0].rules))

    def _refused(self) -> None:
        kinds = asking.kinds(self._rows.scope)
        kind, version = kinds[self._choose(len(kinds))], self._choose(10)
        request = refused(self._group, version, kind)
        assert request.error is not None
        number = self._ask(request)
        answers = self._connections.gather(self._patience_s, number)
        error = seen(answers[number])[0] if number in answers else None
        self._told(answers)
        if error != request.error or len(answers) > 1:
            raise self._disagrees(
                [f"request {number}: error is {error}, Kafka documents {request.error}"],
                not answers,
            )
        self._total.refused.add(f"{request.api.name}: {request.what}")

    def _ask(self, request: Wire, who: str = "", whose: int = -1) -> int:
        number = self._connections.send(
            request.api, request.version, request.values, request.cut, whose
        )
        self._numbers[number] = len(self._numbers) + 1
        self.transcript.append(f"{self._numbers[number]}. {who}{self._shortened(str(request))}")
        self._total.requests += 1
        return number

    def _answer(self, number: int) -> dict[str, object]:
        """The answer to a request that is answered in every state of the group."""
        answer = self._connections.gather(self._patience_s, number).get(number)
        if not isinstance(answer, dict):
            raise self._disagrees([f"request {number} is not answered"], answer is None)
        self._told({number: answer})
        return answer

    def _follow(self, possible: Sequence[End], number: int) -> Fitting[World, End]:
        """Gathers answers until they are exactly those of some end, and the broker has carried out
        everything that it was sent.
        """
        answers = self._connections.gather(
            PAUSE_S if any(_waits(end, number) for end in possible) else self._patience_s, number
        )
        until = time.monotonic() + self._patience_s
        while True:
            answers |= self._barrier(number in answers)
            fitting = follow(possible, answers, fits)
            if fitting.reached:
                self._told(answers)
                return fitting
            more_may_come = any(could(end, answers) for end in possible)
            if time.monotonic() > until or not more_may_come:
                self._told(answers)
                nearest = min(
                    (list(map(str, problems(end, answers))) for end in possible),
                    key=len,
                    default=["the model has no such step"],
                )
                raise self._disagrees(nearest, more_may_come)
            answers |= self._connections.gather(PAUSE_S)

    def _barrier(self, answered: bool) -> dict[int, Answered]:
        """Waits until the broker has carried out what it was sent, and has sent its answers;
        returns the answers that came meanwhile.

        A heartbeat of an unknown member waits until the coordinator has done everything else with
        the group, and until what was appended before it is committed. The first one makes sure that
        the request has been read, the last one that answers of the same turn have been sent.
        """
        found: dict[int, Answered] = {}
        for turn in count(1 if answered else 0):
            if turn == ROUND_TRIPS:
                return found
            number = self._connections.send(HEARTBEAT, 3, self._beat_of_nobody)
            found |= self._connections.gather(self._patience_s, number)
            answer = found.pop(number, None)
            if not isinstance(answer, dict) or answer["errorCode"] != 25:
                raise self._disagrees(
                    [f"the heartbeat of nobody is answered {answer}, in the model with error 25"],
                    answer is None,
                )
        return found

    def _emptied(self) -> None:
        """Waits until a round of nobody has ended. Its timer of 0 ms is due at once, but another
        thread fires it, and nobody is answered.
        """
        until = time.monotonic() + self._patience_s
        state = ""
        while state != "Empty":
            if time.monotonic() > until:
                raise self._disagrees([f"the group is {state}, in the model Empty"], True)
            number = self._connections.send(api("DescribeGroups"), 0, {"groups": [self._group]})
            answer = self._connections.gather(self._patience_s, number).get(number)
            state = answer["groups"][0]["groupState"] if isinstance(answer, dict) else "silent"

    def _told(self, answers: dict[int, Answered]) -> None:
        for number, answer in sorted(answers.items()):
            error, fields = seen(answer)
            if member := fields.get("memberId"):
                self._short.setdefault(member, f"m{len(self._short) + 1}")
            about = ", ".join(
                f"{name}={shown(value)}"
                for name, value in fields.items()
                if value not in ("", b"", frozenset())
            )
            what = "closed" if isinstance(answer, Closed) else f"error {error}"
            self.transcript.append(
                self._shortened(f"   {self._numbers[number]} <- {what} {about}".rstrip())
            )

    def _shortened(self, text: str) -> str:
        for member, short in self._short.items():
            text = text.replace(member, short)
        return text

    def _disagrees(self, what: Sequence[str], is_silence: bool) -> Disagreement:
        said = [
            re.sub(
                r"(?<=request )\d+",
                lambda m: str(self._numbers.get(int(m[0]), m[0])),
                self._shortened(line),
            )
            for line in what
        ]
        return Disagreement(said, self.transcript, is_silence)


def _waits(end: End, number: int) -> bool:
    return all(expected.number != number for expected in end.answers)
