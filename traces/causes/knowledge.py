"""The base of known causes: what each one looks like in a log, what it means and what to do.

`knowledge/*.toml` has one table for each cause. A user's own file has the same form; a cause with
the name of a shipped one replaces it.

    [[cause]]
    kind = "poll_timeout"
    severity = "broken"
    title = "poll() was not called in time"
    text = "{{ who }} did not call poll() for longer than max.poll.interval.ms and left the group."
    action = "Look for ..."
    settings = { "max.poll.interval.ms" = "above the longest handling of one batch" }
    accounts_for = ["commit_refused"]
    confuse = { session_expired = "there, the coordinator removes the member; here it leaves" }
    source = "AbstractCoordinator.java, KIP-62"

    [[cause.signs]]
    needs = ["poll_expired"]
    confidence = "certain"
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from attrs import Factory, frozen
from jinja2 import ChainableUndefined, Template, TemplateError
from jinja2.sandbox import SandboxedEnvironment

from groupcheck.model.engine.errors import UserError
from groupcheck.traces.causes.contexts import contexts
from groupcheck.traces.clients.partitions import partitions_of
from groupcheck.traces.clients.sentences import kinds
from groupcheck.traces.facts.needs import ANY, Need, read_tables
from groupcheck.traces.facts.rules import Rule, needs_of_rules, read_rules, shipped_rules
from groupcheck.traces.facts.steps import Step, read_steps
from groupcheck.traces.lines.timestamps import show_span

Severity = Literal["calm", "troubled", "broken"]
Confidence = Literal["certain", "likely", "possible"]
Speaker = Literal["member", "broker", "admin"]
CONFIDENCES: tuple[Confidence, ...] = ("certain", "likely", "possible")
SEVERITIES: tuple[Severity, ...] = ("calm", "troubled", "broken")


@frozen
class Ticket:
    """A report of a fault."""

    # Such as KAFKA-7610 or "librdkafka #4109".
    id: str
    # The versions that have the fault; empty if not known.
    affects: str = ""
    # The first version without it; empty if there is none, or it is not known.
    fixed: str = ""
    # Whose versions `ranges` are: `broker`, `java` (clients, Connect, Streams) or `librdkafka`.
    software: str = ""
    # The versions that have the fault, each as `>=2.3 <2.3.1`: a ticket is left out where a log
    # tells another version. Empty if they are not known well enough.
    ranges: tuple[str, ...] = ()
    # Of the versions that a log tells, those that have the fault.
    here: tuple[str, ...] = ()


@frozen
class Sign:
    """A sign of the cause: all of `needs`, and nothing of `without`."""

    needs: tuple[Need, ...]
    without: tuple[Need, ...] = ()
    confidence: Confidence = "likely"
    # Only in logs of these libraries; empty: of all.
    library: tuple[str, ...] = ()
    # Only where one of these surroundings shows (contexts.toml), such as `spring`.
    context: tuple[str, ...] = ()
    # Every need must be met by statements of one and the same member.
    same_member: bool = False
    # A possible cause is shown also if other causes already explain its statements.
    beside: bool = False
    # The line or setting that would decide, where the sign leaves the cause open.
    decide: str = ""
    # Instead of the cause's own: what this sign tells more precisely.
    title: str = ""
    text: str = ""
    action: str = ""
    severity: Severity | None = None
    # What its members do afterwards does not show that it is over.
    lasts: bool = False
    tickets: tuple[Ticket, ...] = ()


@frozen
class Rival:
    """Another cause that the same lines may have."""

    # What would decide between the two.
    decide: str
    # Each of these rules the rival out.
    excluded_by: tuple[Need, ...] = ()
    # How sure the cause is at most while the rival is open. `possible`: both are only candidates.
    leaves: Confidence = "possible"


@frozen
class Cause:
    """One known cause."""

    # A word for scripts.
    kind: str
    # What it does to the group.
    severity: Severity
    # A few words.
    title: str
    # One sentence, a Jinja template: `who`, `group`, `n` (statements), `since`, `until`, `library`,
    # the fields of the statements that show the cause, and `facts.KIND`: `n` and the fields of the
    # first statement of any other kind. `{{ limit | span }}` writes milliseconds as a duration.
    text: str
    # What to look at or to change; a Jinja template, too.
    action: str
    signs: tuple[Sign, ...]
    # Setting -> the value that it should have, or what decides it.
    settings: Mapping[str, str] = Factory(dict)
    # Setting -> its value, which the lines that show the cause prove.
    has: Mapping[str, str] = Factory(dict)
    tickets: tuple[Ticket, ...] = ()
    # Causes that are only consequences where this one is found.
    explains: tuple[str, ...] = ()
    # Causes that are only consequences where all that shows them lies in the time of this one, or
    # begins soon after it: members that nobody could hear look as if they were paused or dead.
    explains_meanwhile: tuple[str, ...] = ()
    # Kinds of statements that follow from it, and need no other explanation where it is found.
    accounts_for: tuple[str, ...] = ()
    # What a member does once it is over (`same`: to what the refusal names). Where all who were
    # hit do one of these afterwards, it is told as overcome.
    overcome_by: tuple[Need, ...] = ()
    # Where all who were hit join again, it is told that they came back. It is trouble all the same:
    # what they had was given to others.
    comes_back: bool = False
    # What must have happened if this is the cause (see traces/members/proofs.py): a statement for
    # which a proof says that it has not is no sign of the cause.
    requires: tuple[str, ...] = ()
    # Another cause -> how to tell them apart.
    confuse: Mapping[str, str] = Factory(dict)
    # Another cause -> when it is ruled out; as long as it is not, neither is certain.
    rivals: Mapping[str, Rival] = Factory(dict)
    # Who can have it: these libraries (`broker` is one); empty: all.
    library: tuple[str, ...] = ()
    # Where it can be: one of these surroundings must show (contexts.toml); empty: anywhere.
    context: tuple[str, ...] = ()
    # Who says what shows it.
    speaker: tuple[Speaker, ...] = ("member", "broker")
    # The protocol of groups that can have it: not where the lines show the other one alone.
    protocol: Literal["", "classic", "consumer"] = ""
    # The line that shows it names the reason: it ranks above what follows from it.
    printed: bool = False
    # Something that takes long makes it: its text goes on with what a program's own line says of
    # that.
    slow: bool = False
    # It is no trouble but the reason why a group is calm; shown where nothing else is wrong.
    healthy: bool = False
    # Why: for readers who want to understand it.
    explanation: str = ""
    # Where this is known from.
    source: str = ""


@frozen
class Knowledge:
    """Known causes, and facts, by their kind."""

    causes: Mapping[str, Cause]
    facts: Mapping[str, Rule] = Factory(shipped_rules)
    # Steps that are told before those that ship.
    steps: tuple[Step, ...] = ()

    def beside(
        self, causes: Iterable[Cause], facts: Iterable[Rule] = (), steps: Iterable[Step] = ()
    ) -> Knowledge:
        """The knowledge with more causes, facts and steps; a cause or a fact of the same kind
        replaces the one that is there.
        """
        return Knowledge(
            {**self.causes, **{cause.kind: cause for cause in causes}},
            {**self.facts, **{rule.kind: rule for rule in facts}},
            (*steps, *self.steps),
        )


TEMPLATES = SandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, autoescape=False)
TEMPLATES.filters["span"] = lambda value: (
    show_span(value) if isinstance(value, int | float) else str(value)
)
TEMPLATES.globals["by_default"] = lambda _: ""  # see `as_found`
TEMPLATES.filters["count_of"] = lambda text: len(partitions_of(str(text)))
TEMPLATES.filters["first_word"] = lambda text: (str(text).split() or [""])[0].rstrip(".,;")


@cache
def compiled_template(template: str) -> Template:
    """The template of a text, compiled once."""
    return TEMPLATES.from_string(template)


class _Any(ChainableUndefined):
    """A field of no particular log; no comparison with it holds."""

    def __str__(self) -> str:
        return "…"

    def _never(self, *_: Any) -> Any:
        return False

    __lt__ = __le__ = __gt__ = __ge__ = _never


def in_general(template: str) -> str:
    """The text without a log: what depends on one is left out, or shown as `…`."""
    general = TEMPLATES.overlay(undefined=_Any)
    text = " ".join(general.from_string(template).render(who="a member", n=1).split())
    return "A" + text[1:] if text.startswith("a member") else text


@cache
def shipped_knowledge() -> Knowledge:
    """The causes that ship with the package. The tests check them, not each run."""
    causes = [cause for name, text in shipped_texts() for cause in _structured(text, name)]
    return Knowledge({cause.kind: cause for cause in causes})


def shipped_texts() -> list[tuple[str, str]]:
    """(name, text) of each file with causes that ship with the package."""
    folder = files("groupcheck.traces.causes") / "knowledge"
    some = sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name)
    return [(file.name, file.read_text(encoding="utf-8")) for file in some]


def knowledge_of(path: Path) -> Knowledge:
    """The shipped causes and those of a user's file. Raises `UserError` if it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as e:
        raise UserError(f"cannot be read: {e}", where=str(path)) from None
    rules = read_rules(text, str(path))
    steps = read_steps(text, str(path))
    of_steps = [need for step in steps for need in step.of]
    known = {ANY, *kinds(), *(rule.kind for rule in rules)}
    for what, needs in (("fact", needs_of_rules(rules)), ("step", of_steps)):
        for need in needs:
            if need.kind not in known:
                raise UserError(
                    f"a {what} looks at {need.kind!r}, which no sentence says",
                    where=str(path),
                    do="`groupcheck list statements` shows what lines can say",
                )
    return shipped_knowledge().beside(read_causes(text, str(path), rules), rules, steps)


def read_causes(text: str, where: str, facts: Sequence[Rule] = ()) -> list[Cause]:
    """The causes of one TOML text, which may ask for `facts` of their own. Raises `UserError` if
    they are not as this module says.
    """
    found = _structured(text, where)
    for cause in found:
        _checked(cause, where, {*kinds(), *(rule.kind for rule in facts)})
    return found


def _structured(text: str, where: str) -> list[Cause]:
    return read_tables(text, "cause", list[Cause], "cause", where)


def _checked(cause: Cause, where: str, known: Set[str]) -> None:
    needs = needs_of(cause.signs) + [n for r in cause.rivals.values() for n in r.excluded_by]
    needs += cause.overcome_by
    near = [
        kind
        for n in needs
        for kind in (*n.after, *n.before, *n.not_after, *n.not_before, *n.not_beside)
    ]
    for kind in [*(need.kind for need in needs), *near]:
        if kind not in known:
            raise UserError(
                f"the cause {cause.kind!r} needs {kind!r}, which no sentence says",
                where=where,
                do="`groupcheck list statements` shows what lines can say",
            )
    for context in (*cause.context, *(c for sign in cause.signs for c in sign.context)):
        if context not in contexts():
            raise UserError(
                f"the cause {cause.kind!r} asks for the surroundings {context!r}",
                where=where,
                do=f"known are {', '.join(contexts())}",
            )
    for kind in cause.accounts_for:
        if kind not in known:
            raise UserError(
                f"the cause {cause.kind!r} accounts for {kind!r}, which no sentence says",
                where=where,
            )
    if cause.comes_back and cause.overcome_by:
        raise UserError(
            f"the cause {cause.kind!r} has both `comes_back` and `overcome_by`",
            where=where,
            do="a cause that is overcome is no trouble any more, one that comes back still is",
        )
    for ticket in (*cause.tickets, *(t for sign in cause.signs for t in sign.tickets)):
        if not all(map(is_range, ticket.ranges)) or bool(ticket.ranges) != bool(ticket.software):
            raise UserError(
                f"the ticket {ticket.id!r} of {cause.kind!r} has no software, or no ranges",
                where=where,
                do='write software = "broker", ranges = [">=2.3 <2.3.1"], or neither',
            )
    texts = [t for sign in cause.signs for t in (sign.text, sign.action)]
    for template in (cause.text, cause.action, *texts):
        try:
            TEMPLATES.from_string(template)
        except TemplateError as e:
            raise UserError(
                f"the text of the cause {cause.kind!r} is no template: {e}", where=where
            ) from None


def needs_of(signs: Sequence[Sign]) -> list[Need]:
    """Everything that the signs ask for, or ask to be absent."""
    return [need for sign in signs for need in (*sign.needs, *sign.without)]


# -- Ranges of versions, as tickets have them: `>=2.3 <2.3.1`. Numbers are compared part by part.

_BOUND = re.compile(r"(>=|<=|<|>)(\d{1,6}(?:\.\d{1,6}){0,3})\Z")


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def in_ranges(version: str, ranges: Iterable[str]) -> bool:
    """Does one of the ranges hold the version?"""
    return any(all(_meets(version, bound) for bound in one.split()) for one in ranges)


def is_range(text: str) -> bool:
    """Is it a range?"""
    return bool(text.split()) and all(_BOUND.match(bound) for bound in text.split())


def _meets(version: str, bound: str) -> bool:
    found = _BOUND.match(bound)
    assert found is not None
    mine, limit = numbers(version), numbers(found[2])
    width = max(len(mine), len(limit))
    a = mine + (0,) * (width - len(mine))
    b = limit + (0,) * (width - len(limit))
    return {">=": a >= b, ">": a > b, "<=": a <= b, "<": a < b}[found[1]]
