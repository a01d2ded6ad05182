"""`groupcheck replay LOG --pytest`: the schedule that a log of a broker shows, as a test.

The test hands the lines about one group to the model's coordinator again: it fails as soon as the
model (or the reading of the log) no longer explains one of them, or comes to other rebalances. Only
logs that show the coordinator's steps have such a schedule: those of the group coordinator and
request logs. A group that the model does not explain has none.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import frozen

from groupcheck import __version__
from groupcheck.model.engine import UserError
from groupcheck.model.engine.verdict import HOLDS
from groupcheck.oracles.printable import not_obeyed, printable
from groupcheck.oracles.show.files import is_replaced, written
from groupcheck.oracles.show.pytest_export import literal
from groupcheck.traces.exchanges.exchange import Exchange
from groupcheck.traces.findings.report import GroupReport
from groupcheck.traces.formats import BROKER_JAVA, BROKER_SCALA, REQUEST_LOG
from groupcheck.traces.reading import Source
from groupcheck.traces.reading.finding import find_logs
from groupcheck.traces.replay import ReplayOptions, replay_file, replay_log
from groupcheck.traces.story.events import Event

MOST_LINES = 2_000
"""Of a group: the beginning of a longer schedule is written."""
MOST_GROUPS = 20
FORMATS = (BROKER_JAVA, BROKER_SCALA, REQUEST_LOG)
WRITTEN_BY = "The schedules of groups in a log, written by groupcheck"

HEAD = f'''"""{WRITTEN_BY} {{version}}.

Each test gives the lines about one group to the model's coordinator, and fails if the model does
not explain one of them, or comes to other rebalances.
"""
'''
TEST = """

def test_{name}(groupcheck):
{comments}    groupcheck.explains(
        (
{lines}        ),
        group={group},
        rounds=(
{rounds}        ),
    )
"""

Rounds = tuple[tuple[int | None, int | None, int | None], ...]


@frozen
class Schedule:
    """The schedule that a log shows about one group."""

    group: str
    # The lines of the log, in order.
    lines: tuple[str, ...]
    # (generation before, generation after, members) of each rebalance, as the model has them.
    rounds: Rounds


def followed(lines: Sequence[str], group: str) -> GroupReport | None:
    """The group after these lines; None if they do not name it."""
    with tempfile.TemporaryDirectory(prefix="groupcheck-") as folder:
        path = Path(folder, "schedule.log")
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        report = replay_file(str(path), group=group)
    return next((g for g in report.groups if g.group == group), None)


def rounds_of(group: GroupReport) -> Rounds:
    """The rebalances that ended."""
    return tuple(
        (x.from_generation, x.to_generation, x.size)
        for x in group.timeline.rounds
        if x.ended is not None
    )


def schedules(source: Source, asked: ReplayOptions) -> Iterator[Schedule]:
    """The schedules of the groups in a log that the model explains."""
    of: dict[str | None, set[int]] = {}

    def seen(event: Event | Exchange, _: str) -> None:
        of.setdefault(event.group, set()).add(event.line)

    for report in replay_log(source, ReplayOptions(asked.group, asked.format, seen)):
        if report.format not in FORMATS:
            continue
        shared = of.get(None, set())
        wanted = {
            g.group: sorted(of.get(g.group, set()) | shared)[:MOST_LINES]
            for g in report.groups
            if g.verdict == HOLDS and not g.nothing_judged
        }
        numbers = {n for some in wanted.values() for n in some}
        texts = source.texts(numbers)
        for group, some in wanted.items():
            lines = tuple(texts[n] for n in some)
            told = followed(lines, group)
            if told is not None and told.verdict == HOLDS and (rounds := rounds_of(told)):
                yield Schedule(group, lines, rounds)


def test_file(paths: Sequence[str | Path], format: str | None, group: str | None) -> str:
    """The text of the file. Raises `UserError` if no log has a schedule."""
    asked = ReplayOptions(group, format)
    some: list[Schedule] = []
    for source in find_logs([str(path) for path in paths]).sources:
        some += schedules(source, asked)
    if not some:
        raise UserError(
            "no group in these logs has a schedule that the model explains",
            where="--pytest",
            do="give a broker's server.log, or its request log, with a whole rebalance of the"
            " group; logs of clients, dumps and tables do not show the coordinator's steps",
        )
    some.sort(key=lambda s: -len(s.rounds))
    used: set[str] = set()
    return HEAD.format(version=__version__) + "".join(
        _test(s, _name(s.group, used)) for s in some[:MOST_GROUPS]
    )


def export(
    paths: Sequence[str | Path], to: str | Path, format: str | None, group: str | None
) -> int:
    """Prints the test (`to` is `-`) or writes it to a file. Raises `UserError` if there is none, or
    if the file holds something else: it may be a log that was meant to be read.
    """
    text = test_file(paths, format, group)
    if to == "-":
        sys.stdout.write(not_obeyed(text))
        return 0
    path = Path(to)
    if is_replaced(path) and path.exists() and WRITTEN_BY not in _begin(path):
        raise UserError(
            "exists and is no test that groupcheck wrote",
            where=str(to),
            do="name a new file; logs come before --pytest",
        )
    written(path, text)
    return 0


def _begin(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(200)


def _test(s: Schedule, name: str) -> str:
    cut = f"    # The first {MOST_LINES:,} lines.\n" if len(s.lines) == MOST_LINES else ""
    return TEST.format(
        name=name,
        comments=cut,
        lines="".join(f"            {literal(line)},\n" for line in s.lines),
        group=literal(s.group),
        rounds="".join(f"            {literal(r)},\n" for r in s.rounds),
    )


def _name(group: str, used: set[str]) -> str:
    name = re.sub(r"\W+", "_", printable(group), flags=re.ASCII)[:60].strip("_").lower() or "group"
    while name in used:
        name += "_too"
    used.add(name)
    return f"the_schedule_of_{name}"
