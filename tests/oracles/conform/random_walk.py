"""A random schedule, drawn step by step, on the model and on the real coordinator, for groups that
are larger than any exhaustive scope.

After every step the real coordinator must be where one of the outcomes that the model allows leads;
the walk goes on from there. The schedule is run from its beginning for each step, so its result
depends on nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import attrs
from attrs import frozen

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.classic.timers import initial_delay
from groupcheck.oracles.conform.jobs import Row, job_of, matches, observed
from groupcheck.oracles.conform.real_position import Standing, after, possible, unwritten
from groupcheck.oracles.conform.row import Fires, Input, Memory, Outcome
from groupcheck.oracles.conform.rows import Rows
from groupcheck.oracles.conform.sending import move
from groupcheck.oracles.conform.transcript import lines
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.schedule import LostSchedule, Transcript

MOST_WAITING = 12  # steps that are made up before the real coordinator takes them


@frozen
class Disagreement(Exception):
    """The model does not allow what the real coordinator did: what differs beside the nearest
    outcome, and the transcript.
    """

    given: Input
    what: tuple[str, ...]
    transcript: Transcript | LostSchedule

    def __str__(self) -> str:
        told = [
            f"after {self.given!r} the real coordinator is where the model cannot be:",
            *(f"  {what}" for what in self.what),
        ]
        return "\n".join([*told, *lines(self.transcript)])


class RandomWalk:
    """A group in the model and on the real coordinator. `steps`: inputs that happened.

    A step for which the model allows only one outcome need not be executed at once. It waits until
    the real coordinator has to decide between several outcomes of a step, or until many steps wait;
    then all are executed together.
    """

    def __init__(
        self,
        driver: Driver,
        scope: Scope,
        spec: Callable[[Scope], Spec],
        coordinator: Collection[str],
        seed: int = 0,
    ) -> None:
        """`coordinator`: the names of the coordinator's rules in the spec."""
        self.scope, self._driver = scope, driver
        # A JoinGroup of version 3 and older is answered in one step: the same rows, with that
        # scope.
        self._scopes = {
            two_step: attrs.evolve(scope, two_step=two_step) for two_step in (True, False)
        }
        self._rows = {
            two_step: Rows(of, spec(of), coordinator) for two_step, of in self._scopes.items()
        }
        self.memory: Memory = self._rows[True].start()
        self._at = self._ahead = Standing(
            seed=seed
        )  # where it stands, and where it should stand after what waits
        self._waiting: list[Row] = []
        self.steps = 0
        # The outcomes of the coordinator's rules that the real coordinator has shown.
        self.fired: set[str] = set()

    def fires(self) -> Iterator[Fires]:
        """Timers and ends of appends that can happen now."""
        rows = self._rows[True]
        return (
            given
            for given in rows.inputs(self.memory)
            if isinstance(given, Fires) and possible(self._ahead, self.memory, given)
        )

    def inputs(self) -> Iterator[Input]:
        """All that may come next."""
        return (
            given
            for given in self._rows[True].inputs(self.memory)
            if possible(self._ahead, self.memory, given)
        )

    def step(self, given: Input, *, two_step: bool = True, lost: bool = False) -> bool:
        """The input happens in both; False if the model says that it cannot happen now. `lost`: the
        record of a group that becomes Empty is lost.

        Raises `Disagreement`, perhaps about an earlier step.
        """
        outcomes = self._rows[two_step].outcomes(self.memory, given)
        if not outcomes or not possible(self._ahead, self.memory, given, outcomes):
            return False
        held = self._ahead.log.held
        if not two_step or held:
            self.catch_up()
        row = Row(self.memory, given, outcomes, self.steps)
        delay = isinstance(given, Fires) and given.rule == initial_delay.name
        self.steps += 1
        self.memory = outcomes[0].after
        self._waiting.append(row)
        moved = move(self._ahead, row.before, given, outcomes[0], self._scopes[two_step])
        self._ahead = after(self._ahead, row.before, given, moved, outcomes[0])
        # While appends are held back, an answer may wait for a later step; so each is looked at
        # before the next.
        if (
            len(outcomes) > 1
            or delay
            or not two_step
            or held
            or self._ahead.log.held
            or len(self._waiting) == MOST_WAITING
        ):
            fates = {unwritten(row.before, o) for o in outcomes}
            self.catch_up(self._scopes[two_step], lost if lost in fates else not lost)
        return True

    def catch_up(self, scope: Scope | None = None, lost: bool = False) -> None:
        """The real coordinator takes the steps that wait; the last one decides where the model goes
        on. Raises `Disagreement`.
        """
        rows, self._waiting = tuple(self._waiting), []
        if rows:
            self._follow(rows, lost, scope or self.scope)

    def _follow(self, rows: tuple[Row, ...], lost: bool, scope: Scope) -> None:
        job = job_of(rows, self._at, scope, lost=lost)
        result = self._driver.run(job.schedule(self.scope))
        if isinstance(result, LostSchedule) or result.refused:
            raise Disagreement(
                rows[-1].given,
                (
                    str(result)
                    if isinstance(result, LostSchedule)
                    else f"the driver refuses: {result.refused}",
                ),
                result,
            )
        chosen: list[Outcome] = []
        for k, (row, moved, at, there, (place, ended)) in enumerate(
            zip(rows, job.moves, job.standings, job.ends, job.places)
        ):
            is_last = row is rows[-1]
            real = observed(
                result.steps,
                place,
                ended,
                result.steps[-1].records or (),
                job.released(result) if is_last else (),
            )
            matched, what = matches(row, lost and is_last, at, moved, real, scope, there)
            if matched:
                chosen.append(matched[0][0])
            elif not is_last:
                self._follow(
                    rows[: k + 1], False, scope
                )  # it raises, with nothing in the transcript that came later
                raise Disagreement(row.given, (*what, "only where something follows"), result)
            else:
                raise Disagreement(row.given, what, result)
        for row, outcome in zip(rows, chosen):
            self.fired.update(outcome.rules)
            moved = move(self._at, row.before, row.given, outcome, scope)
            self._at = after(self._at, row.before, row.given, moved, outcome)
        self._ahead = self._at
        self.memory = chosen[-1].after
