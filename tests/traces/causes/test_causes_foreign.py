"""No cause is named in surroundings in which it cannot be: for every cause, every surroundings that
the knowledge base knows and that are not its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from attrs import evolve

from groupcheck.traces.causes.contexts import ADMIN, CLASSIC, CONSUMER, contexts
from groupcheck.traces.causes.diagnosis import Diagnosis, diagnose
from groupcheck.traces.causes.group_evidence import GroupEvidence
from groupcheck.traces.causes.knowledge import Cause, Knowledge, Need, Sign, shipped_knowledge
from groupcheck.traces.clients.sentences import shipped_sentences
from groupcheck.traces.clients.statement import Statement

CAUSES = shipped_knowledge().causes
LIBRARIES = sorted({name for s in shipped_sentences() for name in s.libraries})
SIGNS = [
    pytest.param(cause, sign, id=f"{cause.kind}-{number}")
    for cause in CAUSES.values()
    for number, sign in enumerate(cause.signs)
]
PROTOCOLS = {CLASSIC, CONSUMER}
FRAMEWORKS = {"spring", "connect", "streams"}


def value(wanted: tuple[str, ...]) -> Any:
    """A value that is one of those."""
    some = [text for text in wanted if not text.startswith("!")]
    if not some:
        return "value"
    text = some[0]
    if text[:1] in ("<", ">"):
        number = int(text.lstrip("<>="))
        return number + (1 if text.startswith(">") else -1)
    return "value" if text == "*" else text.strip("*")


def written(need: Need, line: int, library: str, text: str) -> Iterator[Statement]:
    """Statements that meet a need, with what must stand around them."""
    fields: dict[str, Any] = {
        name.lstrip("."): "t-0" if name == ".partitions" else value(wanted)
        for name, wanted in need.where.items()
        if name != ".library" and "-" not in wanted
    }
    if need.same:
        fields.setdefault(need.same, "value")
    shared = {need.same: fields[need.same]} if need.same else {}
    common: dict[str, Any] = {"library": library, "text": text, "client": "c-1"}
    if need.after:
        yield Statement(kind=need.after[0], line=line, fields=shared, **common)
    for number in range(max(need.at_least, need.members)):
        one = {**common, "client": f"c-{number % need.members + 1}"}
        yield Statement(kind=need.kind, line=line + 1 + number, fields=fields, **one)
    if need.before:
        yield Statement(kind=need.before[0], line=line + 60, fields=shared, **common)


def said_by(sign: Sign, library: str, marks: set[str]) -> GroupEvidence:
    """Statements that meet the sign, in lines that show these surroundings."""
    text = " ".join(contexts()[name].marks[0] for name in sorted(marks))
    evidence = GroupEvidence("g")
    for number, need in enumerate(sign.needs):
        for said in written(need, 10 + number, library, text):
            evidence.add(said)
    return evidence


def shows(cause: Cause, sign: Sign, library: str, marks: set[str]) -> bool:
    """Is the cause named where these surroundings show?"""
    evidence = said_by(sign, library, marks)
    knowledge = Knowledge({cause.kind: _alone(cause, sign)})
    found: Diagnosis = diagnose(evidence, knowledge)
    some = (*found.causes, *found.candidates, *found.healthy)
    return any(f.cause.kind == cause.kind for f in some)


def _alone(cause: Cause, sign: Sign) -> Cause:
    return evolve(cause, signs=(sign,), rivals={})


def home(cause: Cause, sign: Sign) -> tuple[str, set[str]]:
    """The library and the surroundings in which the cause can be."""
    asked = {name for need in sign.needs for name in need.where.get(".library", ())}
    own = [name for name in asked if name in LIBRARIES]
    own += [name for name in sign.library if not cause.library or name in cause.library]
    library = (own or [*cause.library] or ["java"])[0]
    marks = {*(sign.context or cause.context)[:1]} | ({cause.protocol} - {""})
    return library, marks


@pytest.mark.parametrize(("cause", "sign"), SIGNS)
def test_a_cause_is_named_at_home_and_nowhere_else(cause: Cause, sign: Sign) -> None:
    library, marks = home(cause, sign)
    assert shows(cause, sign, library, marks)
    foreign = [(library, marks | {ADMIN})] if ADMIN not in cause.speaker else []
    if cause.library or sign.library:
        own = {*sign.library} or {*cause.library}
        foreign += [(other, marks - FRAMEWORKS) for other in LIBRARIES if other not in own]
    kinds = {need.kind for need in sign.needs}
    if cause.protocol and kinds.isdisjoint(contexts()[cause.protocol].kinds):
        foreign += [(library, marks - PROTOCOLS | PROTOCOLS - {cause.protocol})]
    if cause.context or sign.context:
        shown = any(not kinds.isdisjoint(contexts()[c].kinds) for c in cause.context)
        others = FRAMEWORKS - {*cause.context, *sign.context}
        foreign += [(library, marks - FRAMEWORKS | {other}) for other in others if not shown]
    assert [one for one in foreign if shows(cause, sign, *one)] == []


def test_the_lines_of_a_sign_show_one_sure_cause_and_no_rival_that_is_not_ruled_out() -> None:
    """Two causes that the same lines allow are candidates, or one is a consequence."""
    for cause in CAUSES.values():
        for sign in cause.signs:
            library, marks = home(cause, sign)
            evidence = said_by(sign, library, marks)
            sure = diagnose(evidence, shipped_knowledge()).causes
            assert len(sure) <= 1, (cause.kind, [found.cause.kind for found in sure])
            for found in sure:
                open_rivals = [
                    kind
                    for kind, rival in found.cause.rivals.items()
                    if not any(evidence.matching(need) for need in rival.excluded_by)
                ]
                assert found.confidence != "certain" or not open_rivals, (cause.kind, open_rivals)


def test_rivals_are_known_and_say_what_would_decide() -> None:
    assert any(cause.rivals for cause in CAUSES.values())
    for cause in CAUSES.values():
        for kind, rival in cause.rivals.items():
            assert kind in CAUSES, (cause.kind, kind)
            assert kind != cause.kind, cause.kind
            assert rival.decide, cause.kind


OF_MEMBERS = re.compile(
    r"(?<![\w.])(?:session\.timeout\.ms|heartbeat\.interval\.ms|partition\.assignment\.strategy)"
)


def test_a_consumer_group_gets_no_advice_of_the_classic_protocol() -> None:
    """Sessions, heartbeats and assignors are the broker's there (KIP-848)."""
    said = 0
    for cause in CAUSES.values():
        for sign in cause.signs:
            library, marks = home(cause, sign)
            evidence = said_by(sign, library, marks - PROTOCOLS | {CONSUMER})
            found = diagnose(evidence, shipped_knowledge())
            for f in (*found.causes, *found.candidates, *found.healthy):
                some = [f.text, f.action, f.decide, *f.cause.settings, *f.cause.settings.values()]
                # A text that names both protocols may say what belongs to which.
                words = " ".join(text for text in some if "group.protocol" not in text)
                assert not OF_MEMBERS.search(words), (f.cause.kind, words)
                assert f.cause.protocol != CLASSIC, f.cause.kind
                said += "group.consumer.session.timeout.ms" in words
    assert said > 10


CONSEQUENCES = {
    "session_expired_broker": Statement(kind="broker_expired", line=1, text="", library="broker"),
    "session_expired_client": Statement(kind="session_timed_out", line=1, text="", client="c-9"),
    "poll_timeout": Statement(kind="poll_expired", line=1, text="", client="c-9"),
    "rolling_deploy": Statement(kind="rebalancing", line=1, text="", client="c-9"),
}


@pytest.mark.parametrize("kind", [cause.kind for cause in CAUSES.values() if cause.printed])
def test_a_cause_that_is_printed_stands_before_what_follows_from_it(kind: str) -> None:
    """Wherever the line stands, and however sure the consequence is."""
    cause = CAUSES[kind]
    sure = [sign for sign in cause.signs if sign.confidence != "possible"]
    library, marks = home(cause, sure[0])
    for other, said in CONSEQUENCES.items():
        evidence = said_by(sure[0], library, marks)
        evidence.add(said)
        found = diagnose(evidence, shipped_knowledge()).causes
        assert found[0].cause.printed, (kind, other, [f.cause.kind for f in found])
