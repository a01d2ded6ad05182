"""What the application does to Kafka's Java client: a wrong rule about it is noticed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import islice

import attrs
import pytest

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic.client import NOTHING, Prepare
from groupcheck.model.protocol.messages import NO_ID, LeaveGroup
from groupcheck.oracles.conform.member.application import ApplicationRows
from groupcheck.oracles.conform.member.every_row import rows_of
from groupcheck.oracles.conform.member.member_memory import Does, During, Input, Memory, Outcome
from groupcheck.oracles.conform.member.moves import Standing, setup
from groupcheck.oracles.conform.member.tour import MemberRow, different
from groupcheck.oracles.kafka.driver import Driver

MEMORIES = 400  # the nearest ones: they hold a row for each mistake
TRIED = 400
Wrong = Callable[[Memory, Outcome], Outcome]


@cache
def rows() -> ApplicationRows:
    (found,) = rows_of("classic", 1, None, {"partitions": "1", "autocommit": "yes"})
    assert isinstance(found, ApplicationRows)
    return found


@cache
def application_rows() -> list[MemberRow]:
    """The application's rows of the nearest memories; none is executed."""
    model, found = rows(), []
    standings = {model.start(): Standing(setup(1, autocommit=True))}
    frontier = [model.start()]
    for memory in islice(frontier, MEMORIES):
        for given in model.inputs(memory):
            for outcome in model.outcomes(memory, given):
                row = MemberRow(memory, given, outcome, standings[memory])
                if given.does == Does.UNSUBSCRIBE or given.during != During.NOTHING:
                    found.append(row)
                if outcome.after is not None and outcome.after not in standings:
                    standings[outcome.after] = row.standing.then(row.probe.row)
                    frontier.append(outcome.after)
    return found


def noticed(does: Does, during: During, wrong: Wrong, driver: Driver) -> list[str]:
    """What is different about the first row of this kind that differs, if its outcome is wrong."""
    tried = 0
    for row in application_rows():
        if (row.given.does, row.given.during) != (does, during) or row.outcome is None:
            continue
        bad = wrong(row.before, row.outcome)
        if bad != row.outcome:
            (seen,) = driver.run_all([row.probe])
            assert different(rows(), row, seen) == []
            if what := different(rows(), attrs.evolve(row, outcome=bad), seen):
                return what
            tried += 1
            if tried == TRIED:
                break
    return []


def after(**fields: object) -> Wrong:
    """Afterwards these fields of the member are others."""

    def wrong(m: Memory, o: Outcome) -> Outcome:
        assert o.after is not None
        return attrs.evolve(o, after=evolve(o.after, client=evolve(o.after.client, **fields)))

    return wrong


def silent(m: Memory, o: Outcome) -> Outcome:
    return attrs.evolve(o, sent=tuple(r for r in o.sent if not isinstance(r, LeaveGroup)))


def kept(*names: str) -> Wrong:
    """These fields of the member stay as they were."""

    def wrong(m: Memory, o: Outcome) -> Outcome:
        return after(**{name: getattr(m.client, name) for name in names})(m, o)

    return wrong


def quiet(m: Memory, o: Outcome) -> Outcome:
    return attrs.evolve(o, raised=False)


def uncalled(m: Memory, o: Outcome) -> Outcome:
    return attrs.evolve(o, gave_up=None, installed=False)


def lost(m: Memory, o: Outcome) -> Outcome:
    return attrs.evolve(o, gave_up=o.gave_up and (-1, NO_ID))


def reasonless(m: Memory, o: Outcome) -> Outcome:
    return attrs.evolve(o, reason="")


POLL, LEAVE, CLOSE = Does.POLL, Does.UNSUBSCRIBE, Does.CLOSE
IDLE, THROWS, COMMITS = During.NOTHING, During.THROWS, During.COMMITS
LASTS, OUTLASTS = During.LASTS, During.OUTLASTS
MISTAKES: dict[str, tuple[Does, During, Wrong]] = {
    "unsubscribe sends nothing": (LEAVE, IDLE, silent),
    "unsubscribe keeps the id": (LEAVE, IDLE, kept("id")),
    "unsubscribe keeps the generation": (LEAVE, IDLE, kept("generation")),
    "unsubscribe keeps the partitions": (LEAVE, IDLE, kept("owned")),
    "unsubscribe calls nothing": (LEAVE, IDLE, uncalled),
    "unsubscribe loses what it revokes": (LEAVE, IDLE, lost),
    "unsubscribe has no reason": (LEAVE, IDLE, reasonless),
    "a throwing callback does not stop unsubscribe": (LEAVE, THROWS, quiet),
    "a throwing callback keeps the partitions": (LEAVE, THROWS, kept("owned")),
    "a throwing callback in poll keeps the partitions": (POLL, THROWS, kept("owned")),
    "a throwing callback in poll is not heard of": (POLL, THROWS, quiet),
    "onJoinPrepare runs again after it threw": (POLL, THROWS, after(prepare=Prepare.NEEDED)),
    "a throwing callback in close lets it go on": (CLOSE, THROWS, quiet),
    "a refused commit in a callback is not heard of": (POLL, COMMITS, quiet),
    "a refused commit keeps the generation": (POLL, COMMITS, kept("generation", "id", "state")),
    "a commit in a callback of close is not sent": (CLOSE, COMMITS, lambda m, o: _first(o)),
    "a member that lasts too long keeps its id": (POLL, LASTS, kept("id")),
    "a member that lasts too long does not leave": (POLL, LASTS, silent),
    "it has not left when unsubscribe goes on": (LEAVE, LASTS, lambda m, o: _twice(m, o)),
    "an outlasted session is not noticed": (POLL, OUTLASTS, lambda m, o: _known(o)),
    "unsubscribe outlasts the session and leaves": (LEAVE, OUTLASTS, lambda m, o: _twice(m, o)),
}


def _first(o: Outcome) -> Outcome:
    return attrs.evolve(o, sent=o.sent[-1:])


def _twice(m: Memory, o: Outcome) -> Outcome:
    return attrs.evolve(o, sent=(*o.sent, LeaveGroup(m.client.id)))


def _known(o: Outcome) -> Outcome:
    assert o.after is not None
    return attrs.evolve(o, after=evolve(o.after, known=True))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_about_the_application_is_noticed(mistake: str, coordinator: Driver) -> None:
    assert noticed(*MISTAKES[mistake], driver=coordinator)


def test_rows_that_are_left_out_are_those_that_the_groups_model_has_no_memory_for() -> None:
    interrupted = Memory(evolve(Memory().client, granted=1, owned=1, state=3), known=True)
    does = {given.does for given in rows().inputs(interrupted)}
    assert not does & {Does.FETCH, Does.PROCESS, Does.COMMIT}
    assert interrupted.client.granted != NOTHING
    assert Input(Does.POLL) in rows().inputs(interrupted)
