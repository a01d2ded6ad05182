"""`groupcheck judge broker` and `groupcheck judge again` at the terminal."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from attrs import evolve
from rich.console import Group, RenderableType
from rich.text import Text

from groupcheck.model.engine import UserError
from groupcheck.oracles.judge.broker.acts import checked
from groupcheck.oracles.judge.broker.confirming import REPEATS, confirmed, outlives
from groupcheck.oracles.judge.broker.exploring import Judging
from groupcheck.oracles.judge.broker.judging import by_roots, judgement, toured
from groupcheck.oracles.judge.broker.known import read as read_known
from groupcheck.oracles.judge.broker.profiles import PROFILES, QUICK, Profile, limited
from groupcheck.oracles.judge.broker.surroundings import SIZE, stated, target
from groupcheck.oracles.judge.report.cases import suite
from groupcheck.oracles.judge.report.document import as_document, schedules_in
from groupcheck.oracles.judge.report.judge_types import AgainDocument, AgainPart
from groupcheck.oracles.judge.report.page import page
from groupcheck.oracles.judge.report.text import COLOUR, view
from groupcheck.oracles.judge.report.verdicts import EXIT_CODES, Judgement, Verdict
from groupcheck.oracles.printable import printable
from groupcheck.oracles.processes.supervisor import until_interrupted
from groupcheck.oracles.show.files import written
from groupcheck.oracles.show.json_schemas import document
from groupcheck.oracles.show.meter import reports
from groupcheck.oracles.show.suite import tell
from groupcheck.oracles.show.terminal import answer
from groupcheck.oracles.wire.connections import host_and_port
from groupcheck.oracles.wire.security import PLAINTEXT, Security

AGAIN_SCHEMA = "groupcheck.again/1"
QUICK_S, FULL_S = 20.0, 300.0
EXPLORING = 0.6  # of the time; the rest is for repetitions
# How much longer the repetitions, and the search for short schedules, may take.
LONGER_S = 60.0
THREADS = 4  # and as many again for groups that wait
SLOWER = 3  # so many times more, if rounds are waited for most of the time
LARGEST_GROUP = 3  # group.max.size for which a group is filled
CONFIRMING = 16  # threads


def broker(*, as_json: bool, junit: Path | None, html: Path | None, **options: Any) -> int:
    """Judges a broker, shows what came out, and gives the exit code: 0 no rule broken, 1 a rule
    broken, 3 not decided. `options`: those of `judged`.
    """
    found = judged(**options)
    answer(lambda: as_document("broker", found), lambda: view(found), as_json)
    if html:
        written(html, page("broker", found))
    tell(lambda: suite("judge broker", found), junit)
    return found.exit_code


def judged(
    address: str | None,
    *,
    start: str | None,
    full: bool,
    seconds: float | None,
    seed: int,
    topic: str | None,
    settings: Mapping[str, str],
    known: Path | None,
    security: Security,
) -> Judgement:
    """The judgement of the broker at this address, or of one that is started. Raises `UserError`
    for a broker that does not answer.
    """
    accepted = read_known(known)
    stated(settings, is_started=start is not None)
    with running(address, start, settings) as (where, title):
        aim, told = target(where, security, topic, settings)
        judging = Judging(aim, security, seed)
        profiles = fitting(PROFILES if full else QUICK, told)
        whole = seconds or (FULL_S if full else QUICK_S)
        began, reason = time.monotonic(), list[str]()
        with until_interrupted(reason.append), reports(progress_line) as report:

            def notify(doing: str = "exploring") -> None:
                if report:
                    report(judging, doing, whole)

            threads, more = (n * (SLOWER if aim.slow else 1) for n in (THREADS, CONFIRMING))
            judging.explore(profiles, whole * EXPLORING, threads, notify)
            first, others = by_roots(judging.ledger.found.values())
            ends, repeat = began + whole, partial(notify, "repeating")
            until, tour = ends + LONGER_S, partial(toured, judging, profiles)
            confirmed(judging, first, others, until, more, repeat, tour)
            if not judging.stopped.is_set():
                outlives(judging)
        seconds = time.monotonic() - began
        return judgement(judging, profiles, accepted, title, seconds, "".join(reason))


def progress_line(judging: Judging, doing: str, whole_s: float, seconds: float) -> str:
    """One line for a terminal."""
    ledger = judging.ledger
    left = max(0.0, whole_s - seconds)
    parts = [
        doing,
        f"{ledger.schedules:,} schedules",
        f"{len(ledger.rows):,} rows agree",
        f"{len(ledger.found):,} kinds of rows differ" if ledger.found else "",
        f"about {left:.0f} s left" if left >= 1 else "nearly done",
    ]
    return "  ".join(filter(None, parts))


def fitting(some: Sequence[Profile], settings: Mapping[str, str]) -> list[Profile]:
    """The profiles whose members fit into a group of this broker, which some fill; and a group for
    which there is one process more, where the broker bounds groups to a few members.
    """
    size = int(settings.get(SIZE, "0"))
    found = [
        evolve(profile, settings={**profile.settings, "max_size": str(size)})
        if profile.members == size
        else profile
        for profile in some
        if not size or profile.members <= size
    ]
    return [*found, *([limited(size)] if 0 < size <= LARGEST_GROUP else [])]


@contextmanager
def running(
    address: str | None, start: str | None, settings: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """The address of the broker, and what it is; it is started if that is wanted. Raises
    `UserError` unless one of both is given.
    """
    if (address is None) == (start is None):
        raise UserError(
            "one broker is judged", where="HOST:PORT", do="give HOST:PORT, or --start NAME"
        )
    if address is not None:
        host_and_port(address)
        yield address, f"the broker at {address}"
        return
    from groupcheck.oracles.judge.brokers.starting import start as started

    assert start is not None
    with started(start, settings) as on:
        named = start.lower() in on.version.lower()
        yield on.address, on.version if named else f"{start} {on.version}"


def again(
    file: Path, *, on: str | None, start: str | None, security: Security, as_json: bool
) -> int:
    """Carries out schedules on a broker (Apache Kafka by default), and gives the exit code: 0 all
    that came is allowed by the model, 1 not, 3 a schedule could not be carried out.
    """
    some = schedules_in(_read(file), str(file))
    filled = [limited(size) for size in range(1, LARGEST_GROUP + 1)]
    profiles = {profile.name: profile for profile in (*PROFILES, *filled)}
    for _, name, acts in some:
        if name not in profiles:
            raise UserError(
                f"there is no kind of group {name!r}", where=str(file), do=", ".join(profiles)
            )
        for act in acts:
            checked(act, profiles[name], str(file))
    wanted = start if on or start else "kafka"
    with running(on, wanted, {}) as (where, title):
        aim, _ = target(where, security, None, {})
        judging = Judging(aim, security)
        parts = [_part(judging, row, profiles[name], acts) for row, name, acts in some]
    told = AgainDocument(subject=title, verdict=_verdict(parts), schedules=parts)
    answer(lambda: document(AGAIN_SCHEMA, told), lambda: _shown(told), as_json)
    return EXIT_CODES[told.verdict]


def _verdict(parts: Sequence[AgainPart]) -> Verdict:
    if not all(part.agrees for part in parts):
        return "breaks"
    return "keeps" if all(part.complete for part in parts) else "unknown"


def _part(judging: Judging, row: str, profile: Profile, acts: Sequence[Any]) -> AgainPart:
    for _ in range(REPEATS):  # a busy machine is late for the timers of a schedule
        walk = judging.again(profile, acts)
        if walk.met.differences or len(walk.acts) == len(acts):
            break
    differences = [one for one, _, _ in walk.met.differences]
    said = [f"{one.kind}: {one.got} in place of {' or '.join(one.allowed)}" for one in differences]
    return AgainPart(
        row=row,
        agrees=not said,
        complete=bool(said) or len(walk.acts) == len(acts),
        differs=said,
        transcript=[str(line) for line in walk.transcript.lines],
    )


def _shown(told: AgainDocument) -> RenderableType:
    colour = COLOUR[told.verdict]
    lines: list[RenderableType] = [
        Text.assemble((told.verdict, colour), "  ", (told.subject, "bold"))
    ]
    for part in told.schedules:
        lines.append(Text(f"\n{printable(part.row) or 'schedule'}", "bold"))
        lines += [Text(f"   {printable(line)}", no_wrap=True) for line in part.transcript]
        lines += [Text(f"   {printable(line)}", "red") for line in part.differs]
        so_far = "" if part.complete else ", but not every step has a meaning here"
        lines += [Text(f"   as the model allows{so_far}", "green")] if part.agrees else []
    return Group(*lines)


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(
            f"{file} cannot be read: {error}",
            where="SCHEDULE",
            do="give what `judge broker --json` printed",
        ) from None


def secured(
    tls: bool,
    ca: Path | None,
    insecure: bool,
    sasl: str | None,
    user: str | None,
    password: str | None,
) -> Security:
    """How connections are secured, from the options. Raises `UserError` if they do not fit."""
    if (ca or insecure) and not tls:
        raise UserError("is only for --tls", where="--ca" if ca else "--insecure", do="add --tls")
    if (sasl is None) != (user is None) or (sasl is None) != (password is None):
        raise UserError(
            "a login needs a mechanism, a user and a password",
            where="--sasl",
            do="give --sasl, --user, and the password in GROUPCHECK_PASSWORD",
        )
    if sasl is None and not tls:
        return PLAINTEXT
    return Security(tls, ca, not insecure, sasl or "", user or "", password or "")
