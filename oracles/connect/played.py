"""`groupcheck connect-rounds`: rounds of Kafka Connect's workers in the terms of KIP-415. For each:
what every JoinGroup reports, what each answer assigns and revokes, and the delay in ms. The answers
are those of Kafka's assignor (`model.assignors.connect`), which `conform connect` compares with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from groupcheck.model.assignors.connect import (
    NOTHING,
    Config,
    Memory,
    Round,
    Work,
    Worker,
    perform_assignment,
    running,
    work,
)
from groupcheck.model.engine import UserError
from groupcheck.model.protocol.story import Era, Lane, Line, Message, Note, Span, Story
from groupcheck.oracles.connect.played_types import (
    ConnectRoundsDocument,
    RoundOfWorkers,
    WorkerInRound,
)
from groupcheck.oracles.quantities import time_of

if TYPE_CHECKING:
    from rich.console import Group

SCHEMA = "groupcheck.connect-rounds/1"
TITLE = "Rounds of Kafka Connect's workers"
# The example of KIP-415 and of an article: C2 is gone past its session and comes back in time.
WORKERS = ("C1=P0,P3", "C2=P1", "C3=P2")
ROUNDS = ("0s=C1,C3", "120s=C1,C2,C3", "300s=C1,C2,C3")
FIRST_MS = 1
"""A clock's time is positive; the assignor takes 0 for `no delay runs`."""


@frozen
class Question:
    """The rounds that somebody asks about."""

    # Worker -> the tasks that it runs before the first round; the first one leads.
    before: Mapping[str, tuple[str, ...]]
    # (time in ms, who joins) of each round.
    rounds: tuple[tuple[int, tuple[str, ...]], ...]
    max_delay_ms: int


def question_of(workers: Sequence[str], rounds: Sequence[str], max_delay_ms: int) -> Question:
    """Reads `C1=P0,P3` and `120s=C1,C2`. Raises `UserError` for what cannot be."""
    before: dict[str, tuple[str, ...]] = {}
    for text in workers or WORKERS:
        name, tasks = _pair(text, "--worker", "as in C1=P0,P3")
        if name in before:
            raise UserError(f"worker {name} is given twice", where="--worker", do="once each")
        before[name] = tasks
    given = [task for tasks in before.values() for task in tasks]
    for task in given:
        if given.count(task) > 1:
            raise UserError(f"{task} is given to two workers", where="--worker", do="to one")
    found, last = [], 0
    for text in rounds or ROUNDS:
        when, names = _pair(text, "--round", "as in 120s=C1,C2")
        at_ms = _ms(when)
        if at_ms < last:
            raise UserError(
                f"{text} is earlier than the round before it", where="--round", do="in order"
            )
        if not names or len({*names}) < len(names):
            raise UserError(f"{text} has no worker, or one twice", where="--round", do="name each")
        found.append((at_ms, names))
        last = at_ms
    return Question(before, tuple(found), max_delay_ms)


def _ms(text: str) -> int:
    try:
        return round(time_of(text)) if text != "0" else 0
    except ValueError as error:
        raise UserError(str(error), where="--round", do="as in 120s=C1,C2") from None


def _pair(text: str, where: str, do: str) -> tuple[str, tuple[str, ...]]:
    name, equals, rest = text.partition("=")
    if not name or not equals:
        raise UserError(f"{text!r} is no NAME=LIST", where=where, do=do)
    return name, tuple(filter(None, rest.split(",")))


def play(given: Question) -> ConnectRoundsDocument:
    """What becomes of the rounds. A worker that was not in a round comes back with nothing."""
    has = {name: _work(tasks) for name, tasks in given.before.items()}
    config = Config(work=_work([t for tasks in given.before.values() for t in tasks]))
    leader, generation = next(iter(given.before)), 1
    memories = {leader: Memory(config.work, NOTHING, frozenset(has), generation)}
    told = []
    for at_ms, names in given.rounds:
        has = {name: has.get(name, NOTHING) for name in names}
        leader = leader if leader in names else names[0]
        workers = tuple(Worker(name, work=has[name]) for name in names)
        made = perform_assignment(
            memories.get(leader, Memory()),
            Round(leader, workers, config, None, generation, generation + 1, FIRST_MS + at_ms,
                  given.max_delay_ms),
        )  # fmt: skip
        memories[leader], generation = made.memory, generation + 1
        shown = []
        for name in names:
            answer = made.answer(name)
            after = running(has[name], answer.revoked, answer.assigned)
            shown.append(
                WorkerInRound(
                    worker=name,
                    reports=_tasks(has[name]),
                    assigned=_tasks(answer.assigned),
                    revoked=_tasks(answer.revoked),
                    delay_ms=answer.delay,
                    runs=_tasks(after),
                )
            )
            has[name] = after
        run = {task for one in shown for task in one.runs}
        told.append(
            RoundOfWorkers(
                at_ms=at_ms,
                generation=generation,
                leader=leader,
                nobodys=[task for task in _tasks(config.work) if task not in run],
                workers=shown,
            )
        )
    return ConnectRoundsDocument(
        max_delay_ms=given.max_delay_ms,
        before={name: list(tasks) for name, tasks in given.before.items()},
        rounds=told,
    )


def _work(tasks: Sequence[str]) -> Work:
    return work(tasks=((task, 0) for task in tasks))


def _tasks(some: Work) -> list[str]:
    return sorted(str(connector) for connector, _ in some.tasks)


def _list(tasks: Sequence[str]) -> str:
    return ", ".join(tasks) or "nothing"


# -- in words


def view(found: ConnectRoundsDocument) -> Group:
    """A table for each round."""
    from rich.console import Group, RenderableType
    from rich.table import Table
    from rich.text import Text

    runs = "; ".join(f"{name} runs {_list(tasks)}" for name, tasks in found.before.items())
    parts: list[RenderableType] = [
        Text(f"generation 1: {runs}"),
        Text(f"scheduled.rebalance.max.delay.ms = {found.max_delay_ms:,}", "dim"),
    ]
    for number, one in enumerate(found.rounds, 1):
        head = f"round {number}  at {one.at_ms / 1000:g} s, generation {one.generation}"
        waits = f"; nobody runs {_list(one.nobodys)}" if one.nobodys else ""
        parts += ["", Text(f"{head}, {one.leader} leads{waits}", "bold")]
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for name in ("  worker", "JoinGroup reports", "assigned", "revoked", "delay", "then runs"):
            table.add_column(name)
        for w in one.workers:
            delay = f"{w.delay_ms:,} ms" if w.delay_ms else "none"
            cells = (w.reports, w.assigned, w.revoked)
            table.add_row(f"  {w.worker}", *map(_list, cells), delay, _list(w.runs))
        parts.append(table)
    return Group(*parts)


# -- as a picture


def story(found: ConnectRoundsDocument) -> Story:
    """The rounds as a swim-lane: a step for each JoinGroup, and one for each round's answers."""
    joining = [w.worker for one in found.rounds for w in one.workers]
    names = list(dict.fromkeys([*found.before, *joining]))
    lanes = [Lane("leader", "leader's plan"), *(Lane(name, name) for name in names)]
    lines: list[Line] = []
    events: list[Message | Note] = []
    eras: list[Era] = []
    starts: list[tuple[str, str, int]] = []  # (worker, task, step)
    ends: dict[tuple[str, str, int], int] = {}
    runs = {name: dict.fromkeys(tasks, 0) for name, tasks in found.before.items()}
    starts += [(name, task, 0) for name, tasks in runs.items() for task in tasks]
    step = 0
    for one in found.rounds:
        there = [w.worker for w in one.workers]
        step += 1
        for name in [n for n in runs if n not in there]:  # it is gone, and so is what it ran
            _stop(name, runs.pop(name), step, ends)
        for w in one.workers:
            words = f"{w.worker} joins and reports {_list(w.reports)}"
            lines.append(Line(step, w.worker, words))
            text = f"JoinGroup: {_list(w.reports)}"
            events.append(Message(step, w.worker, "leader", text))
            step += 1
        delay = max(w.delay_ms for w in one.workers)
        told = f"{delay:,} ms" if delay else "no delay"
        at = f"at {one.at_ms / 1000:g} s"
        then = f"join again in {told}" if delay else told
        lines.append(Line(step, "leader", f"the leader plans: {then}", (at,)))
        for w in one.workers:
            given, taken = (", ".join(some) or "-" for some in (w.assigned, w.revoked))
            text = f"assigned {given}, revoked {taken}, {told}"
            events.append(Message(step, "leader", w.worker, text))
            mine = runs.setdefault(w.worker, {})
            gone = {task: since for task, since in mine.items() if task not in w.runs}
            _stop(w.worker, gone, step, ends)
            kept = {task: since for task, since in mine.items() if task in w.runs}
            new = {task: step for task in w.runs if task not in kept}
            starts += [(w.worker, task, step) for task in new]
            runs[w.worker] = kept | new
        eras.append(Era(step, f"generation {one.generation}"))
    spans = [Span(name, since, ends.get((name, task, since)), task) for name, task, since in starts]
    return Story(lanes, lines, events, spans, eras)


def _stop(
    name: str, tasks: Mapping[str, int], step: int, ends: dict[tuple[str, str, int], int]
) -> None:
    ends.update({(name, task, since): step for task, since in tasks.items()})


def run(
    workers: Sequence[str], rounds: Sequence[str], delay_ms: float, as_json: bool, svg: Path | None
) -> int:
    """`groupcheck connect-rounds`."""
    from groupcheck.oracles.show.files import written
    from groupcheck.oracles.show.html import story_image
    from groupcheck.oracles.show.json_schemas import document
    from groupcheck.oracles.show.terminal import answer

    found = play(question_of(workers, rounds, round(delay_ms)))
    answer(lambda: document(SCHEMA, found), lambda: view(found), as_json)
    if svg is not None:
        written(svg, story_image(story(found), TITLE))
    return 0
