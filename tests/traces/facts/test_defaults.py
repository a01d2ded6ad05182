"""The default of a setting belongs to a library: where that is not known, none is told."""

from __future__ import annotations

import pytest

from groupcheck.traces.causes.diagnosis import diagnose
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.causes.found_cause import FoundCause
from groupcheck.traces.causes.knowledge import shipped_knowledge
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.facts.defaults import by_default, known_period, with_default
from groupcheck.traces.members.story import MemberStory

BEGIN = 1_700_000_000_000
NATIVE = ("kafkajs", "sarama", "kafka-go", "franz-go", "ruby", "brod")


@pytest.mark.parametrize("libraries", [(), ("java", "librdkafka"), ("ruby",), ("brod",), ("new",)])
def test_no_default_is_told_of_a_setting_that_the_library_may_not_have(
    libraries: tuple[str, ...],
) -> None:
    assert by_default("max.poll.interval.ms", libraries) == ""
    wanted = with_default("session.timeout.ms", "longer than pauses (default 45000)", libraries)
    assert wanted == "longer than pauses"


def test_the_default_of_the_library_is_told_and_that_of_the_broker_stays() -> None:
    wanted = with_default("session.timeout.ms", "longer (default 45000)", ["aiokafka"])
    assert wanted == "longer (default 10000)"
    assert "45000 since 3.0" in by_default("session.timeout.ms", ["java"])
    kept = "above it (default 10080)"
    assert with_default("offsets.retention.minutes", kept, ()) == kept


def test_a_period_names_all_settings_that_are_as_long() -> None:
    told = known_period(300_000, "java")
    assert "max.poll.interval.ms or metadata.max.age.ms" in told and "among other things" in told
    assert known_period(300_000, "") == known_period(300_000, "ruby") == ""
    assert "max.poll" not in known_period(60_000, "sarama")


def first(kind: str, library: str) -> FoundCause:
    evidence = Evidence()
    said = Statement(kind=kind, line=1, text="", library=library, group="g", client="c")
    evidence.add(said)
    found = diagnose(evidence.by_group()[0], shipped_knowledge())
    return (*found.causes, *found.candidates)[0]


@pytest.mark.parametrize("library", ["", *NATIVE])
def test_an_answer_about_others_names_no_default_of_java(library: str) -> None:
    for kind in ("session_timed_out", "member_unknown", "poll_expired", "topic_unknown"):
        cause = first(kind, library)
        words = f"{cause.text} {cause.action} {cause.decide} {cause.cause.settings}"
        for value in ("300000", "45000", "300 s", "45 s", "5 min"):
            assert value not in words.replace("Session.Timeout (default 45000)", ""), (kind, words)
    assert "300000" in str(first("poll_expired", "java").cause.settings)


@pytest.mark.parametrize(
    ("library", "setting", "ms"),
    [
        ("java", "max.poll.interval.ms", 300_000),
        ("sarama", "Consumer.Group.Rebalance.Timeout", 60_000),
        ("kafkajs", "rebalanceTimeout", 60_000),
        ("ruby", "rebalance_timeout", 60_000),
        ("", "", None),
        ("pykafka", "", None),
    ],
)
def test_a_member_that_waits_is_late_by_the_limit_of_its_library(
    library: str, setting: str, ms: int | None
) -> None:
    story = MemberStory("a.log")
    for line, kind, after in ((1, "joining", 0), (2, "detail", 100_000)):
        said = Statement(kind=kind, line=line, text="", time=BEGIN + after, library=library)
        story.add(said)
    standing = story.standing()
    assert standing is not None
    assert (standing.setting, standing.within_ms) == (setting, ms)
    assert standing.late is (ms == 60_000)
