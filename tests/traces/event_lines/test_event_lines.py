"""groupcheck's own events lead to the causes that the sentences of libraries lead to."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from as_events import CASES, as_event, line
from jsonschema import Draft202012Validator

from groupcheck.oracles.command_line.documents import documents
from groupcheck.oracles.replay.report import replay
from groupcheck.traces.causes.diagnosis import diagnose
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.causes.knowledge import shipped_knowledge
from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.clients.sentences import kinds
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.event_lines.event import FIELDS, KINDS, SCHEMA, BadEvent, event_of
from groupcheck.traces.event_lines.event_log import EventLog

(EVENT,) = (one.schema for one in documents() if one.name == "event")


def said(*lines: str) -> list[Statement]:
    return [*EventLog("log").statements(enumerate(lines, 1))]


def causes(statements: list[Statement]) -> list[str]:
    evidence = Evidence()
    evidence.add_all(statements)
    found = [diagnose(group, shipped_knowledge()) for group in evidence.by_group()]
    return [f.cause.kind for d in found for f in d.causes]


def test_events_lead_to_the_causes_of_the_sentences() -> None:
    told = 0
    for case in CASES:
        lines = (case["log"] * case.get("repeat", 1)).strip().split("\n")
        statements = [*ClientLog().statements(enumerate(lines, 1))]
        events = [as_event(s) for s in statements]
        if None not in events and not any(s.library == "broker" for s in statements):
            told += 1
            assert causes(said(*filter(None, events))) == case["causes"], case["log"]
    assert told > 25


def test_the_schema_and_the_reader_agree() -> None:
    assert EVENT["properties"]["event"]["enum"] == [*KINDS]
    assert [*EVENT["properties"]] == [*FIELDS]
    assert {kind for some in KINDS.values() for kind in some} <= kinds().keys()
    judge = Draft202012Validator(EVENT)
    values = ("x", 5, -1, 1.5, True, None, [], ["x"], [1], {}, {"a": 1}, "2026-11-23T10:00:00Z")
    for name in (*FIELDS, "surprise"):
        for value in values:
            event = {"schema": SCHEMA, "event": "joined", name: value}
            try:
                event_of(json.dumps(event))
                read = True
            except BadEvent:
                read = False
            if name != "time" or isinstance(value, bool | None | list | dict):
                assert read == judge.is_valid(event), event


def test_an_error_is_known_by_name_number_and_text() -> None:
    for error in ("UNKNOWN_MEMBER_ID", 25, "25", "UnknownMemberIdError"):
        found = said(line("heartbeat_failed", error=error))
        assert [s.kind for s in found] == ["heartbeat_failed", "member_unknown"]
        assert found[0].fields["error"] == "UNKNOWN_MEMBER_ID"
    (refused,) = said(line("error", error="GROUP_AUTHORIZATION_FAILED"))
    assert refused.kind == "not_authorized"
    (other,) = said(line("error", error="the disk is full"))
    assert (other.kind, other.fields["error"]) == ("detail", "the disk is full")


WHO = {"group": "g", "client": "c"}
LIMITED = line("settings", settings={"max.poll.interval.ms": "300000"}, **WHO)


@pytest.mark.parametrize(
    ("events", "late"),
    [
        ([("processing_started", 0), ("processing_ended", 400)], True),
        ([("processing_started", 0), ("processing_ended", 200)], False),
        ([("processing_started", 0), ("heartbeat", 400)], True),
        ([("poll", 0), ("poll", 1), ("poll", 400)], True),
        ([("poll", 0), ("heartbeat", 400)], False),
        ([("poll", 0), ("poll", 1), ("closed", 2), ("started", 400)], False),
        ([("processing_ended", 0), ("heartbeat", 400)], False),
    ],
)
def test_a_handler_that_takes_longer_than_the_limit_is_a_late_poll(
    events: list[tuple[str, int]], late: bool
) -> None:
    begin = 1_795_428_000
    lines = [line(name, time=begin + at, **WHO) for name, at in events]
    found = [s for s in said(LIMITED, *lines) if s.kind == "poll_expired"]
    assert bool(found) == late
    assert not late or found[0].fields["limit"] == 300_000
    assert not any(s.kind == "poll_expired" for s in said(*lines))  # the limit is not known


def test_a_late_poll_that_the_library_tells_counts_once() -> None:
    begin = 1_795_428_000
    lines = [
        line("processing_started", time=begin, **WHO),
        line("poll_expired", time=begin + 300, limit_ms=300_000, **WHO),
        line("processing_ended", time=begin + 400, **WHO),
    ]
    assert [s.kind for s in said(LIMITED, *lines)].count("poll_expired") == 1


def test_bad_lines_are_counted_and_shown_with_what_is_wrong(tmp_path: Path) -> None:
    bad = [
        line("joined", generation="five"),
        line("jumped"),
        line("joined", mood="good"),
        line("error"),
        line("joined", time="soon"),
        '{"schema": "groupcheck.event/2", "event": "joined"}',
        '{"schema": "groupcheck.event/1", ' + "[" * 100_000,
    ]
    good = [line("joined", **WHO), f"2026-11-23 pod-1 | {line('synced', **WHO)}"]
    path = tmp_path / "events.ndjson"
    path.write_text("\n".join([*bad, *good, "something else"]), encoding="utf-8")
    (report,) = replay([path])
    assert report.format == "events"
    assert (report.understood, report.strange, report.foreign) == (2, len(bad), 1)
    whys = [text for _, text in report.samples]
    assert [number for number, _ in report.samples] == [*range(1, len(bad) + 1)]
    words = ("'generation' is not a whole number", "'jumped'", "'mood'", "needs the field",
             "no time", "schema is not", "no JSON")  # fmt: skip
    assert all(word in why for word, why in zip(words, whys, strict=True))


def test_no_broken_text_breaks_the_reader() -> None:
    draw = random.Random(5)
    whole = [line(name, time=1_795_428_000 + k, error="x", settings={"a.b": 1}, **WHO)
             for k, name in enumerate(KINDS)]  # fmt: skip
    for _ in range(200):
        lines = []
        for text in draw.choices(whole, k=20):
            at = draw.randrange(len(text) + 1)
            lines.append(draw.choice(
                [text[:at], text[at:], text[:at] + draw.choice('{}[]",:\\9\0é') + text[at + 1 :],
                 text.replace("1795428", "9" * draw.randrange(500)), text]
            ))  # fmt: skip
        log = EventLog()
        assert {s.kind for s in log.statements(enumerate(lines, 1))} <= kinds().keys()
        assert log.understood + log.strange == len(lines)


def test_memory_is_bounded() -> None:
    log = EventLog()
    lines = (line("poll", group="g", client=f"c{n}") for n in range(12_000))
    assert not [*log.statements(enumerate(lines, 1))]
    assert len(log._pollers) == 10_000
