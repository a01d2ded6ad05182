"""A cause as the evidence shows it: its words, its severity here, and the lines that it quotes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import pairwise
from typing import Any

from attrs import evolve, frozen

from groupcheck.model.engine.errors import UserError
from groupcheck.traces.causes.at_work import MEMBER_WORKS
from groupcheck.traces.causes.contexts import exists_in, in_protocol
from groupcheck.traces.causes.group_evidence import NEAR_LINES, GroupEvidence, is_process
from groupcheck.traces.causes.knowledge import (
    Cause,
    Confidence,
    Severity,
    Sign,
    Ticket,
    compiled_template,
)
from groupcheck.traces.clients.sentences import trouble
from groupcheck.traces.clients.statement import MOST_MS, Statement, settings_of
from groupcheck.traces.clients.who import BROKER
from groupcheck.traces.facts.defaults import by_default, with_default
from groupcheck.traces.facts.steps import ONE_OF
from groupcheck.traces.lines.timestamps import FIRST_DATED, show_span, show_time
from groupcheck.traces.phrases import some_of

FEW_EPISODES, EPISODE_MS = 2, 10_000
"""A kind of event that is more frequent than that does not end; lines of one time lie closer
together.
"""
NEAR_MS = 60_000
"""A line that tells how long something took is no longer before what it made."""
QUOTED = 6
NAMED = 3
MOST_CHARS = 200
"""Of a value in a sentence."""


@frozen
class FoundCause:
    """A cause that the evidence shows."""

    cause: Cause
    # How it shows here.
    sign: Sign
    confidence: Confidence
    # One sentence about this group. That of a possible cause says that it is only possible.
    text: str
    # What to do about it here.
    action: str
    # The line or setting that would decide, if the cause is only possible; else empty.
    decide: str
    tickets: tuple[Ticket, ...]
    # Setting -> its value as the log tells it; only those that it tells.
    present: Mapping[str, str]
    # The statements that show it, in order; at most `QUOTED` of each kind.
    evidence: tuple[Statement, ...]
    # What it did to the group here: a group that broke down once and works again is troubled.
    severity: Severity
    # Who is concerned, most often first.
    who: tuple[str, ...]
    # When it was first and last seen, in ms; None without timestamps.
    since: int | None
    until: int | None
    # What shows that it is over: the member did what had been refused.
    overcome: Statement | None = None

    @property
    def title(self) -> str:
        """It in a few words, as it shows here."""
        return self.sign.title or self.cause.title

    @property
    def lines(self) -> list[Statement]:
        """The lines that show it: of a statement that follows from others, these."""
        lines = [q for s in self.evidence for q in s.rests_on or (s,)]
        once = {(said.log, said.line): said for said in reversed(lines)}
        return sorted(once.values(), key=lambda said: said.line)[: 2 * QUOTED]


def may_be(cause: Cause, decide: str) -> str:
    """The words of a cause that is only possible."""
    return f"This may be: {cause.title}. {decide and f'To decide: {decide}.'}".strip()


def as_found(
    cause: Cause, sign: Sign, shown: Sequence[Statement], evidence: GroupEvidence
) -> FoundCause:
    """The cause with its words, as these statements show it."""
    who = _writers(shown)
    shared = evidence.shared
    named = [f"{ONE_OF}{name}" if name in shared else name for name in who]
    since, until = _span(shown)
    fields: dict[str, Any] = {}
    for said in shown:
        fields = {**{k: _short(v) for k, v in said.fields.items()}, **fields}
    printed = _printed_settings(evidence, who)
    clients = _clients(shown, evidence)
    values = {
        **printed,
        **fields,
        "who": some_of(named, NAMED) or "a member",
        "names": named,
        "group": evidence.group,
        "library": next((name for name, _ in evidence.libraries.most_common(1)), ""),
        "libraries": {s.library for s in shown},
        "instance": _only({s.instance for s in shown if s.instance}),
        "static": _static(shown, evidence),
        "n": len(shown),
        "since": "" if since is None else show_time(since),
        "until": "" if until is None else show_time(until),
        "last": _last_of_each(shown, sign),
        "stood": _stood(shown[0], evidence),
        "by_default": lambda name: by_default(name, clients),
        "facts": {kind: {"n": t.count, "who": t.first[0].who, **t.first[0].fields}
                  for kind, t in evidence.tallies.items()},
    }  # fmt: skip
    shown_there = evidence.contexts
    decide, text, action = (
        in_protocol(shown_there, _written(template, values))
        for template in (sign.decide, sign.text or cause.text, sign.action or cause.action)
    )
    text += _took(shown[0], evidence) if cause.slow else ""
    settings = {}
    for classic, wanted in cause.settings.items():
        if exists_in(classic, evidence.libraries.keys(), shown_there):
            name = in_protocol(shown_there, classic)
            owners = clients if name == classic else {BROKER}
            settings[name] = in_protocol(shown_there, with_default(name, wanted, owners))
    if sign.confidence == "possible" and not sign.text:
        text = may_be(cause, decide)
    return FoundCause(
        evolve(cause, settings=settings),
        sign,
        sign.confidence,
        text,
        action,
        decide,
        evidence.versions.of_these_versions((*sign.tickets, *cause.tickets)),
        {
            **_named(settings, cause, values),
            **{k: str(v) for k, v in settings_of(printed).items() if k in settings},
            **{k: str(v) for k, v in settings_of(fields).items()},
        },
        _quoted(shown),
        sign.severity or _severity(cause, shown, evidence),
        tuple(who),
        since,
        until,
    )


def _span(shown: Sequence[Statement]) -> tuple[int | None, int | None]:
    """When the first and the last of them happened, as their lines print it; None if they tell no
    time, or times of two clocks.
    """
    times = [s.time if s.printed is None else s.printed for s in shown if s.time is not None]
    since, until = min(times, default=None), max(times, default=None)
    if since is not None and until is not None and since < FIRST_DATED <= until:
        return None, None
    return since, until


def _quoted(shown: Sequence[Statement]) -> tuple[Statement, ...]:
    """Of each kind the first, in order."""
    of_kind = [[s for s in shown if s.kind == kind] for kind in {s.kind: 0 for s in shown}]
    once = {s.line: s for some in of_kind for s in some[:QUOTED]}
    return tuple(sorted(once.values(), key=lambda s: s.line))


def _named(settings: Mapping[str, str], cause: Cause, values: Mapping[str, Any]) -> dict[str, str]:
    """The values of settings that stand in the names of the lines, or that the cause proves."""
    names = {"group.id": values["group"], "group.instance.id": values["instance"], **cause.has}
    return {name: str(value) for name, value in names.items() if value and name in settings}


def _clients(shown: Iterable[Statement], evidence: GroupEvidence) -> set[str]:
    """The libraries of those who are concerned; of all clients if their lines show none."""
    own = {said.library for said in shown} - {BROKER, ""}
    return own or evidence.libraries.keys() - {BROKER}


def _last_of_each(shown: Sequence[Statement], sign: Sign) -> dict[str, Mapping[str, Any]]:
    """The fields of the statements that show it: of each kind the last one before the last of the
    kind that the sign needs first.
    """
    ends = [s for s in shown if s.kind == sign.needs[0].kind]
    out: dict[str, Mapping[str, Any]] = {}
    for said in shown:
        if said.kind not in out or not ends or said.line <= ends[-1].line:
            out[said.kind] = {k: _short(v) for k, v in said.fields.items()}
    return out


def _took(begun: Statement, evidence: GroupEvidence) -> str:
    """The longest time that a line of a program itself tells, near the first that shows the cause,
    in a sentence; empty if there is none.
    """
    near = []
    for said in evidence.all("took"):
        duration = said.fields.get("duration")
        if not isinstance(duration, int) or said.log != begun.log:
            continue
        ms = None if said.time is None or begun.time is None else said.time - begun.time
        if ms is not None and abs(ms) <= MOST_MS:
            fits = -NEAR_MS <= ms <= duration
        else:
            fits = abs(said.line - begun.line) <= NEAR_LINES
        if fits:
            near.append((duration, said.line))
    ms, line = max(near, default=(0, 0))
    return f" Line {line} says that something took {show_span(ms)}." if near else ""


def _only(names: Set[str]) -> str:
    """The name, if there is no other one."""
    return next(iter(names)) if len(names) == 1 else ""


def _static(shown: Iterable[Statement], evidence: GroupEvidence) -> bool:
    """May those who are concerned be static members? They do not leave on close()."""
    told = evidence.all("broker_stable")
    return any(s.instance for s in shown) or any(s.fields.get("static") for s in told)


def _stood(said: Statement, evidence: GroupEvidence) -> int | None:
    """How long nobody had said anything before it, in ms."""
    if said.time is None:
        return None
    times = evidence.times
    before = bisect_left(times, said.time)
    gap = said.time - times[before - 1] if before else 0
    return gap if 0 < gap <= MOST_MS else None


def _severity(cause: Cause, shown: Sequence[Statement], evidence: GroupEvidence) -> Severity:
    """That of the cause; one step less if it happened once or twice, and the group works since."""
    last = shown[-1]
    if cause.severity != "broken" or episodes(shown) > FEW_EPISODES:
        return cause.severity
    works = {*MEMBER_WORKS, "broker_stable"}
    later = [s for s in evidence.all(*works, *trouble()) if is_after(last, s)]
    at_work = [s for s in later if s.kind in works and concerns(last, s)]
    again = [s for s in later if s.kind not in works and s.kind not in cause.accounts_for]
    return "troubled" if at_work and not again else cause.severity


def episodes(shown: Sequence[Statement]) -> int:
    """How many times it happened: one time may take several lines."""
    kind = shown[0].kind
    times = [s.time for s in shown if s.kind == kind and s.time is not None]
    return 1 + sum(b - a > EPISODE_MS for a, b in pairwise(times))


def is_after(last: Statement, said: Statement) -> bool:
    if last.time is not None and said.time is not None:
        return said.time > last.time
    return said.log == last.log and said.line > last.line


def concerns(broken: Statement, said: Statement) -> bool:
    """Does a member at work show that what was broken works again? A coordinator's line does."""
    same = is_process(broken) and (said.log, said.process) == (broken.log, broken.process)
    return said.library == BROKER or not broken.who or said.who == broken.who or same


def _short(value: Any) -> Any:
    """Texts of a log may be as long as its lines."""
    return (
        value[:MOST_CHARS] + "..." if isinstance(value, str) and len(value) > MOST_CHARS else value
    )


def _printed_settings(evidence: GroupEvidence, who: Sequence[str]) -> dict[str, Any]:
    """The settings that these clients printed at their start, or sent in requests; those of all
    clients of the group if none of them is named.
    """
    out: dict[str, Any] = {}
    for kind in ("setting_told", "request_sent", "started", "setting"):
        tally = evidence.tallies.get(kind)
        for said in tally.statements() if tally else ():
            if not who or not said.who or said.who in who:
                some = {k: _short(v) for k, v in said.fields.items() if k.startswith("setting_")}
                out |= some
    return out


def _writers(shown: Iterable[Statement]) -> list[str]:
    some = list(shown)
    # A line that has two names of one member tells that both are its own.
    same = {name: s.who for s in some for name in (s.client, s.member) if name != s.who}
    # The process of a client that other lines name is nobody else.
    hosts = {s.process for s in some if s.who != s.process}
    often: dict[str, int] = {}
    for who in (same.get(said.who, said.who) for said in some):
        if who and who not in hosts:
            often[who] = often.get(who, 0) + 1
    return sorted(often, key=lambda who: -often[who])


def _written(template: str, values: Mapping[str, Any]) -> str:
    """Raises `UserError` if a template of a user's own file fails."""
    try:
        text = " ".join(compiled_template(template).render(values).split())
    except Exception as e:
        raise UserError(f"the text of a cause cannot be written: {e}", where=template) from None
    return text[:1].upper() + text[1:] if text.startswith(("a member", ONE_OF)) else text
