"""`groupcheck replay`: reads logs, shows what happened, and writes the page.

Exit codes: 0 all groups are calm, 1 there is trouble, 3 the logs show too little. A file that
cannot be read is reported; if none can be read, that is a `UserError` (2).
"""

from __future__ import annotations

import gc
import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence, Set
from pathlib import Path
from typing import Any

from attrs import evolve

from groupcheck.model.engine import UserError
from groupcheck.model.engine.verdict import VIOLATED
from groupcheck.oracles.explain.unknown import one_of
from groupcheck.oracles.printable import printable
from groupcheck.oracles.replay.answers import Answer, answers, judged, worst
from groupcheck.oracles.replay.knowledge_cases import try_cases
from groupcheck.oracles.replay.moved_rounds import as_others_tell
from groupcheck.oracles.show import meter
from groupcheck.oracles.show.files import written
from groupcheck.oracles.show.offsets_partition import in_words
from groupcheck.oracles.show.suite import Suite, tell
from groupcheck.traces.causes.diagnosis import Health
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.causes.knowledge import Knowledge, knowledge_of, shipped_knowledge
from groupcheck.traces.causes.scan_log import scan_log
from groupcheck.traces.dumps.dump_log import MARKS as DUMPS
from groupcheck.traces.event_lines.event_log import NEEDLES as EVENT_MARKS
from groupcheck.traces.event_lines.event_log import hear_events
from groupcheck.traces.findings.report import UNREADABLE, FileReport, unreadable
from groupcheck.traces.formats import CLIENTS, EVENTS, GROUP_TABLES, UNKNOWN_FORMAT
from groupcheck.traces.group_tables.table_log import watch
from groupcheck.traces.phrases import plural
from groupcheck.traces.reading import Source, TraceError
from groupcheck.traces.reading.finding import find_logs
from groupcheck.traces.reading.unpacking import Watch
from groupcheck.traces.replay import COLLECT_AFTER, ReplayOptions, known_format, replay_log
from groupcheck.traces.requests.request_log import NEEDLES as REQUESTS

MOST_QUOTED = 10_000


class ReplayReports(list[FileReport]):
    """The reports of all logs, in order, and the answer for each group. Prints as text; a notebook
    shows it as a page.
    """

    def __init__(
        self,
        reports: Iterable[FileReport],
        notes: Sequence[str] = (),
        heard: Evidence | None = None,
        knowledge: Knowledge | None = None,
    ) -> None:
        """`heard`: what the lines of all logs say about groups; `knowledge`: the known causes."""
        super().__init__(as_others_tell(reports))
        # What was passed over in folders and archives.
        self.notes = tuple(notes)
        self._knowledge = knowledge or shipped_knowledge()
        # One for each group, the worst first.
        self.answers = answers(self, heard or Evidence(), self._knowledge)

    @property
    def health(self) -> Health:
        """That of the group in worst health."""
        return worst(self.answers)

    @property
    def verdict(self) -> str:
        """The worst verdict on a broker, in all files."""
        return judged(self)[0]

    @property
    def exit_code(self) -> int:
        """0 calm, 1 trouble, 3 the logs show too little, or one of them could not be read (2 is
        left for bad usage).
        """
        code = {"calm": 0, "troubled": 1, "broken": 1, "unknown": 3}[self.health]
        return code or (3 if self._unread else 0)

    @property
    def _unread(self) -> bool:
        return any(r.format == UNREADABLE for r in self)

    def fails_on(self, kinds: Sequence[str]) -> int:
        """The exit code if only these kinds of trouble count: a health, a kind of cause, or the
        verdict `violated`. Raises `UserError` for any other word, which could never fail.
        """
        known = {"troubled", "broken", "unknown", VIOLATED, *self._knowledge.causes}
        for kind in kinds:
            if kind not in known:
                raise UserError(
                    f"no trouble is called {kind!r}",
                    where="--fail-on",
                    do="broken, troubled, unknown, violated, or a cause of `list causes`",
                )
        failed = any(_fails(a, kinds) for a in self.answers)
        return 1 if failed else 3 if self.health == "unknown" or self._unread else 0

    def suite(self, kinds: Sequence[str] = ()) -> Suite:
        """A test case for each group. `kinds`: the trouble that counts, as for `fails_on`; all
        trouble if it is empty.
        """
        from groupcheck.oracles.replay.group_cases import groups_suite

        kinds = kinds or ("troubled", "broken")
        unknown = self.health == "unknown"
        return groups_suite(self, self.answers, lambda a: _fails(a, kinds), unknown)

    def document(self) -> dict[str, Any]:
        """The answer as plain JSON, schema groupcheck.replay/2."""
        from groupcheck.oracles.replay.document import replay_document

        return replay_document(self, self.answers, self.notes)

    def html(self) -> str:
        """A complete page with the life of every group."""
        from groupcheck.oracles.replay.page import page

        return page(self, self.answers)

    def markdown(self) -> str:
        """The answer for a ticket."""
        from groupcheck.oracles.replay.markdown import markdown

        return markdown(self, self.answers)

    def __repr__(self) -> str:
        groups = plural(sum(len(r.groups) for r in self), "group")
        return f"<Replayed {plural(len(self), 'file')}, {groups}: {self.verdict}>"

    def __str__(self) -> str:
        from groupcheck.oracles.replay.text import replay_view
        from groupcheck.oracles.show.text import as_plain

        return as_plain(replay_view(self, self.answers))

    def _repr_html_(self) -> str:
        from groupcheck.oracles.replay.page import page
        from groupcheck.oracles.show.pages import FRAGMENT

        return page(self, self.answers, FRAGMENT)


def _fails(a: Answer, kinds: Sequence[str]) -> bool:
    """Does the group have trouble of one of these kinds?"""
    return not {*kinds}.isdisjoint(
        {a.health, str(a.verdict), *(f.cause.kind for f in a.diagnosis.causes)}
    )


def replay(
    paths: Sequence[str | Path],
    *,
    format: str | None = None,
    group: str | None = None,
    knowledge: Knowledge | None = None,
    watch: Watch | None = None,
) -> ReplayReports:
    """Replays the logs that files, folders, archives and `-` (standard input) hold; the rotated
    files of one process are one log. `watch` is told how far files have been read. Raises
    `UserError` if there is none that can be read.
    """
    if isinstance(paths, str | Path) or not isinstance(paths, Iterable):
        raise UserError(f"{paths!r} is not a list of files", do='as in ["broker.log"]')
    known_format(format)
    there = find_logs([str(path) for path in paths], watch=watch)
    asked = ReplayOptions(group, format)
    evidence = Evidence(rules=(knowledge or shipped_knowledge()).facts)
    reports: list[FileReport] = []
    for source in there.sources:
        try:
            reports += reports_of(source, asked, evidence)
        except TraceError as e:  # it has changed since it was found
            there.refused.append((source.name, e))
    if not reports:
        raise there.refused[0][1]
    said = [r for r in reports if not (r.format == UNKNOWN_FORMAT and r.path in there.unnamed)]
    silent = len(reports) - len(said)
    notes = list(there.notes)
    if said and silent:
        notes.append(f"{plural(silent, 'file')} without a line about a group passed over")
    if group is not None:
        notes.append(in_words(group))
    every = [*(said or reports), *(unreadable(*one) for one in there.refused)]
    return ReplayReports(every, notes, evidence, knowledge)


def reports_of(source: Source, asked: ReplayOptions, evidence: Evidence) -> Iterator[FileReport]:
    """The reports of one log: of each kind of broker lines that it has, and of its clients. What
    its lines say is added to `evidence`.
    """
    group, other = asked.group, REQUESTS + DUMPS + EVENT_MARKS
    read: list[FileReport | None] = []
    if asked.format not in (EVENTS, GROUP_TABLES):
        read.append(scan_log(source, evidence, group, other))
    if asked.format in (None, EVENTS):
        read.append(hear_events(source, evidence, group))
    if asked.format in (None, GROUP_TABLES):
        read.append(watch(source, evidence, group))
    told = evolve(asked, seen=evidence.coordinator_claims.listener(source.name))
    # Where a broker's format is named, lines of clients only add to what is known of its groups.
    shown = asked.format is None or asked.format in CLIENTS
    others = [r for r in read if r is not None and shown]
    brokers = () if others and asked.format is not None else replay_log(source, told)
    for r in brokers:
        if r.format != UNKNOWN_FORMAT or not others:
            yield evolve(r, quotes=source.texts(_quoted(r)))
    yield from others


def _quoted(report: FileReport) -> Set[int]:
    """The lines that anomalies of groups name, as many as are ever shown."""
    found = (a for g in report.groups for a in g.anomalies)
    back = (r.line for g in report.groups for r in g.findings.went_back)
    lines = (*(line for a in found for line in a.lines or (a.line,) if line), *back)
    return set(itertools.islice(lines, MOST_QUOTED))


def _progress(name: str, read: int, size: int, seconds: float) -> str:
    """One line for a terminal; a log is read once for each kind of lines that is looked for."""
    return f"{read >> 20:,} of {size >> 20:,} MiB  {seconds:.0f} s  {printable(name)}"


def run(
    paths: Sequence[str | Path],
    format: str | None,
    group: str | None,
    as_json: bool,
    html: Path | None,
    markdown: Path | None = None,
    fail_on: Sequence[str] = (),
    knowledge: Path | None = None,
    junit: Path | None = None,
) -> int:
    """Replays, prints, writes the page, the ticket and the test cases, and gives the exit code.
    Raises `UserError` for a group of which the logs say nothing, though they tell of others.
    """
    known = None
    if knowledge is not None:
        known = knowledge_of(knowledge)
        try_cases(knowledge, known)
    gc.set_threshold(COLLECT_AFTER, 10, 10)
    with meter.reports(_progress) as progress:
        reports = replay(paths, format=format, group=group, knowledge=known, watch=progress)
        if group is not None and not any(a.group == group for a in reports.answers):
            there = sorted(a.group for a in replay(paths, format=format, watch=progress).answers)
            if there:
                raise one_of("group", group, there, None)
    code = reports.fails_on(fail_on) if fail_on else reports.exit_code
    _print(reports, as_json)
    if html is not None:
        written(html, reports.html())
    if markdown is not None:
        written(markdown, reports.markdown())
    tell(lambda: reports.suite(fail_on), junit)
    return code


def _print(reports: ReplayReports, as_json: bool) -> None:
    if as_json:
        from groupcheck.oracles.replay.document import replay_text

        sys.stdout.writelines(replay_text(reports, reports.answers, reports.notes))
        return
    from rich.text import Text

    from groupcheck.oracles.replay.text import replay_view
    from groupcheck.oracles.show.text import show

    show(replay_view(reports, reports.answers))
    for note in reports.notes:
        show(Text(printable(note), "dim"))
