"""Logs of clients beside the coordinator's log of the same run: recordings agree, however they are
cut, shifted or told twice, and one line that is changed is named, in the right file.
"""

from __future__ import annotations

import random
import re
import tarfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from groupcheck.oracles.replay.report import replay
from groupcheck.traces.broker.broker_log import BrokerLog
from groupcheck.traces.causes.diagnosis import diagnose
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.causes.group_evidence import GroupEvidence
from groupcheck.traces.causes.knowledge import shipped_knowledge
from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.members.impossible import Impossible
from groupcheck.traces.reading import source_of

FOLDER = Path(__file__).parents[2] / "data" / "scenarios"
RECORDINGS = sorted(path.stem for path in FOLDER.glob("*.tgz"))
Lines = tuple[str, ...]
Logs = dict[str, Lines]
BROKER = "broker"


@cache
def logs(name: str) -> Logs:
    """The lines of the broker's log and of each member's."""
    with tarfile.open(FOLDER / f"{name}.tgz") as archive:
        texts = {
            member.name.rsplit(".", 2)[-2]: archive.extractfile(member).read().decode()  # type: ignore[union-attr]
            for member in archive.getmembers()
        }
    kept = {who: text for who, text in texts.items() if who not in ("truth", "requests")}
    return {who: tuple(text.splitlines()) for who, text in kept.items()}


@cache
def heard(who: str, lines: Lines) -> tuple[Statement, ...]:
    """What the lines say; statements of one kind that many lines make are left out."""
    statements = ClientLog(name=who).statements(enumerate(lines, 1))
    return tuple(s for s in statements if s.kind not in ("heartbeat", "committed", "detail"))


def told(whole: Logs) -> dict[str, list[Statement]]:
    """What each log says."""
    return {who: list(heard(who, lines)) for who, lines in whole.items()}


def settled(
    said: dict[str, list[Statement]], broker: Sequence[str], folder: Path
) -> list[GroupEvidence]:
    """What is known of each group. `said`: by all logs, the broker's included."""
    evidence = Evidence()
    for some in said.values():
        evidence.add_all(some)
    path = folder / "broker.log"
    path.write_text("\n".join(broker) + "\n")
    listen = evidence.coordinator_claims.listener(BROKER)
    for event, text in BrokerLog(source_of(str(path))).events():
        listen(event, text)
    return evidence.by_group()


def accused(
    said: dict[str, list[Statement]], broker: Sequence[str], folder: Path
) -> list[Impossible]:
    """The lines that are called impossible."""
    return [i for group in settled(said, broker, folder) for i in group.followed.impossible]


def contradicted(whole: Logs, folder: Path) -> list[Impossible]:
    return accused(told(whole), whole[BROKER], folder)


def places(found: list[Impossible]) -> list[tuple[str, int]]:
    return [(one.said.log, one.said.line) for one in found]


# -- nobody is accused


def shifted(said: Sequence[Statement], ms: int) -> list[Statement]:
    """By a clock that is ahead."""
    return [evolve(s, time=s.time + ms) for s in said if s.time is not None]


def a_part(some: Sequence[Any], rng: random.Random) -> list[Any]:
    begin, end = sorted(rng.sample(range(len(some) + 1), 2))
    return list(some[begin:end])


def thin(some: Sequence[Any], rng: random.Random) -> list[Any]:
    return [one for one in some if rng.random() < 0.8]


def clock_set(said: Sequence[Statement], rng: random.Random) -> list[Statement]:
    at = rng.randrange(len(said))
    return [*said[:at], *shifted(said[at:], rng.choice((-5_000, 5_000)))]


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_contradicts_itself_in_no_variant(name: str, tmp_path: Path) -> None:
    whole, rng = logs(name), random.Random(name)
    said, broker = told(whole), whole[BROKER]
    assert accused(said, broker, tmp_path) == []
    for change in (a_part, thin):
        some = {who: change(lines, rng) for who, lines in said.items()}
        assert accused(some, change(broker, rng), tmp_path) == []
        lines = tuple(change(broker, rng))
        assert accused(told({**whole, BROKER: lines}), lines, tmp_path) == []
    for lines in ((*broker, *broker), tuple(rng.sample(broker, len(broker)))):
        assert accused(told({**whole, BROKER: lines}), lines, tmp_path) == []
    for who in rng.sample([who for who in whole if who != BROKER], min(2, len(whole) - 1)):
        ahead = rng.choice((-90_000, -700, 700, 3_600_000))
        again = [*said[who], *a_part(said[who], rng)]
        for mine in (shifted(said[who], ahead), clock_set(said[who], rng), again):
            assert accused({**said, who: mine}, broker, tmp_path) == [], who


def test_groups_of_one_name_in_two_clusters_do_not_contradict_each_other(tmp_path: Path) -> None:
    here, there = logs("slow_handler-java"), logs("zombie-java")
    assert contradicted({**here, BROKER: there[BROKER]}, tmp_path) == []
    others = {f"other-{who}": lines for who, lines in there.items() if who != BROKER}
    assert contradicted({**here, **others}, tmp_path) == []


# -- how memberships ended

# Recording -> how memberships ended that its clients' logs show, the cause that both logs show, and
# those that the coordinator's line rules out.
ENDED = {
    "long_pause-java": ({"b": "expired"}, "client_stall", {"poll_timeout", "missing_close"}),
    "zombie-java": ({"a": "expired"}, "client_stall", {"poll_timeout", "missing_close"}),
    "slow_handler-java": ({"b": "left"}, "poll_timeout", {"session_expired_client"}),
    "slow_handler-confluent-kafka": ({"b": "left"}, "poll_timeout", {"session_expired_client"}),
    "kill-java": ({"b": "expired"}, "session_expired_broker", set()),
}


@pytest.mark.parametrize("name", ENDED)
def test_the_coordinator_s_line_decides_how_a_membership_ended(name: str, tmp_path: Path) -> None:
    ends, cause, ruled_out = ENDED[name]
    whole = logs(name)
    (group,) = settled(told(whole), whole[BROKER], tmp_path)
    how = {r.client.partition("#")[0]: r.how for r in group.removals if r.learnt or r.how != "left"}
    assert how.items() >= {k: v for k, v in ends.items() if v != "left"}.items()
    assert set(how.values()) <= set(ends.values())
    for r in group.removals:
        assert r.member in whole[BROKER][r.statement.line - 1]
    found = diagnose(group, shipped_knowledge())
    assert cause in [f.cause.kind for f in found.causes]
    assert ruled_out <= {r.cause.kind for r in found.refuted}
    by_broker = {r.cause.kind for r in found.refuted if r.by.log == BROKER}
    assert ruled_out - {"missing_close"} <= by_broker


def test_what_was_refused_while_the_coordinator_had_the_member_was_no_lost_membership(
    tmp_path: Path,
) -> None:
    """The clock of the client decides, as far as it is known."""
    whole = logs("long_pause-java")
    said = told(whole)
    (end,) = [s for s in said[BROKER] if s.kind == "broker_expired" and "has failed" in s.text]
    some = [s for s in said["b"] if s.kind == "commit_refused"]
    assert some and end.time is not None
    early = evolve(some[0], time=end.time - 3_000, line=1)
    (group,) = settled({**said, "b": [*said["b"], early]}, whole[BROKER], tmp_path)
    assert [p.by.log for p in group.followed.proofs if p.about == early] == [BROKER]
    assert {p.refutes for p in group.followed.proofs if p.about == early} == {"membership_lost"}


# -- one line is changed

JOINED = re.compile(r"(?<=Successfully joined group with generation Generation{generationId=)(\d+)")
ANSWERED = re.compile(r"(?<=JoinGroup response: GenerationId )(\d+)")
LED = re.compile(r"received from leader (\S+) for group (\S+) for generation (\d+)\.")


def later_generation(lines: Lines) -> tuple[int, str]:
    """The member joins a generation that the coordinator begins later."""
    at = [k for k, line in enumerate(lines) if JOINED.search(line) or ANSWERED.search(line)][1]
    more = lambda m: str(int(m[1]) + 2)  # noqa: E731
    return at, ANSWERED.sub(more, JOINED.sub(more, lines[at]))


def other_leader(lines: Lines) -> tuple[int, str]:
    """The coordinator has the assignment from the other member."""
    at, m = [(k, m) for k, line in enumerate(lines) if (m := LED.search(line))][1]
    ids = dict.fromkeys(re.findall(r"Created a new member id (\S+)", "\n".join(lines)))
    return at, lines[at].replace(m[1], next(id for id in ids if id != m[1]))


def gone_leader(lines: Lines) -> tuple[int, str]:
    """The member that leads on has left."""
    at, m = next((k, m) for k, line in enumerate(lines) if (m := LED.search(line)))
    text = f"[Group {m[2]}] Member {m[1]} has left group through explicit `LeaveGroup` request"
    head, tail = lines[at].split("Assignment received")[0], "; client reason: not provided"
    return at, f"{head}{text}{tail} (org.apache.kafka.coordinator.group.GroupMetadataManager)"


def empty_generation(lines: Lines) -> tuple[int, str]:
    """The generation of which clients tell has no members."""
    at = [k for k, line in enumerate(lines) if "Stabilized group" in line][1]
    return at, re.sub(
        r"Stabilized group (\S+) generation (\d+) with \d+ members\.",
        r"Group \1 with generation \2 is now empty.",
        lines[at],
    )


CHANGES = [
    ("slow_handler-java", "a", later_generation),
    ("slow_handler-java", "b", later_generation),
    ("slow_handler-confluent-kafka", "a", later_generation),
    ("rolling_restart-java", "c", later_generation),
    ("slow_handler-java", BROKER, other_leader),
    ("slow_handler-confluent-kafka", BROKER, other_leader),
    ("slow_handler-java", BROKER, gone_leader),
    ("slow_handler-confluent-kafka", BROKER, gone_leader),
    ("session_too_short-java", BROKER, empty_generation),
    ("slow_handler-confluent-kafka", BROKER, empty_generation),
]


def replaced(whole: Logs, who: str, at: int, line: str) -> Logs:
    return {**whole, who: (*whole[who][:at], line, *whole[who][at + 1 :])}


@pytest.mark.parametrize(("name", "who", "change"), CHANGES)
def test_a_line_that_is_changed_is_named_in_its_file(
    name: str, who: str, change: Callable[[Lines], tuple[int, str]], tmp_path: Path
) -> None:
    whole = logs(name)
    at, line = change(whole[who])
    assert whole[who][at] != line
    found = contradicted(replaced(whole, who, at, line), tmp_path)
    assert set(places(found)) == {(who, at + 1)}


def refusal(lines: Lines) -> tuple[int, str]:
    """The coordinator does not know a member that stays in the group."""
    sends = re.compile(r"Sending Heartbeat request with generation (\d+) and member id (\S+)")
    at, m = [(k, m) for k, line in enumerate(lines) if (m := sends.search(line))][1]
    named = f"Generation{{generationId={m[1]}, memberId='{m[2]}', protocol='range'}}"
    text = f"Attempt to heartbeat with {named} and group instance id Optional.empty failed due to"
    return at, f"{lines[at].split('Sending')[0]}{text} UNKNOWN_MEMBER_ID, resetting generation"


@pytest.mark.parametrize("ahead", [0, -40_000, 7_200_000])
def test_a_refusal_of_a_member_that_stays_is_named_in_any_clock(ahead: int, tmp_path: Path) -> None:
    whole = logs("slow_handler-java")
    at, line = refusal(whole["a"])
    said = told({**whole, "a": (*whole["a"][: at + 1], line, *whole["a"][at + 1 :])})
    (one,) = accused({**said, "a": shifted(said["a"], ahead)}, whole[BROKER], tmp_path)
    assert (one.said.log, one.said.line) == ("a", at + 2)
    assert one.against.log == BROKER


def test_an_id_that_was_removed_before_is_named(tmp_path: Path) -> None:
    whole = logs("slow_handler-java")
    joined = [k for k, line in enumerate(whole["b"]) if JOINED.search(line)]
    ids = [re.search(r"memberId='([^']+)'", whole["b"][k])[1] for k in joined]  # type: ignore[index]
    assert ids[0] != ids[1]
    line = whole["b"][joined[1]].replace(ids[1], ids[0])
    (one,) = contradicted(replaced(whole, "b", joined[1], line), tmp_path)
    assert (one.said.log, one.said.line) == ("b", joined[1] + 1)


def test_the_answer_names_the_line_the_file_and_what_speaks_against_it(tmp_path: Path) -> None:
    whole = logs("session_too_short-java")
    at, line = other_leader(whole[BROKER])
    paths = [tmp_path / f"{who}.log" for who in whole]
    for path, lines in zip(paths, replaced(whole, BROKER, at, line).values(), strict=True):
        path.write_text("\n".join(lines) + "\n")
    found = replay(paths)
    (group,) = found.document()["groups"]
    (one,) = group["followed"]["impossible"]
    assert one["line"]["file"] == str(tmp_path / "broker.log")
    assert one["line"]["line"] == at + 1
    assert one["against"]["file"] in {str(path) for path in paths} - {one["line"]["file"]}
    assert "impossible_line" in [cause["kind"] for cause in group["causes"]]
    removed = {r["member"]: r["how"] for r in group["removals"]}
    assert "expired" in removed.values()
    assert "by the coordinator's log, " in " ".join(str(found).split())
    for shown in (str(found), found.markdown()):
        assert f"line {at + 1} of " in " ".join(shown.split())


def test_a_generation_of_a_coordinator_that_failed_may_come_again(tmp_path: Path) -> None:
    """It had not written the assignment, so the next one began the same generation anew."""
    a, b = (f"{c}-11111111-2222-3333-4444-555555555555" for c in "ab")
    told = [
        "Dynamic member with unknown member id joins group g in Stable state. Created a new"
        f" member id {b} and requesting the member to rejoin with this id.",
        f"Preparing to rebalance group g in state PreparingRebalance with old generation 2 (reason:"
        f" removing member {a} on heartbeat expiration).",
        "Stabilized group g generation 3 with 1 members.",
        f"Assignment received from leader {b} for group g for generation 3. The group has 1"
        " members, 0 of which are static.",
    ]
    where = "[GroupCoordinator id=1 topic=__consumer_offsets partition=2]"
    logger = "(org.apache.kafka.coordinator.group.GroupMetadataManager)"
    broker = tuple(
        f"[2024-05-01 10:00:2{k},100] INFO {where} {text} {logger}" for k, text in enumerate(told)
    )
    named = f"Generation{{generationId=3, memberId='{a}', protocol='range'}}"
    client = (
        "[2024-05-01 10:00:01,100] INFO [Consumer clientId=a, groupId=g] Request joining group due"
        f" to: need to re-join with the given member-id: {a}",
        "[2024-05-01 10:00:02,100] INFO [Consumer clientId=a, groupId=g] Successfully joined group"
        f" with generation {named}",
    )
    assert contradicted({"a": client, BROKER: broker}, tmp_path) == []
    begins = broker[2].replace("10:00:22", "10:00:00").replace("generation 3", "generation 2")
    (one,) = contradicted({"a": client, BROKER: (begins, *broker)}, tmp_path)
    assert (one.said.log, one.said.line) == ("a", 2)
