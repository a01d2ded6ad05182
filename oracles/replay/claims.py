"""The claims about each group, in words that text, page and ticket share: the causes with their
evidence, what to do, what is only possible, and what this log cannot tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from attrs import frozen

from groupcheck.oracles.replay.answers import WORST, Answer
from groupcheck.oracles.replay.harm import harm
from groupcheck.oracles.replay.lives import (
    clock_sentences,
    followed_sentence,
    lapse_sentences,
    removal_sentence,
)
from groupcheck.oracles.replay.rounds import lasted
from groupcheck.traces.causes.found_cause import FoundCause
from groupcheck.traces.causes.knowledge import Ticket
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.facts.facts import Fact
from groupcheck.traces.facts.rules import SORTS
from groupcheck.traces.findings.report import FileReport
from groupcheck.traces.lines.timestamps import show_time
from groupcheck.traces.phrases import plural
from groupcheck.traces.reading.source import place_of

CALM_SHOWN = 3
FACTS_SHOWN, QUOTES_OF_FACT = 5, 2
SOFTWARE = {"broker": "the broker", "java": "Kafka's client", "librdkafka": "librdkafka"}
NOT_TOLD, KEEP = "not known here", "as it is"
"""A line may tell a setting in a form that is not read, so the log is not said not to tell it."""
NAMELESS = "a group without a name"
"""The words for the group of lines that name none."""
WORDS = {"broken": "broken", "troubled": "troubled", "unknown": "cannot tell", "calm": "calm"}


@frozen
class Setting:
    """A setting that plays a part."""

    name: str
    # Its value as the log tells it; empty if it does not.
    present: str
    # The value that it should have, or what decides it; empty if nothing is to be changed.
    wanted: str


@frozen
class Quote:
    """A line of a log that shows something."""

    # Such as `line 12`, or `app.log line 12` where there are several logs.
    place: str
    # Empty if the cause's own sentence says it.
    text: str


@frozen
class Claim:
    """A cause in words."""

    # From 1 for causes, in the order of the answer; 0 for others.
    number: int
    kind: str
    title: str
    confidence: str
    text: str
    action: str
    # When, and for how long; empty without timestamps.
    when: str
    who: tuple[str, ...]
    settings: tuple[Setting, ...]
    tickets: tuple[str, ...]
    evidence: tuple[Quote, ...]
    # What would decide, where the cause is only possible.
    decide: str
    # Its members went on afterwards: it is no cause of what is wrong now.
    overcome: bool

    @property
    def label(self) -> str:
        return "overcome" if self.overcome else "cause"


@frozen
class FactInWords:
    """A fact with the lines on which it rests."""

    # What went back, stands still, ...
    label: str
    text: str
    quotes: tuple[Quote, ...]


@frozen
class RuledOut:
    """A cause that does not fit, in words."""

    title: str
    text: str
    quote: Quote


@frozen
class AnswerInWords:
    """The answer about a group in words."""

    answer: Answer
    causes: tuple[Claim, ...]
    candidates: tuple[Claim, ...]
    consequences: tuple[Claim, ...]
    # What the lines show where they tell no cause: one of each kind.
    facts: tuple[FactInWords, ...]
    # Where no cause is told, the lines of the candidates that no fact names.
    shown: tuple[Quote, ...]
    # Of the hints, those that no candidate says.
    hints: tuple[str, ...]
    # What it cost, in short sentences.
    harm: tuple[str, ...]
    ruled_out: tuple[RuledOut, ...]
    # Which clocks differ from the broker's.
    clocks: tuple[str, ...]
    # How far the lines of clients fit the model's member; empty if there are none to follow.
    members: str

    @property
    def health(self) -> str:
        return WORDS[self.answer.health]

    @property
    def group(self) -> str:
        """Its name; lines that name no group are of one that is not named."""
        return f"group {self.answer.group}" if self.answer.group else NAMELESS

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        if self.causes:
            return self.causes[0].text
        return self.answer.reason

    @property
    def title(self) -> str:
        """The answer in a few words."""
        return self.causes[0].title if self.causes else self.answer.reason

    @property
    def in_brief(self) -> str:
        """The answer and the worst harm, for a line among those of other groups."""
        sure = not self.causes or self.causes[0].confidence == "certain"
        title = self.title if sure else f"{self.title} ({self.causes[0].confidence})"
        return "; ".join([title, *(text for text in self.harm[:1] if text != self.title)])

    @property
    def verdict(self) -> str:
        return f"{self.answer.verdict}: {self.answer.verdict_reason}"


def in_words(answer: Answer, reports: Sequence[FileReport]) -> AnswerInWords:
    """The words of an answer. `reports` tell in which file a line stands."""
    d = answer.diagnosis
    facts = tuple(_facts(answer))
    said = [text for f in d.candidates for text in (f.decide, f.text) if text]

    def claims(found: Sequence[FoundCause], numbered: bool = False) -> tuple[Claim, ...]:
        return tuple(_claim(f, numbered and k, reports) for k, f in enumerate(found, 1))

    return AnswerInWords(
        answer,
        claims(d.causes, numbered=True),
        claims(d.candidates),
        claims(d.consequences),
        tuple(_fact(f, reports) for f in facts),
        () if d.causes else tuple(_of_candidates(d.candidates, facts, reports)),
        tuple(hint for hint in d.hints if not any(text in hint for text in said)),
        tuple(
            dict.fromkeys(
                [
                    *(text for s in answer.seen for text in harm(s.group.findings)),
                    *lapse_sentences(answer.evidence.followed),
                ]
            )
        ),
        tuple(RuledOut(r.cause.title, r.text, _quote(r.by, "", reports)) for r in d.refuted),
        tuple(clock_sentences(answer.evidence.skews)),
        "; ".join(
            filter(
                None,
                (
                    followed_sentence(answer.evidence.followed),
                    removal_sentence(answer.evidence.removals),
                ),
            )
        ),
    )


def _facts(answer: Answer) -> Sequence[Fact]:
    """The most telling facts, one of each kind."""
    firsts: dict[str, Fact] = {}
    clear = bool(answer.diagnosis.causes) or answer.health == "calm"
    for f in answer.facts:
        if clear and f.sort != "steps":
            continue
        firsts.setdefault(f.kind, f)
    return list(firsts.values())[:FACTS_SHOWN]


def _fact(f: Fact, reports: Sequence[FileReport]) -> FactInWords:
    more = f", and {plural(f.count - 1, 'other')} alike" if f.count > 1 else ""
    shown = () if f.sort == "steps" else f.lines[:QUOTES_OF_FACT]  # it names its lines
    quotes = tuple(_quote(said, "", reports) for said in shown)
    return FactInWords(SORTS[f.sort], f.text + more, quotes)


def _of_candidates(
    some: Sequence[FoundCause], facts: Sequence[Fact], reports: Sequence[FileReport]
) -> Iterator[Quote]:
    """What happened, where the lines do not tell why: those that all candidates explain."""
    named = {(said.log, said.line) for f in facts for said in f.lines}
    lines = {(said.log, said.line): said for f in some for said in f.lines}
    untold = [said for place, said in lines.items() if place not in named and said.text]
    if named.isdisjoint(lines):
        yield from (_quote(said, "", reports) for said in untold[:QUOTES_OF_FACT])


def headline(answers: Sequence[Answer]) -> str:
    """How many groups are in which health, the worst first."""
    answers = [a for a in answers if _tells(a)] or answers
    counts = Counter(a.health for a in answers)
    parts = [f"{counts[h]:,} {WORDS[h]}" for h in WORST if counts[h]]
    return f"{plural(len(answers), 'group')}: {', '.join(parts)}" if parts else "no group"


def split_calm(answers: Sequence[Answer]) -> tuple[list[Answer], list[Answer]]:
    """The answers to show one by one, and calm groups that fold into one line. Lines that name no
    group and tell nothing are left out, if there is any group.
    """
    answers = [a for a in answers if _tells(a)] or answers
    calm = [a for a in answers if a.health == "calm"]
    if len(calm) <= CALM_SHOWN:
        return list(answers), []
    return [a for a in answers if a.health != "calm"], calm


def _tells(a: Answer) -> bool:
    d = a.diagnosis
    return bool(a.group or d.causes or d.candidates or d.hints)


def _claim(found: FoundCause, number: int, reports: Sequence[FileReport]) -> Claim:
    wanted, present = found.cause.settings, found.present
    names = [*wanted, *(name for name in present if name not in wanted)]
    return Claim(
        number=number,
        kind=found.cause.kind,
        title=found.title,
        confidence=found.confidence,
        text=found.text,
        action=found.action,
        when=_when(found.since, found.until),
        who=found.who,
        settings=tuple(Setting(n, present.get(n, ""), wanted.get(n, "")) for n in names),
        tickets=tuple(dict.fromkeys(map(_ticket, found.tickets))),
        evidence=tuple(_quote(s, found.text, reports) for s in found.lines),
        decide=found.decide,
        overcome=found.overcome is not None,
    )


def _when(since: int | None, until: int | None) -> str:
    if since is None or until is None:
        return ""
    if until <= since:
        return show_time(since)
    return f"{show_time(since)} to {show_time(until)[-12:]} ({lasted(until - since)})"


def _ticket(ticket: Ticket) -> str:
    about = [f"if {SOFTWARE[ticket.software]} is {ticket.affects}"] if ticket.ranges else []
    if ticket.here:
        about = [f"{', '.join(ticket.here)} here is affected"]
    elif not about and ticket.affects:
        about = [f"affects {ticket.affects}"]
    about += [f"fixed in {ticket.fixed}"] if ticket.fixed else []
    return ticket.id + (f" ({', '.join(about)})" if about else "")


def _quote(said: Statement, sentence: str, reports: Sequence[FileReport]) -> Quote:
    place = _place(said, reports)
    return Quote(place, "" if place and said.text.lower() in sentence.lower() else said.text)


def _place(said: Statement, reports: Sequence[FileReport]) -> str:
    """The place of a line, with the name of its file unless there is only one."""
    if not said.line:
        return ""
    report = next((r for r in reports if r.path == said.log), None)
    files = report.files if report is not None else ()
    path, line = place_of(files, said.line) if len(files) > 1 else (said.log, said.line)
    named = path and (len(files) > 1 or len({r.path for r in reports}) > 1)
    return f"{path} line {line}" if named else f"line {line}"
