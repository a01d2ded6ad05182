"""What the museum carries out is the model's path, and it calls a bug shown only if it was seen."""

from __future__ import annotations

import json
import re
import shlex
import struct
import zlib
from pathlib import Path

import attrs
import pytest

from groupcheck.model.engine import UserError
from groupcheck.model.mutations import mutation
from groupcheck.model.protocol.codes import MEMBER_ID_REQUIRED, NONE, UNKNOWN_MEMBER_ID
from groupcheck.oracles.check import bugs
from groupcheck.oracles.check.gallery import page
from groupcheck.oracles.check.score import score
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.explain.subject import subject
from groupcheck.oracles.explore.beginning import walk_from
from groupcheck.oracles.kafka.pins import pinned
from groupcheck.oracles.museum import symptoms
from groupcheck.oracles.museum.brokers import BROKERS
from groupcheck.oracles.museum.exhibits import EXHIBITS, Exhibit, exhibits
from groupcheck.oracles.museum.members import MEMBERS
from groupcheck.oracles.museum.network import record
from groupcheck.oracles.museum.performing import ExhibitPath, Performance, find
from groupcheck.oracles.museum.seen import (
    AnswerSent,
    App,
    Cut,
    Fact,
    NetworkRequest,
    PerformanceRecord,
    State,
)
from groupcheck.oracles.museum.showing import document, said, view
from groupcheck.oracles.show.text import as_plain

T0 = ("t-0",)


@pytest.fixture(scope="module")
def paths() -> dict[str, ExhibitPath]:
    return {exhibit.mutation: find(exhibit) for exhibit in EXHIBITS}


def seen(*facts: Fact, left_at: str = "", left_in: int = 0) -> PerformanceRecord:
    return PerformanceRecord("1.0", facts, left_at, left_in)


def test_each_exhibit_is_a_known_bug_with_its_ticket_and_pinned_releases() -> None:
    for exhibit in EXHIBITS:
        assert exhibit.ticket in mutation(exhibit.mutation).ticket
        program = BROKERS if exhibit.on_broker else MEMBERS
        for release in (exhibit.old, exhibit.fixed):
            wanted = pinned(program.jar, release)
            assert f"kafka-clients-{release}.jar" in wanted
            assert (f"kafka_2.12-{release}.jar" in wanted) == exhibit.on_broker


def test_the_page_lists_what_is_shown_with_its_releases() -> None:
    page = (Path(__file__).parents[3] / "docs" / "museum.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \| (\S+) \| (\S+) \|", page, re.MULTILINE)
    assert rows == [(e.mutation, e.ticket, e.old, e.fixed) for e in EXHIBITS]


def test_each_path_breaks_the_promise_of_its_bug_and_can_be_carried_out(
    paths: dict[str, ExhibitPath],
) -> None:
    for exhibit in EXHIBITS:
        found = paths[exhibit.mutation]
        if not exhibit.why:
            assert found.told.invariant == mutation(exhibit.mutation).invariant
        assert found.told.depth == len(found.told.path.steps) and found.moves


def test_each_path_of_one_bug_can_be_walked_to_the_same_end(
    paths: dict[str, ExhibitPath], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ill = seen(AnswerSent(10, "A", "JoinGroup", 25))
    apart = {e.mutation for e in EXHIBITS if len(e.of) > 1}
    assert {id for id, found in paths.items() if not found.walk or not found.link} == apart
    for exhibit in EXHIBITS:
        told, walk = paths[exhibit.mutation].told, paths[exhibit.mutation].walk
        if not walk:
            continue
        assert cli.run([*shlex.split(walk)[1:], "--do", "why"]) == 0
        shown = capsys.readouterr().out
        assert f"after {told.depth} steps" in shown
        if isinstance(exhibit.promise, str):
            assert f"broken  {told.invariant}" in shown
    file = tmp_path / "museum.json"
    chosen = [e for e in EXHIBITS if e.of][:1] + list(exhibits(["no_sync_deadline"]))
    performances = [Performance(e, paths[e.mutation], ill, ill) for e in chosen]
    file.write_text(json.dumps(document(performances)))
    walk = walk_from(str(file), None, lambda: subject("classic"), False)
    assert walk.about.title.endswith("with no_sync_deadline")
    assert walk.key == paths["no_sync_deadline"].told.key
    told = " ".join(as_plain(view(performances, False)).split())
    assert f"walk it: {paths['no_sync_deadline'].walk} " in told and told.count("walk it") == 1
    file.write_text(json.dumps(document(performances[:1])))
    with pytest.raises(UserError, match="no bug whose path can be walked"):
        walk_from(str(file), None, lambda: subject("classic"), False)


def test_the_moves_of_a_member_are_its_requests_and_answers_in_the_order_of_the_path(
    paths: dict[str, ExhibitPath],
) -> None:
    found = paths["claims_lost_partitions"].moves
    moves = [m for m in found if m.process == 0 and m.request is not None]
    assert [(m.step, m.kind, m.api, m.answer and m.answer.code) for m in moves] == [
        (1, "sends", "JoinGroup", None),
        (1, "answered", "JoinGroup", MEMBER_ID_REQUIRED),
        (3, "sends", "JoinGroup", None),
        (4, "answered", "JoinGroup", NONE),
        (5, "sends", "SyncGroup", None),
        (6, "answered", "SyncGroup", NONE),
        (8, "sends", "Heartbeat", None),
        (8, "answered", "Heartbeat", 27),
        (10, "sends", "JoinGroup", None),
        (10, "answered", "JoinGroup", UNKNOWN_MEMBER_ID),
        (11, "sends", "JoinGroup", None),
        (11, "answered", "JoinGroup", MEMBER_ID_REQUIRED),
        (12, "sends", "JoinGroup", None),
    ]


def test_broken_connections_and_what_the_application_does_are_moves_too(
    paths: dict[str, ExhibitPath],
) -> None:
    def kinds(id: str) -> list[tuple[int, str]]:
        usual = ("sends", "answered")
        quiet = ("delay", "appended")
        return [(m.step, m.kind) for m in paths[id].moves if m.kind not in (*usual, *quiet)]

    assert kinds("late_claims_ignored") == [(3, "delayed"), (10, "late"), (15, "unanswered")]
    assert kinds("round_resets_late_member") == [(11, "cut")]
    assert kinds("processing_after_last_commit") == [(9, "processes"), (12, "processes")]
    assert kinds("change_during_round_forgotten") == [(2, "topics"), (6, "sees")]
    assert kinds("completes_after_leaving") == [(6, "leaves")]
    assert kinds("takeover_misses_the_plan") == [(2, "crashes")]


LOST = (
    App(6, "A", "assigned", T0),
    NetworkRequest(10, "A", "JoinGroup", "1-A-0", T0),
    AnswerSent(10, "A", "JoinGroup", 25),
)
LATE = (App(6, "A", "assigned", T0), AnswerSent(13, "A", "SyncGroup", 27))
PROCESSED = App(12, "A", "processed", ("t-0@1",))
CASES: tuple[tuple[symptoms.Symptom, tuple[Fact, ...], tuple[Fact, ...]], ...] = (
    (
        symptoms.planned_twice,
        (NetworkRequest(1, "B", "SyncGroup", "b", plan={"A": T0, "B": T0}),),
        (NetworkRequest(1, "B", "SyncGroup", "b", plan={"A": T0, "B": ("t-1",)}),),
    ),
    (
        symptoms.given_while_owned,
        (App(1, "A", "assigned", T0), App(2, "B", "assigned", T0)),
        (App(1, "A", "assigned", T0), App(2, "A", "revoked", T0), App(2, "B", "assigned", T0)),
    ),
    (
        symptoms.claims_what_it_lost,
        (*LOST, NetworkRequest(11, "A", "JoinGroup", "", T0)),
        (*LOST, NetworkRequest(11, "A", "JoinGroup", "", ())),
    ),
    (
        symptoms.loses_without_refusal,
        (*LATE, App(0, "A", "lost", T0)),
        (*LATE, App(0, "A", "revoked", T0)),
    ),
    (
        symptoms.never_joins_again,
        (NetworkRequest(1, "A", "JoinGroup"), Cut(4, "A")),
        (NetworkRequest(1, "A", "JoinGroup"), Cut(4, "A"), NetworkRequest(0, "A", "JoinGroup")),
    ),
    (
        symptoms.forgets_the_change,
        (AnswerSent(7, "A", "SyncGroup"),),
        (AnswerSent(7, "A", "SyncGroup"), NetworkRequest(0, "A", "JoinGroup")),
    ),
    (
        symptoms.completes_what_it_left,
        (NetworkRequest(6, "A", "LeaveGroup"), App(0, "A", "assigned", T0)),
        (
            NetworkRequest(6, "A", "LeaveGroup"),
            NetworkRequest(0, "A", "JoinGroup"),
            App(0, "A", "assigned", T0),
        ),
    ),
    (
        symptoms.goes_on_after_commit,
        (NetworkRequest(11, "A", "OffsetCommit"), PROCESSED),
        (NetworkRequest(11, "A", "OffsetCommit"), AnswerSent(11, "A", "OffsetCommit"), PROCESSED),
    ),
    (
        symptoms.is_kept_for_ever,
        (State(0, "Stable", 1),),
        (State(0, "Empty", 0),),
    ),
    (
        symptoms.waits_for_ever,
        (State(0, "CompletingRebalance", 1),),
        (State(0, "Empty", 0),),
    ),
    (
        symptoms.is_over_sized,
        (State(0, "CompletingRebalance", 2),),
        (State(0, "CompletingRebalance", 1),),
    ),
    (
        symptoms.comes_back_too_early,
        (Cut(2, "A"), AnswerSent(4, "A", "JoinGroup", 0, 1)),
        (Cut(2, "A"), AnswerSent(4, "A", "JoinGroup", 0, 2)),
    ),
    (
        symptoms.is_forgotten,
        (AnswerSent(0, "A", "Heartbeat", 82),),
        (AnswerSent(0, "A", "Heartbeat", 0),),
    ),
)


@pytest.mark.parametrize(("symptom", "ill", "well"), CASES, ids=lambda case: "")
def test_a_symptom_is_seen_where_it_is_and_not_where_it_is_not(
    symptom: symptoms.Symptom, ill: tuple[Fact, ...], well: tuple[Fact, ...]
) -> None:
    assert symptom(seen(*ill)) and not symptom(seen(*well)) and not symptom(seen())


def test_every_exhibit_has_a_symptom_that_is_tested() -> None:
    assert {e.symptom for e in EXHIBITS} == {symptom for symptom, *_ in CASES}


@pytest.fixture
def performance(paths: dict[str, ExhibitPath]) -> Performance:
    [exhibit] = exhibits(["claims_lost_partitions"])
    ill, well = CASES[2][1:]
    return Performance(exhibit, paths[exhibit.mutation], seen(*ill), seen(*well))


def test_a_bug_is_reproduced_if_it_shows_on_the_old_release_alone(
    performance: Performance,
) -> None:
    ill, well = performance.old, performance.fixed
    assert performance.reproduced
    assert not attrs.evolve(performance, old=well).reproduced
    assert not attrs.evolve(performance, fixed=ill).reproduced


def test_a_release_that_leaves_the_path_shows_nothing(performance: Performance) -> None:
    strays = attrs.evolve(performance.old, left_at="step 8: A sends no Heartbeat", left_in=8)
    assert not attrs.evolve(performance, old=strays).reproduced
    early = attrs.evolve(performance.fixed, left_at="step 8: A sends no Heartbeat", left_in=8)
    assert not attrs.evolve(performance, fixed=early).reproduced
    at_last = attrs.evolve(performance.fixed, left_at="step 12: so be it", left_in=12)
    assert attrs.evolve(performance, fixed=at_last).reproduced
    assert said(early, "") == (
        "Kafka 1.0: the bug does not show (it leaves the path in step 8: A sends no Heartbeat)"
    )


def test_the_answer_counts_what_was_reproduced(performance: Performance) -> None:
    shown = as_plain(
        view([performance, attrs.evolve(performance, fixed=performance.old)], whole=True)
    )
    assert "reproduced  claims_lost_partitions  KAFKA-12983" in shown
    assert "NOT SHOWN  claims_lost_partitions" in shown
    assert "   11  A sends JoinGroup, without an id, claims t-0" in shown
    assert "1 of 2 bugs show on the old release and not on the fixed one" in shown


def test_the_gallery_shows_what_both_releases_did(performance: Performance) -> None:
    found = bugs.find_all(["claims_lost_partitions"])
    hostile = attrs.evolve(
        performance.old, facts=(*performance.old.facts, App(0, "<b>", "lost", T0))
    )
    shown = page(found, score([]), [attrs.evolve(performance, old=hostile)])
    assert "On real old code" in shown and "1 of 1 show on a real old" in " ".join(shown.split())
    assert "A sends JoinGroup, without an id, claims t-0" in shown
    assert "<b>" not in shown and "On real old code" not in page(found, score([]))


def test_a_record_is_a_message_set_of_format_1() -> None:
    whole = record(7)
    assert struct.unpack_from(">qi", whole) == (7, len(whole) - 12)
    assert struct.unpack_from(">I", whole, 12) == (zlib.crc32(whole[16:]),)
    assert whole[16] == 1 and whole.endswith(b"\0\0\0\x017")


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        (["leader_forgotten"], "'leader_forgotten' cannot be shown on real old code"),
        (["--score"], "--score: is about bugs in the model, and --real shows bugs in real code"),
    ],
)
def test_what_cannot_be_shown_is_refused(
    given: list[str], answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["bugs", "--real", *given]) == 2
    assert answer in capsys.readouterr().err


def test_without_a_jdk_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert cli.run(["bugs", "--real", "claims_lost_partitions"]) == 2
    assert "install a JDK 17 or newer and Maven" in capsys.readouterr().err


def test_an_exhibit_of_a_bug_that_nobody_knows_is_refused() -> None:
    with pytest.raises(UserError, match=r"choose from .*claims_lost_partitions"):
        exhibits(["nothing"])
    assert len(exhibits([])) == len(EXHIBITS) >= 8
    assert all(isinstance(one, Exhibit) for one in exhibits([]))
