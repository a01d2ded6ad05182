"""Facts that hold whatever the cause is, in lines of several libraries: each is found where it is
so, with its values and its lines, and only there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from groupcheck.model.engine.errors import UserError
from groupcheck.oracles.replay.answers import answers, told_facts
from groupcheck.oracles.replay.report import replay
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.causes.knowledge import knowledge_of, shipped_knowledge
from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.clients.sentences import kinds, shipped_sentences
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.facts.facts import Fact
from groupcheck.traces.facts.needs import ANY
from groupcheck.traces.facts.rules import needs_of_rules, read_rules, shipped_rules, written
from groupcheck.traces.replay import replay_file

BROKER = Path(__file__).parents[2] / "data/replay/live-broker_restart.log"
JAVA = "INFO [Consumer clientId=c-1, groupId=g]"
PYTHON = "TopicPartition(topic='t', partition=0)"


def evidence(*logs: str) -> Evidence:
    heard = Evidence()
    for number, text in enumerate(logs):
        log = ClientLog(name=f"log{number}")
        heard.add_all(log.statements(enumerate(text.splitlines(), 1)))
    return heard


def facts(*logs: str) -> dict[str, Fact]:
    """The first fact of each kind about the only, or the first, group."""
    groups = evidence(*logs).by_group()
    return (
        {f.kind: f for f in reversed(told_facts(groups[0], shipped_knowledge()))} if groups else {}
    )


def at(second: float, text: str) -> str:
    whole, ms = divmod(round(second * 1000), 1000)
    hour, minute = whole // 3600, whole // 60 % 60
    return f"2024-05-01 {hour:02}:{minute:02}:{whole % 60:02},{ms:03} {text}\n"


# -- A committed offset that goes back, as libraries print commits.

COMMITS = {
    "java before 2.0": "Group g committed offset {} for partition t-0",
    "java": JAVA + " Committed offset {} for partition t-0",
    "java, all at once": JAVA + " Completed asynchronous auto-commit of offsets"
    " {{t-1=OffsetAndMetadata{{offset=7, leaderEpoch=null, metadata=''}},"
    " t-0=OffsetAndMetadata{{offset={}, leaderEpoch=null, metadata=''}}}}",
    "quarkus": "SRMSG18251: Committed {{t-0=OffsetAndMetadata{{offset={}, metadata=''}}}}",
    "kafka-python": "DEBUG:kafka.coordinator.consumer:Group g committed offset"
    " OffsetAndMetadata(offset={}, metadata='') for partition " + PYTHON,
    "kafka-python, all at once": "DEBUG:kafka.coordinator.consumer:Completed autocommit of offsets"
    " {{" + PYTHON + ": OffsetAndMetadata(offset={}, metadata='')}} for group g",
    "ruby-kafka": "I, [2024-03-01T10:04:00.1 #77]  INFO -- : [[g] {{t: 0}}:] Committing offsets:"
    " t/0:{}",
}


@pytest.mark.parametrize("line", COMMITS.values(), ids=COMMITS)
def test_a_committed_offset_goes_back(line: str) -> None:
    found = facts("\n".join(line.format(n) for n in (2080124, 2080125, 2077901, 2077902)))
    back = found["offset_went_back"]
    assert {k: back.values[k] for k in ("before", "now")} == {"before": 2080125, "now": 2077901}
    assert (back.subject, [s.line for s in back.lines], back.alarm) == ("t-0", [2, 3], True)
    assert back.text == "the committed offset of t-0 goes back from 2080125 to 2077901"
    assert "offset_went_back" not in facts("\n".join(line.format(n) for n in (5, 5, 6, 9)))


def test_partitions_groups_and_logs_are_apart() -> None:
    """So are what is sent and what is answered; a reset by the client itself is no commit."""
    other = JAVA.replace("groupId=g", "groupId=h")
    line = JAVA + " Committed offset {} for partition t-{}"
    assert "offset_went_back" not in facts(f"{line.format(9, 0)}\n{line.format(5, 1)}")
    assert "offset_went_back" not in facts(
        f"{line.format(9, 0)}\n{other} Committed offset 5 for partition t-0"
    )
    assert "offset_went_back" not in facts(line.format(9, 0), line.format(5, 0))
    reset = JAVA + " Resetting offset for partition t-0 to offset 0."
    assert "offset_went_back" not in facts(f"{line.format(9, 0)}\n{reset}\n{line.format(5, 0)}")


def test_such_a_group_is_not_calm() -> None:
    line = JAVA + " Committed offset {} for partition t-0\n"
    rise, fall = ("".join(map(line.format, offsets)) for offsets in ((5, 6, 7), (5, 6, 5)))
    (calm,) = answers([], evidence(rise), shipped_knowledge())
    (back,) = answers([], evidence(fall), shipped_knowledge())
    assert (calm.health, back.health) == ("calm", "troubled")
    assert back.reason == "the committed offset of t-0 goes back from 6 to 5"


IDLE = "%4|1714557600.1|FAIL|c-1| [thrd:k1:9092/1]: k1:9092/1: Disconnected (after 600123ms in"


def test_a_calm_cause_does_not_hide_an_alarm() -> None:
    lines = [f"{JAVA} Committed offset {n} for partition t-0" for n in (21, 5)]
    (calm,) = answers([], evidence(f"{IDLE} state UP)"), shipped_knowledge())
    (alarm,) = answers([], evidence("\n".join([*lines, f"{IDLE} state UP)"])), shipped_knowledge())
    assert [a.diagnosis.causes[0].cause.kind for a in (calm, alarm)] == ["idle_connections"] * 2
    assert (calm.health, alarm.health) == ("calm", "troubled")
    assert alarm.reason == "the committed offset of t-0 goes back from 21 to 5"


@pytest.mark.parametrize("kind", ["", "fetch_held", "stands_still"])
def test_complete_rebalances_do_not_make_a_restless_group_calm(kind: str) -> None:
    heard = Evidence()
    if kind:
        heard.add(Statement(kind=kind, line=1, text="", group="g2"))
    found = answers([replay_file(str(BROKER))], heard, shipped_knowledge())
    (health,) = (a.health for a in found if a.group == "g2")
    assert (health == "calm") == (not kind)


# -- What changed.


@pytest.mark.parametrize(
    ("a", "b", "told"),
    [
        (
            f"{JAVA} Discovered group coordinator k1:9092 (id: 2147483646 rack: null)",
            f"{JAVA} Discovered group coordinator k2:9092 (id: 2147483645 rack: null)",
            ("broker 1", "broker 2"),
        ),
        (
            '%7|1714557600.100|CGRPCOORD|a#consumer-1| [thrd:main]: Group "g" coordinator is'
            " k1:9092 id 1",
            '%7|1714557605.100|CGRPCOORD|a#consumer-1| [thrd:main]: Group "g" coordinator is'
            " k2:9092 id 2",
            ("broker 1", "broker 2"),
        ),
        (
            "[sarama] client/coordinator coordinator for consumergroup g is #1 (k1:9092)",
            "[sarama] client/coordinator coordinator for consumergroup g is #2 (k2:9092)",
            ("broker 1", "broker 2"),
        ),
        (
            "INFO:kafka.coordinator:Discovered coordinator coordinator-1 for group g",
            "INFO:kafka.coordinator:Discovered coordinator coordinator-1 for group g",
            None,
        ),
    ],
)
def test_another_coordinator(a: str, b: str, told: tuple[str, str] | None) -> None:
    moved = facts(f"{a}\n{b}").get("coordinator_moved")
    assert (moved and (moved.values["before"], moved.values["now"])) == told


def broker(number: int, second: int, text: str) -> str:
    return at(second, f"INFO [GroupCoordinator {number}]: {text}").replace("2024", "[2024", 1)


def test_another_broker_coordinates() -> None:
    begins = "Preparing to rebalance group g in state Stable with old generation {} (o-1)"
    found = facts(broker(1001, 0, begins.format(69)), broker(1002, 300, begins.format(70)))
    moved = found["group_coordinator_moved"]
    assert (moved.values["before"], moved.values["now"]) == (1001, 1002)
    assert [(s.log, s.line) for s in moved.lines] == [("log0", 1), ("log1", 1)]
    assert "group_generation_went_back" not in found
    again = broker(1, 0, begins.format(70)) + broker(1, 9, begins.format(3))
    assert facts(again)["group_generation_went_back"].values["now"] == 3


@pytest.mark.parametrize(
    "line",
    [
        JAVA + " Successfully joined group with generation {}",
        "joinGroup succeeded for response, g.  generationID={}, memberID=a@b"
        " (github.com/segmentio/kafka-go)-62f08ec6-b36e-48cd-94b9-a33e32fb82aa",
        "INFO:kafka.coordinator:Successfully joined group g with generation {}",
        "%7|1714557600.1|JOINGROUP|a#consumer-1| [thrd:main]: JoinGroup response: GenerationId {},"
        " Protocol range, LeaderId x (me), my MemberId x, member metadata count 1: (no error)",
    ],
    ids=["java", "kafka-go", "kafka-python", "librdkafka"],
)
def test_generations_jump_and_fall(line: str) -> None:
    found = facts("\n".join(line.format(n) for n in (4, 5, 70, 3)))
    assert found["generation_jumped"].text.endswith("jumps from 5 to 70")
    assert found["generation_went_back"].values["now"] == 3
    assert (
        not {"generation_jumped", "generation_went_back"}
        & facts("\n".join(line.format(n) for n in (4, 5, 5, 6))).keys()
    )
    assert facts(line.format(267719))["generation_high"].values["generation"] == 267719


def test_fewer_partitions_and_another_owner() -> None:
    text = (
        "INFO ConsumerCoordinator: Revoking previously assigned partitions [t-0, t-1] for group g\n"
        "INFO ConsumerCoordinator: Setting newly assigned partitions [t-1] for group g\n"
    )
    share = facts(text)["share_changed"]
    assert (share.values["before"], share.values["now"]) == (2, 1)
    other = JAVA.replace("c-1", "c-2")
    owner = facts(f"{JAVA} Adding newly assigned partitions: t-0\n{other} Adding newly assigned"
                  " partitions: t-0")["owner_changed"]  # fmt: skip
    assert (owner.subject, owner.values["before"], owner.values["now"]) == ("t-0", "c-1", "c-2")


# -- What repeats.


def test_revocations_without_an_assignment_as_far_apart_as_the_poll_limit() -> None:
    revoked = JAVA + " Revoke previously assigned partitions t-0"
    found = facts("".join(at(303 * n, revoked) for n in range(3)))
    again = found["revoked_again"]
    assert (again.values["repeats"], again.values["period"]) == (3, 303_000)
    assert "max.poll.interval.ms" in again.text and [s.line for s in again.lines] == [1, 2, 3]
    assigned = JAVA + " Adding newly assigned partitions: t-0"
    healthy = "".join(at(303 * n, revoked) + at(303 * n + 1, assigned) for n in range(3))
    assert "revoked_again" not in facts(healthy)


def test_joins_many_times_a_second() -> None:
    joins, joined = (
        JAVA + " (Re-)joining group",
        JAVA + " Successfully joined group with generation",
    )
    loop = facts("".join(at(n / 20, f"{joined} {n}") for n in range(1, 41)))["rounds_repeat"]
    assert (loop.values["repeats"], loop.alarm) == (39, True)
    vain = facts("".join(at(n / 20, joins) for n in range(40)))["joins_in_vain"]
    assert (vain.values["repeats"], vain.values["span"]) == (40, 1950)
    healthy = facts("".join(at(60 * n, joins) + at(60 * n + 1, f"{joined} {n}") for n in range(40)))
    assert not {"joins_in_vain", "rounds_repeat"} & healthy.keys()


def test_equal_lines() -> None:
    line = JAVA + " Attempt to heartbeat failed since group is rebalancing"
    same = facts("".join(at(3 * n, line) for n in range(5)))["equal_lines"]
    assert (same.values["repeats"], same.values["span"]) == (5, 12_000)
    assert "equal_lines" not in facts("".join(at(3 * n, line) for n in range(4)))


def test_a_member_without_partitions() -> None:
    line = (
        "rebalance failed for consumer group, g: received empty assignments for group, g as member"
        " m for generation 51"
    )
    assert facts(line)["without_partitions"].values["generation"] == 51
    nothing_new = JAVA + " Adding newly assigned partitions: "
    assert "without_partitions" not in facts(nothing_new)


# -- What stands still.


def test_a_join_without_an_answer_and_a_silence() -> None:
    joins = at(0, JAVA + " (Re-)joining group")
    joined = at(42, JAVA + " Successfully joined group with generation 5")
    found = facts(joins + joined)
    assert found["join_unanswered"].values["lasted"] == 42_000
    silent = found["silent_in_round"]
    assert silent.values["lasted"] == 42_000 and [s.line for s in silent.lines] == [1, 2]
    quiet = at(0, JAVA + " Successfully synced group in generation 5") + at(900, joins[24:])
    assert not {"join_unanswered", "silent_in_round"} & facts(quiet).keys()


@pytest.mark.parametrize(
    ("line", "kind", "text"),
    [
        (
            '"RECV [a#consumer-2] [thrd:GroupCoordinator]: GroupCoordinator/0: Received'
            ' JoinGroupResponse (v5, 271 bytes, CorrId 3, rtt 42039.28ms)"',
            "answer_slow",
            "JoinGroup of a#consumer-2 is answered after 42039 ms (42 s)",
        ),
        (
            "ERROR KafkaJSRequestTimeoutError: Request SyncGroup(key: 14, version: 3) timed out",
            "answer_missing",
            "SyncGroup of a client is not answered in time",
        ),
        (
            'ERROR [Connection] Response OffsetCommit(key: 8, version: 5) (meta:{"logger":'
            '"kafkajs","clientId":"app","error":"This is not the correct coordinator for this'
            ' group"})',
            "coordinator_refuses",
            "a broker tells app that it is not, or no longer, the group's coordinator",
        ),
    ],
)
def test_a_line_that_tells_a_fact_by_itself(line: str, kind: str, text: str) -> None:
    found = facts(line)[kind]
    assert (found.text, [s.line for s in found.lines]) == (text, [1])


# -- What several share.


def test_members_of_several_groups_are_gone_at_once() -> None:
    gone = "Member m-{0} in group {0} has failed, removing it from the group"
    text = "".join(broker(1, 7, gone.format(name)) for name in "abc")
    for group in evidence(text).by_group():
        told = {f.kind: f for f in told_facts(group, shipped_knowledge())}
        assert told["groups_hit_together"].values["groups"] == 3
    apart = "".join(broker(1, 7 * n, gone.format(name)) for n, name in enumerate("abc"))
    assert not any(
        f.kind == "groups_hit_together"
        for g in evidence(apart).by_group()
        for f in told_facts(g, shipped_knowledge())
    )


def test_rights_vanish_together() -> None:
    works = at(0, JAVA + " Successfully joined group with generation 5")
    denied = at(9, JAVA + " Not authorized to access group: g") + at(
        9.1, JAVA + " Not authorized to read from topic t"
    )
    rights = facts(works + denied)["rights_vanish"]
    assert rights.values["count"] == 2 and [s.line for s in rights.lines] == [2, 3]
    assert "rights_vanish" not in facts(denied)


# -- Declarations.


def test_every_declared_fact_can_be_told() -> None:
    fields: dict[str, set[str]] = {kind: set() for kind in kinds()}
    for sentence in shipped_sentences():
        fields[sentence.kind] |= {*sentence.template.kinds, *sentence.means}
    for rule in shipped_rules().values():
        assert rule.kind in kinds()
        assert all(need.kind in kinds() or need.kind == ANY for need in needs_of_rules([rule]))
        assert rule.of or rule.text, f"{rule.kind} is neither found nor told here"


def test_a_part_of_a_text_is_left_out_where_a_value_is_missing() -> None:
    text = "|{who} |waits {ms:span}| for {n:,} others"
    assert written(text, {"who": "a", "ms": 1500, "n": 2000}) == "a waits 1500 ms for 2,000 others"
    assert written(text, {"ms": 1500, "n": None}) == "waits 1500 ms"


def test_a_rule_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(Exception, match="sort"):
        read_rules('[[derived]]\nkind = "a"\nsort = "elsewhere"', "own.toml")


OWN = """
[[derived]]
kind = "revokes_often"
sort = "repeats"
of = ["revoked"]
at_least = 5
fields = { repeats = "n" }
text = "{subject} revokes {repeats} times"

[[cause]]
kind = "export_holds_handler"
severity = "troubled"
title = "The export holds the handler"
text = "{{ who }} gave its partitions back {{ repeats }} times."
action = "Run the export in a process of its own."
source = "our runbook"
signs = [{ needs = ["revokes_often"], confidence = "likely" }]
"""


def test_a_file_of_knowledge_declares_a_fact_and_a_cause_that_asks_for_it(tmp_path: Path) -> None:
    own, log = tmp_path / "own.toml", tmp_path / "app.log"
    own.write_text(OWN)
    revoked = JAVA + " Revoke previously assigned partitions t-0\n"
    log.write_text("".join(revoked + JAVA + f" line {n}\n" for n in range(6)))
    (group,) = replay([log], knowledge=knowledge_of(own)).document()["groups"]
    assert group["causes"][0]["text"] == "c-1 gave its partitions back 6 times."
    (fact,) = [f for f in group["facts"] if f["kind"] == "revokes_often"]
    assert fact["text"] == "c-1 revokes 6 times" and fact["values"] == {"repeats": 6}
    assert [line["line"] for line in fact["lines"]] == [1, 3, 5, 11]
    own.write_text(OWN.replace('of = ["revoked"]', 'of = ["nothing_says_it"]'))
    with pytest.raises(UserError, match="nothing_says_it"):
        knowledge_of(own)


def test_outputs_of_the_command_that_go_back_quote_both_rows(tmp_path: Path) -> None:
    head = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\n"
    log = tmp_path / "tables.txt"
    log.write_text(f"{head}g t 0 500 600 100 m-1 /h c-1\n\n{head}g t 0 400 650 250 m-1 /h c-1\n")
    (group,) = replay([log]).document()["groups"]
    fact = group["facts"][0]
    assert (fact["sort"], fact["subject"], fact["alarm"]) == ("went_back", "t-0", True)
    assert (fact["values"]["before"], fact["values"]["now"]) == (500, 400)
    assert [line["line"] for line in fact["lines"]] == [2, 5]


def test_what_was_counted_quotes_its_lines(tmp_path: Path) -> None:
    line = (
        "[2024-05-01 10:00:{:02},000] INFO [GroupCoordinator 1]: Preparing to rebalance group g in"
        " state PreparingRebalance with old generation {} (__consumer_offsets-1) (reason: Adding"
        " new member c-{} with group instance id None) (kafka.coordinator.group.GroupCoordinator)\n"
    )
    log = tmp_path / "server.log"
    log.write_text("".join(line.format(3 * n, n, n) for n in range(12)))
    (group,) = replay([log]).document()["groups"]
    (storm,) = [c for c in group["causes"] if c["kind"] == "rebalance_storm"]
    assert [quote["line"] for quote in storm["evidence"]] == [1, 2, 3]
    assert all("Preparing to rebalance group g" in quote["text"] for quote in storm["evidence"])


# -- Hostile input stays bounded.


def said(n: int, kind: str, **fields: Any) -> Statement:
    return Statement(kind=kind, line=n, text="x" * 300, time=n, group="g", fields=fields)


def many(count: int) -> Iterator[Statement]:
    for n in range(count):
        yield said(n, "committed", partition=f"t-{n}", offset=n)


def test_equal_lines_without_end_are_counted_and_few_are_kept() -> None:
    heard = Evidence()
    one = said(1, "rebalancing")
    for _ in range(100_000):
        heard.add(one)
    (group,) = heard.by_group()
    same = {f.kind: f for f in told_facts(group, shipped_knowledge())}["equal_lines"]
    assert same.values["repeats"] == 100_000 and len(same.lines) <= 5


def test_each_of_many_partitions_is_followed() -> None:
    heard = Evidence()
    heard.add_all(many(20_000))
    heard.add(said(20_001, "committed", partition="t-19999", offset=3))
    (group,) = heard.by_group()
    (back,) = [f for f in told_facts(group, shipped_knowledge()) if f.kind == "offset_went_back"]
    assert (back.values["before"], back.values["now"]) == (19_999, 3)
    assert len(back.lines[0].text) <= 120
