"""`groupcheck judge client` at the terminal."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve

from groupcheck.model.engine import OutageError, UserError
from groupcheck.oracles.judge.broker.known import read as read_known
from groupcheck.oracles.judge.client import harm
from groupcheck.oracles.judge.client.judging import Plan, Shortest, Trials, judge
from groupcheck.oracles.judge.client.moves import SETTINGS, Licence, read
from groupcheck.oracles.judge.client.reporting import MOVE, judgement
from groupcheck.oracles.judge.client.session import Command
from groupcheck.oracles.judge.libraries.preparing import prepare
from groupcheck.oracles.judge.report.cases import suite
from groupcheck.oracles.judge.report.document import as_document, schedules_in
from groupcheck.oracles.judge.report.page import page
from groupcheck.oracles.judge.report.text import view
from groupcheck.oracles.judge.report.verdicts import Judgement
from groupcheck.oracles.show.files import not_read, written
from groupcheck.oracles.show.meter import reports
from groupcheck.oracles.show.suite import tell
from groupcheck.oracles.show.terminal import answer, say

JAVA = "java"
COOPERATIVE = "cooperative"
# What a client may not have: the settings that are left out then.
OPTIONAL = ("static", COOPERATIVE)


def client(
    words: Sequence[str],
    *,
    library: str | None,
    full: bool,
    seconds: float | None,
    hostile: bool,
    without: Sequence[str],
    jobs: int,
    control: bool,
    confirm: bool,
    again: Path | None,
    known: Path | None,
    as_json: bool,
    junit: Path | None,
    html: Path | None,
) -> int:
    """Judges a client, shows what came out, and gives the exit code: 0 no rule broken, 1 a rule
    broken, 3 not decided. Raises `UserError` for a program that does not become a member.
    """
    if bool(words) == bool(library):
        raise UserError(
            "needs either a command or a library",
            where="judge client",
            do="give `-- COMMAND...` or `--library NAME`",
        )
    not_read({"--html": html, "--junit": junit}, [file for file in (again, known) if file])
    accepted = read_known(known)
    only = _schedules(again)
    command, subject, lacks = program(words, library)
    plan = Plan(
        command=command,
        control=_control(library) if control else None,
        full=full,
        licence=Licence.HOSTILE if hostile else Licence.DOCUMENTED,
        jobs=jobs,
        without=frozenset({*lacks, *without}),
        only=only,
        seconds_given=seconds,
    )
    told = judged(plan, subject, accepted, confirm)
    answer(lambda: as_document("client", told), lambda: view(told), as_json)
    if html:
        written(html, page("client", told))
    tell(lambda: suite("judge client", told), junit)
    return told.exit_code


def judged(plan: Plan, subject: str, accepted: Mapping[str, str], confirm: bool) -> Judgement:
    """Plays everything, and tries the worst on Apache Kafka if that is wanted."""
    with reports(_line) as report:
        found = judge(evolve(plan, say=report) if report else plan)
        harms = _confirmed(found, plan.command) if confirm and not found.reason else []
    facts = [(one.harm, f"on Apache Kafka {one.kafka}: {one.words}") for one in harms]
    return judgement(found, subject, facts, harms, accepted, plan.licence)


def _line(made: int, of: int, remarks: int, seconds: float) -> str:
    """One line for a terminal."""
    left = seconds / made * (of - made) if made else 0.0
    found = f"{remarks} remarks" if remarks else ""
    last = f"about {left:.0f} s left" if left >= 1 else ""
    return "  ".join(filter(None, (f"{made} of {of} moves", found, last)))


def program(words: Sequence[str], library: str | None) -> tuple[Command, str, frozenset[str]]:
    """The program, what it is called, and the settings that it does not have."""
    if library is None:
        if shutil.which(words[0]) is None:
            raise UserError(f"no program {words[0][:200]} is found", where="COMMAND")
        return Command(tuple(words), os.environ), " ".join(words)[:200], frozenset()
    adapter = prepare(library, say)
    has = adapter.library
    lacks = frozenset(name for name in OPTIONAL if name in has.lacks)
    eager = next((name for name in has.assignors if name != COOPERATIVE), COOPERATIVE)
    environment = {**os.environ, **adapter.environment}
    command = Command(adapter.command, environment, eager)
    return command, f"{has.name} {adapter.version}", lacks


def _control(library: str | None) -> Command | None:
    """Kafka's Java client, unless it is the one that is judged, or there is no Java here."""
    if library is not None and library.partition("==")[0] == JAVA:
        return None
    try:
        return program((), JAVA)[0]
    except (UserError, OutageError) as error:
        say(f"Kafka's Java client is not asked: {error}")
        return None


def _informs(part: Any) -> bool:
    """Does this entry of a report break no rule?"""
    return isinstance(part, dict) and part.get("rules") == []


def _schedules(file: Path | None) -> tuple[Shortest, ...]:
    """The schedules of a report. Raises `UserError` if there are none."""
    if file is None:
        return ()
    try:
        given: Any = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{file} cannot be read: {error}", where="--again") from None
    if isinstance(given, dict) and isinstance(given.get("differs"), list):
        # Rows that break no rule are played again only if one is given alone.
        some = [one for one in given["differs"] if not _informs(one)]
        given = {**given, "differs": some}
    found = []
    for _, profile, acts in schedules_in(given, str(file)):
        try:
            moves = [read(act.name) for act in acts if act.kind == MOVE]
            setting = SETTINGS[profile]
        except (KeyError, ValueError) as error:
            raise UserError(
                f"{file} has no schedule of a client: {error}", where="--again"
            ) from None
        found.append(Shortest(setting, moves[0] if moves else None))
    if not found:
        raise UserError(f"{file} has no schedules", where="--again")
    return tuple(dict.fromkeys(found))


def _confirmed(found: Trials, command: Command) -> list[harm.Confirmation]:
    """The worst findings on Apache Kafka itself, if there is one that may do harm."""
    broken = {o.finding.rule.name for o in found.outcomes() if not o.control}
    wanted = [one for one in harm.HARMS if one.rules & broken]
    if not wanted:
        return []
    try:
        with harm.at_work(lambda line: None) as (broker, line):
            tried = (harm.confirm(one, broker, line, command) for one in wanted)
            return [one for one in tried if one is not None]
    except (UserError, OutageError) as error:
        say(f"nothing is confirmed on Apache Kafka: {error}")
        return []
