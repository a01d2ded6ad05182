"""Every known cause is found in a log that shows it, and in no log of another cause."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jinja2 import Undefined

from groupcheck.oracles.replay.knowledge_cases import Case, diagnosed, mistake, read_cases
from groupcheck.traces.causes import from_brokers
from groupcheck.traces.causes.diagnosis import diagnose
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.causes.knowledge import (
    CONFIDENCES,
    TEMPLATES,
    needs_of,
    read_causes,
    shipped_knowledge,
    shipped_texts,
)
from groupcheck.traces.clients.errors import errors
from groupcheck.traces.clients.sentences import kinds, shipped_sentences
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.findings.anomaly_kinds import KINDS

FOLDER = Path(__file__).parents[2] / "data/causes"
CASES = [
    pytest.param(case, id=f"{file.stem}-{number}-{'+'.join(case.causes or case.possible)}")
    for file in sorted(FOLDER.glob("*.toml"))
    for number, case in enumerate(read_cases(file.read_text("utf-8"), file.name), 1)
]
# Read with all checks, which a run leaves out.
CAUSES = {cause.kind: cause for name, text in shipped_texts() for cause in read_causes(text, name)}
# What the replay of a whole log of a broker finds.
FOUND = {from_brokers.KINDS.get(kind.name, kind.name) for kind in KINDS} - {"instance_fenced"}


@pytest.mark.parametrize("case", CASES)
def test_a_log_shows_exactly_its_causes(case: Case) -> None:
    found = diagnosed(case, shipped_knowledge())
    assert mistake(case, found) is None
    if case.healthy:
        assert {d.health for d in found} == {"calm"}


def test_every_cause_has_a_log_that_shows_it() -> None:
    cases = [case.values[0] for case in CASES]
    shown = {kind for case in cases for kind in (*case.causes, *case.possible, case.healthy)}
    shown |= FOUND  # found in whole logs, see below
    shown.add("process_paused")  # see test_replay_requests.py
    shown.add("group_converted")  # see incidents3/b44.log
    shown |= {"kip848_held_back", "kip848_handed_over"}  # see test_handovers.py
    assert {*CAUSES} - shown == set()


@pytest.mark.parametrize("kind", [kind for kind in sorted(FOUND) if kind in CAUSES])
def test_an_anomaly_of_a_whole_log_is_a_cause(kind: str) -> None:
    evidence = Evidence()
    evidence.add(Statement(kind=kind, line=3, text="t", group="g", fields={"told": "It happened"}))
    (found,) = diagnose(evidence.by_group()[0], shipped_knowledge()).causes
    assert (found.cause.kind, found.text[:11]) == (kind, "It happened")


OUTAGE_MS = 1_000_000_000_000


@pytest.mark.parametrize(
    ("begins_ms", "lasts_ms", "causes"),
    [
        (OUTAGE_MS - 3_000, 26_000, ["broker_outage"]),
        (OUTAGE_MS + 40_000, 26_000, ["broker_outage"]),  # sessions that expire after it
        (OUTAGE_MS - 60_000, 26_000, ["broker_outage", "process_paused"]),
        (OUTAGE_MS + 200_000, 26_000, ["broker_outage", "process_paused"]),
        (OUTAGE_MS, 600_000, ["broker_outage", "process_paused"]),
        (None, 26_000, ["broker_outage", "process_paused"]),
    ],
)
def test_a_member_that_is_silent_during_an_outage_of_the_broker_was_not_paused(
    begins_ms: int | None, lasts_ms: int, causes: list[str]
) -> None:
    evidence = Evidence()
    absent = {"lasted": 25_000, "failed": 12}
    evidence.add(
        Statement(kind="coordinator_absent", line=1, text="", time=OUTAGE_MS, fields=absent)
    )
    silent = {"lasted": lasts_ms}
    evidence.add(Statement(kind="member_frozen", line=2, text="", time=begins_ms, fields=silent))
    (found,) = [diagnose(group, shipped_knowledge()) for group in evidence.by_group()]
    assert [f.cause.kind for f in found.causes] == causes


@pytest.mark.parametrize(
    ("at_ms", "causes"),
    [
        (OUTAGE_MS + 17_000, ["broker_outage"]),
        (OUTAGE_MS + 900_000, ["broker_outage", "commit_timed_out"]),
    ],
)
def test_a_commit_that_times_out_during_an_outage_follows_from_it(
    at_ms: int, causes: list[str]
) -> None:
    evidence = Evidence()
    absent = {"lasted": 25_000, "failed": 12}
    evidence.add(
        Statement(kind="coordinator_absent", line=1, text="", time=OUTAGE_MS, fields=absent)
    )
    late = {"api": "OffsetCommit"}
    evidence.add(Statement(kind="request_timed_out", line=2, text="", time=at_ms, fields=late))
    (found,) = [diagnose(group, shipped_knowledge()) for group in evidence.by_group()]
    assert sorted(f.cause.kind for f in found.causes) == causes


def test_what_a_cause_must_not_be_confused_with_is_known_and_told() -> None:
    for cause in CAUSES.values():
        assert {*cause.confuse} <= {*CAUSES}, cause.kind
        assert {*cause.explains, *cause.explains_meanwhile} <= {*CAUSES}, cause.kind
        assert cause.confuse and cause.source, cause.kind
        assert cause.kind not in cause.explains, cause.kind


def test_no_two_causes_explain_each_other_away() -> None:
    for cause in CAUSES.values():
        for other in (*cause.explains, *cause.explains_meanwhile):
            assert cause.kind not in CAUSES[other].explains, (cause.kind, other)


def test_every_need_is_met_by_some_sentence_or_derived_fact() -> None:
    derived = {*list(kinds())[list(kinds()).index("poll_returned") :]}
    said = {sentence.kind for sentence in shipped_sentences()} | derived
    said |= {error.kind for error in errors().values()}
    asked = {need.kind for cause in CAUSES.values() for need in needs_of(cause.signs)}
    assert asked - said == set()


def test_every_setting_exists() -> None:
    lines = (FOLDER / "settings.txt").read_text("utf-8").splitlines()
    real = {line.split("\t")[0] for line in lines if not line.startswith("#")}
    named = {name for cause in CAUSES.values() for name in cause.settings}
    assert named - real == set()


def test_a_possible_cause_says_what_would_decide() -> None:
    for cause in CAUSES.values():
        for sign in cause.signs:
            assert (sign.confidence == "possible") == bool(sign.decide), cause.kind
            if sign.confidence == "possible" and sign.text:
                assert sign.text.startswith(("If ", "This may be")), cause.kind


class Hole(Undefined):
    """A field that the statements do not have: it may be asked for, but not printed."""

    def __str__(self) -> str:
        raise AssertionError(f"a text has a hole: {self._undefined_name}")


@pytest.mark.parametrize("kind", CAUSES)
def test_no_text_has_holes(kind: str) -> None:
    """With only those fields that the sign asks for."""
    strict = TEMPLATES.overlay(undefined=Hole)
    cause = CAUSES[kind]
    for sign in cause.signs:
        fields: dict[str, Any] = {}
        for need in sign.needs:
            fields |= {k: sample(v[0]) for k, v in need.where.items() if v[0] not in "-"}
            fields |= dict.fromkeys(ALWAYS.get(need.kind, ()), 1000)
        last = {need.kind: dict.fromkeys(("partitions", "n"), "t-0, t-1") for need in sign.needs}
        values = {"last": last, "stood": 1000, "who": "c-1", "names": ["c-1"], "group": "",
                  "library": "", "n": 1, "since": "", "until": "", "facts": {},
                  **fields}  # fmt: skip
        for text in (sign.text or cause.text, sign.action or cause.action, sign.decide):
            shown = strict.from_string(text).render(values)
            assert "  ." not in shown and " ," not in shown, shown


# What a derived fact, or every sentence of a kind, always tells.
ALWAYS = {
    "wrong_protocol": ("size",),
    "handed_over": ("moved", "most"),
    "partitions_held_back": ("told",),
    "replicas_shrunk": ("before", "after"),
    "offsets_topic_unmade": ("wanted",),
    "group_empty": ("lag", "arrived"),
    "stands_still": ("partitions", "committed", "arrived"),
    "lag_grows": ("lag", "was", "held", "arriving", "handled"),
    "lag_once": ("lag",),
    "lag_rests": ("lag",),
    "partition_unowned": ("partition",),
    "topic_left_out": ("topic",),
    "uncommitted": ("partition",),
    "committed_beyond_end": ("partition", "committed", "end"),
    "log_end_went_back": ("partition", "was", "end"),
    "offsets_set_back": ("told",),
    "round_lasts": ("outputs", "state"),
    "tool_failed": ("error",),
    "member_replaced": ("of",),
    "heartbeat_gap": ("gap",),
    "callback_slow": ("held",),
    "settings_clash": ("setting_session__timeout__ms", "setting_heartbeat__interval__ms"),
    "twins_stay": ("repeats", "span"),
    "offset_missing_again": ("partition",),
    "offset_went_back": ("partition", "before", "now"),
    "together": ("members",),
    "delayed_rebalance": ("delay",),
    "coordinator_unreached": ("repeats", "told"),
    "coordinator_absent": ("lasted", "failed"),
    "long_pause": ("lasted",),
    "old_end": ("repeats", "wait"),
    "broker_cut_off": ("from",),
    **dict.fromkeys(
        ("never_connected", "address_unreachable", "broker_unreachable", "coordinator_given_up"),
        ("repeats",),
    ),
    "rejoin_late": ("heard", "held"),
    "rounds_repeat": ("repeats", "first", "generation", "span"),
    "members_idle": ("idle", "members", "partitions", "one"),
    "shares_uneven": ("members", "partitions", "most", "least", "rich", "poor"),
    "unassigned_topics": ("topics",),
    "unexpected_answer": ("error", "api"),
    "heartbeat_starved": ("gap",),
    "coordinator_changed": ("before", "now"),
    "coordinator_denies": ("broker", "repeats"),
    "round_missed": ("held",),
    "removed_early": ("after", "limit"),
    "impossible_line": ("place", "told"),
    "silent_at_removal": ("gap", "removed"),
    **dict.fromkeys(FOUND, ("told",)),  # last: a derived fact must not have the same name
}


def sample(wanted: str) -> Any:
    if wanted[0] in "<>":
        return int(wanted.lstrip("<>="))
    return wanted.strip("*!")


def test_confidence_and_severity_are_words_that_are_known() -> None:
    assert {s.confidence for c in CAUSES.values() for s in c.signs} == {*CONFIDENCES}
