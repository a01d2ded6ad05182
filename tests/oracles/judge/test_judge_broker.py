"""A broker that answers as the model keeps every rule; one with a mistake breaks them, with a short
schedule that shows it again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import evolve

from groupcheck.model.engine import UserError
from groupcheck.model.protocol import codes
from groupcheck.model.protocol.messages import Heartbeat
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.conform.row import STRANGER
from groupcheck.oracles.coordinator import requests as served_requests
from groupcheck.oracles.coordinator.served import coordinator
from groupcheck.oracles.judge.broker import command, confirming, surroundings
from groupcheck.oracles.judge.broker.confirming import confirm, outlives
from groupcheck.oracles.judge.broker.differences import Difference, not_refused
from groupcheck.oracles.judge.broker.exploring import Judging
from groupcheck.oracles.judge.broker.judging import by_roots, judgement, not_reached
from groupcheck.oracles.judge.broker.kinds import Kind
from groupcheck.oracles.judge.broker.ledger import ShownDifference
from groupcheck.oracles.judge.broker.looks import Look
from groupcheck.oracles.judge.broker.profiles import (
    MIXED,
    ONE_STEP,
    PROFILES,
    SESSIONS,
    THREE,
    TWO_STEP,
    Profile,
    limited,
)
from groupcheck.oracles.judge.broker.refusals import LOOKS, REFUSALS
from groupcheck.oracles.judge.broker.surroundings import FIND_COORDINATOR, target
from groupcheck.oracles.judge.broker.target import Target
from groupcheck.oracles.judge.following.requests import JOIN_GROUP
from groupcheck.oracles.judge.report.cases import suite
from groupcheck.oracles.judge.report.document import as_document, schedules_in
from groupcheck.oracles.judge.report.page import page
from groupcheck.oracles.judge.report.schedules import Act
from groupcheck.oracles.judge.report.text import view
from groupcheck.oracles.judge.report.verdicts import Judgement
from groupcheck.oracles.show.suite import as_junit
from groupcheck.oracles.show.text import show
from groupcheck.oracles.wire.security import PLAINTEXT
from groupcheck.oracles.wire.sockets import free_ports


@pytest.fixture
def healthy() -> Iterator[str]:
    with coordinator() as served:
        yield served.address


JOINS = (("id", -1), ("claimed", -1), ("owned", 0))
LEADS = (
    Act("ask", "JoinGroup", 0, 9, JOINS),
    Act("ask", "JoinGroup", 0, 9, (("id", 0), *JOINS[1:])),
)
SYNCS = Act("ask", "SyncGroup", 0, 5, (("id", 0), ("generation", 0)))
FULL = {"group.max.size": "2"}
PATIENCE_S = 100.0  # so that a busy machine runs as many schedules


def judged(address: str, *profiles: Profile, schedules: int, seed: int = 1) -> Judging:
    aim, _ = target(address, PLAINTEXT, None, {})
    judging = Judging(aim, PLAINTEXT, seed)
    judging.explore(profiles, PATIENCE_S, 1, lambda: None, schedules)
    return judging


def told(judging: Judging, *profiles: Profile, known: dict[str, str] | None = None) -> Judgement:
    return judgement(judging, profiles, known or {}, "the broker", 1.0)


def test_a_broker_that_answers_as_the_model_keeps_every_rule(healthy: str, misfits) -> None:
    profiles = (TWO_STEP, ONE_STEP, MIXED)
    judging = judged(healthy, *profiles, schedules=15)
    assert judging.ledger.found == {}
    found = told(judging, TWO_STEP)
    assert found.exit_code == 0 and found.remarks == ()
    tried = {one.rule.name for one in found.rules if one.became == "keeps"}
    assert tried >= {"join_code", "round_waits", "offsets_kept", "group_told", "coordinator_found"}
    assert [one.rule.name for one in found.rules if one.became == "not_judged"] == ["timers"]
    # What was not reached has a way that begins where every group does.
    assert all(one.way[0].startswith("Empty, new") for one in found.not_reached)
    assert misfits(as_document("broker", found)) == []


def test_an_answer_to_a_question_has_the_number_of_the_question(healthy: str) -> None:
    aim, _ = target(healthy, PLAINTEXT, None, {})
    walk = Judging(aim).again(TWO_STEP, [Act("look", "ListGroups", version=4)])
    asks, answers = map(str, walk.transcript.lines[-2:])
    assert asks.startswith("3. somebody sends ListGroups v4")
    assert answers == "   3 <- as in the model"


def test_a_silent_member_is_waited_for_until_its_session_is_over(healthy: str) -> None:
    aim, _ = target(healthy, PLAINTEXT, None, {})
    judging = Judging(aim, PLAINTEXT)
    judging.target = type(aim)(**{**_fields(aim), "session_ms": 600})
    judging.explore([SESSIONS], PATIENCE_S, 1, lambda: None, 2)
    assert judging.ledger.found == {}
    assert judging.ledger.tried["timers"] >= 1


def _fields(aim: object) -> dict[str, object]:
    return {name: getattr(aim, name) for name in aim.__slots__ if not name.startswith("__")}


def test_a_mistake_is_found_with_a_short_schedule_that_shows_it_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], misfits
) -> None:
    with coordinator(mutation="heartbeat_ignores_generation") as served:
        judging = judged(served.address, TWO_STEP, schedules=12)
        first, _ = by_roots(judging.ledger.found.values())
        confirm(judging, first[0])
        found = told(judging, TWO_STEP)
        assert found.exit_code == 1
        (rule,) = [one for one in found.rules if one.became == "breaks"]
        assert rule.rule.name == "heartbeat_code"
        remark = found.remarks[0]
        assert remark.got == "NONE" and remark.allowed == ("ILLEGAL_GENERATION",)
        assert remark.asks <= 5 and remark.again == remark.repeated == 3
        document = as_document("broker", found)
        assert misfits(document) == []
        (tmp_path / "report.json").write_text(json.dumps(document))
        again = ["judge", "again", str(tmp_path / "report.json"), "--on"]
        assert cli.run([*again, served.address]) == 1
        assert "NONE in place of ILLEGAL_GENERATION" in " ".join(capsys.readouterr().out.split())
    assert "failure" in as_junit(suite("judge broker", found))
    html = page("broker", found)
    assert "<svg" in html and "groupcheck explore --from schedule.json" in html
    with coordinator() as healthy:
        assert cli.run([*again, healthy.address, "--json"]) == 0
        assert misfits(json.loads(capsys.readouterr().out)) == []


def test_what_is_known_is_accepted_and_what_lies_behind_a_difference_is_seen(
    tmp_path: Path,
) -> None:
    with coordinator(mutation="sync_ignores_generation") as served:
        judging = judged(served.address, TWO_STEP, schedules=12)
    first, _ = by_roots(judging.ledger.found.values())
    for found in first:
        found.repeated = found.again = 3
    roots = {one.root for one in told(judging, TWO_STEP).remarks}
    accepted = told(judging, TWO_STEP, known=dict.fromkeys(roots, "on purpose"))
    assert accepted.exit_code == 0
    assert {one.became for one in accepted.remarks} == {"known"}
    lost = {one.row for one in not_reached(judging, [TWO_STEP])}
    assert not lost & {one.row for one in accepted.remarks}


def test_what_does_not_repeat_at_leisure_breaks_no_rule() -> None:
    with coordinator(mutation="heartbeat_ignores_generation") as served:
        judging = judged(served.address, TWO_STEP, schedules=12)
    for found in judging.ledger.found.values():
        found.repeated, found.again = 3, 0
    assert told(judging, TWO_STEP).exit_code == 0 and told(judging, TWO_STEP).passing
    for found in judging.ledger.found.values():
        found.again = 1
    assert told(judging, TWO_STEP).exit_code == 3


def test_a_short_schedule_that_shows_nothing_at_leisure_leaves_nothing_behind(
    healthy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither its steps nor the old versions that it needs are those of the one that was met."""

    def shortened(judging: Judging, found: ShownDifference, like: ShownDifference | None) -> bool:
        found.acts, found.needs = found.acts[-1:], ("JoinGroup v0",)
        return True

    monkeypatch.setattr(confirming, "_short_way", shortened)
    monkeypatch.setattr(confirming, "_shows", lambda *_: None)
    aim, _ = target(healthy, PLAINTEXT, None, {})
    one = Difference(Kind("Empty", "JoinGroup"), ("NONE",), "silence", ("join_code",))
    found = ShownDifference(one, TWO_STEP, LEADS, ())
    confirm(Judging(aim), found)
    assert (found.acts, found.needs) == (LEADS, ())
    assert (found.repeated, found.again) == (3, 0)


def test_a_row_that_was_not_tried_again_says_which_one_of_its_root_was(
    capsys: pytest.CaptureFixture[str], misfits
) -> None:
    judging = Judging(Target("h:1", {}))
    for phase, steps in (("Stable", 1), ("Empty", 2)):
        kind = Kind(phase, "Heartbeat", "a member")
        difference = Difference(kind, ("NONE",), "UNKNOWN_MEMBER_ID", ("heartbeat_code",))
        acts = (Act("ask", "Heartbeat"),) * steps
        judging.ledger.found[difference] = ShownDifference(difference, TWO_STEP, acts, ())
    tried, other = judging.ledger.found.values()
    tried.repeated = tried.again = 3
    found = told(judging)
    assert found.exit_code == 1
    first, second = as_document("broker", found)["differs"]
    assert misfits(as_document("broker", found)) == []
    assert (first["row"], first["repeated"], first["again"], first["stand_in"]) == (
        "Stable: Heartbeat (a member)",
        3,
        3,
        "",
    )
    assert (second["repeated"], second["again"], second["verdict"]) == (0, 0, "breaks")
    assert second["stand_in"] == first["row"]
    said = "Empty: Heartbeat (a member) (1 time; not tried again, but Stable: Heartbeat"
    assert said in page("broker", found)
    show(view(found))
    assert said in " ".join(capsys.readouterr().out.split())
    # Of two schedules of one length the one that was tried again is shown.
    other.acts = tried.acts
    assert as_document("broker", told(judging))["differs"][0]["row"] == first["row"]
    tried.again = 0
    assert told(judging).exit_code == 0
    assert told(judging).passing[0].endswith("but Stable: Heartbeat (a member) was)")


# -- at the terminal


def test_the_command_says_what_it_found_and_writes_what_is_wanted(
    healthy: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(command, "QUICK", (TWO_STEP,))
    files = ["--junit", str(tmp_path / "j.xml"), "--html", str(tmp_path / "p.html")]
    assert cli.run(["judge", "broker", healthy, "--seconds", "1", *files]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"keeps  the broker at {healthy}") and "round_waits" in out
    assert "<testcase" in (tmp_path / "j.xml").read_text()
    assert "<h2>Rules</h2>" in (tmp_path / "p.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give HOST:PORT, or --start NAME"),
        (["localhost:1", "--start", "kafka"], "give HOST:PORT, or --start NAME"),
        (["localhost"], "'localhost' is not HOST:PORT"),
        (["localhost:1"], "does not answer ApiVersions"),
        (["localhost:1", "--ca", "x.pem"], "is only for --tls"),
        (["localhost:1", "--set", "group.max.size=few"], "group.max.size is 'few'"),
        (["localhost:1", "--set", "group.max.sizes=2"], "group.max.sizes changes nothing"),
        (["localhost:1", "--sasl", "PLAIN"], "a login needs a mechanism, a user and a password"),
    ],
)
def test_what_cannot_be_judged_is_said(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["judge", "broker", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "has no [[known]] entries"),
        ("known = 1", "has no [[known]] entries"),
        ('[[known]]\nroot = "a"', "entry 1 of"),
        ('[[known]]\nroot = "a"\nrow = "b"\nreason = "c"', "entry 1 of"),
        ("[[known", "cannot be read"),
    ],
)
def test_a_file_of_known_deviations_has_reasons(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "known.toml").write_text(text)
    known = ["--known", str(tmp_path / "known.toml")]
    assert cli.run(["judge", "broker", "localhost:1", *known]) == 2
    assert said in capsys.readouterr().err


STEP = {"kind": "ask", "name": "Heartbeat", "member": 0, "version": 0}


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (1, "give what `judge broker --json` printed"),
        ({"profile": "two-step"}, "there is no schedule"),
        ({"profile": "none", "steps": []}, "there is no kind of group 'none'"),
        ({"profile": "two-step", "steps": [{"kind": "dance", "name": ""}]}, "is no step"),
        ({"profile": "two-step", "steps": [{**STEP, "fields": {}}]}, "is no step of a two-step"),
        ({"profile": "two-step", "steps": [{**STEP, "member": "0"}]}, "no whole numbers"),
    ],
)
def test_a_file_that_is_no_schedule_is_refused(
    read: object, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.json").write_text(json.dumps(read))
    assert cli.run(["judge", "again", str(tmp_path / "s.json"), "--on", "localhost:1"]) == 2
    assert said in capsys.readouterr().err


def test_a_group_that_was_filled_is_filled_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    step = {**STEP, "name": "JoinGroup", "version": 5, "fields": dict(JOINS)}
    schedule = {"profile": limited(2).name, "steps": [step]}
    (tmp_path / "s.json").write_text(json.dumps(schedule))
    with coordinator(max_size=2) as served:
        assert cli.run(["judge", "again", str(tmp_path / "s.json"), "--on", served.address]) == 0
    assert "as the model allows" in capsys.readouterr().out


def test_a_document_is_read_as_its_schedules() -> None:
    fields = {"id": 0, "generation": 1}
    schedule = {"profile": "two-step", "steps": [{**STEP, "fields": fields}]}
    (one,) = schedules_in({"differs": [{"row": "r", "schedule": schedule}]}, "f")
    assert one[:2] == ("r", "two-step")
    assert schedules_in(schedule, "f")[0][2] == one[2]
    assert dict(one[2][0].fields) == fields


def test_groups_are_as_small_as_the_broker_wants_and_are_filled_then() -> None:
    def names(size: str) -> list[str]:
        return [p.name for p in command.fitting((TWO_STEP, THREE), {"group.max.size": size})]

    assert names("2147483647") == ["two-step", "three"]
    assert (names("2"), names("1")) == (["two-step", "full-2"], ["full-1"])
    assert [p.name for p in command.fitting((TWO_STEP,), {})] == ["two-step"]


def test_a_group_that_its_members_fill_is_full_for_the_model_too() -> None:
    sizes = {one.name: one.settings.get("max_size") for one in command.fitting(PROFILES, FULL)}
    assert sizes["two-step"] == sizes["static"] == sizes["full-2"] == "2"
    assert not any(one.settings.get("max_size") for one in command.fitting(PROFILES, {}))


def test_a_dynamic_member_beside_static_ones_asks_with_an_id_that_is_gone() -> None:
    rows = Judging(Target("h:1", {})).rows(MIXED)
    gone = [one.member for one in rows.asks(rows.start()) if one.request == Heartbeat(STRANGER, 0)]
    assert gone == [0, 1]


def test_a_broker_of_many_nodes_that_dies_is_shown_by_the_schedule() -> None:
    (port,) = free_ports(1)
    gone = Target(
        f"127.0.0.1:{port}", {FIND_COORDINATOR.key: range(5), JOIN_GROUP.key: range(4)}, 3
    )
    judging = Judging(gone)
    judging.explore([ONE_STEP], PATIENCE_S, 1, lambda: None, 3)
    assert {one.got for one in judging.ledger.found} == {"closed"}


def test_a_broker_without_groups_is_not_judged(
    monkeypatch: pytest.MonkeyPatch, healthy: str
) -> None:
    monkeypatch.setattr(surroundings, "announced", lambda *_: {3: range(5)})
    with pytest.raises(UserError, match="does not announce JoinGroup"):
        target(healthy, PLAINTEXT, None, {})


def test_a_listener_that_wants_a_login_is_recognized(
    monkeypatch: pytest.MonkeyPatch, healthy: str
) -> None:
    monkeypatch.setattr(surroundings.Asking, "ask", lambda *_: None)
    with pytest.raises(UserError, match="answers ApiVersions, but not Metadata") as error:
        target(healthy, PLAINTEXT, None, {})
    assert "--sasl" in (error.value.do or "")


# -- What must be refused


def test_a_request_that_is_refused_with_another_code_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(served_requests, "INVALID_GROUP_ID", 69)
    with coordinator() as served:
        judging = judged(served.address, TWO_STEP, schedules=12)
        assert {(one.kind.about, one.got, one.rules) for one in judging.ledger.found} == {
            ("an empty group id", "GROUP_ID_NOT_FOUND", ("refused",))
        }
        found = next(iter(judging.ledger.found.values()))
        confirm(judging, found)
    # The way of the model to it is no step at all.
    assert found.again == 3 and len(found.acts) == 1
    assert found.difference.allowed == ("INVALID_GROUP_ID",)


@pytest.mark.parametrize(
    ("code", "rule"),
    [(codes.UNKNOWN_MEMBER_ID, "commit_fencing"), (codes.UNKNOWN_TOPIC_OR_PARTITION, "refused")],
)
def test_a_commit_that_is_taken_breaks_fencing_if_its_member_is_wrong(code: int, rule: str) -> None:
    taken = {"topics": [{"partitions": [{"errorCode": 0}]}]}
    found = not_refused(Kind("any group", "OffsetCommit"), code, taken, "refused")
    assert (found.got, found.rules) == ("NONE", (rule,))


def test_every_refusal_is_of_kafka_and_leaves_the_group_as_it_is(healthy: str) -> None:
    aim, _ = target(healthy, PLAINTEXT, None, {})
    asks = [Act("look", one.name, version=_newest(aim, one)) for one in REFUSALS]
    walk = Judging(aim).again(TWO_STEP, [*LEADS, *asks, *LEADS[1:], SYNCS])
    assert walk.met.differences == []
    assert len(walk.acts) == len(LEADS) + len(asks) + len(LEADS[1:]) + 1


def _newest(aim: Target, look: Look) -> int:
    return look.versions(aim.announced[look.api.key]).stop - 1


@pytest.mark.parametrize("survives", [False, True])
def test_a_broker_that_does_not_outlive_a_request_is_told(
    healthy: str, monkeypatch: pytest.MonkeyPatch, survives: bool
) -> None:
    """What ended it was met once, and is not said to have been tried again."""
    name = "JoinGroup: no protocol at all"
    other = Look(
        LOOKS[name].api, "refused", LOOKS[name].asks, lambda *_: ["no"], code=0, is_apart=True
    )
    monkeypatch.setitem(LOOKS, name, evolve(other, about="no protocol at all", is_harsh=True))
    aim, _ = target(healthy, PLAINTEXT, None, {})
    judging = Judging(aim)
    monkeypatch.setattr(confirming, "_answers", lambda judging: survives)
    monkeypatch.setattr(confirming, "OUTLIVED_S", 0.0)
    outlives(judging)
    found = told(judging)
    gone = [one for one in found.remarks if "goes_on" in one.rules]
    assert [one.got for one in gone] == ([] if survives else ["the broker is gone"])
    assert found.exit_code == 1 and {one.became for one in found.remarks} == {"breaks"}
    assert {(one.repeated, one.again) for one in found.remarks} == {(3, 3) if survives else (0, 0)}
    if not survives:
        assert judging.ledger.schedules == 1
        assert {one.met for one in gone} == {
            "1 time; not tried again, because nothing answered any more"
        }


def test_ctrl_c_in_what_is_asked_last_says_what_was_done(
    healthy: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was met by then is told, and is not said to have been tried again."""
    name = "JoinGroup: no protocol at all"
    monkeypatch.setitem(LOOKS, name, evolve(LOOKS[name], wrong=lambda *_: ["no"]))

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(confirming, "_repeat", interrupted)
    monkeypatch.setattr(confirming, "_ends", lambda *_: False)
    monkeypatch.setattr(command, "QUICK_S", 0.1)
    monkeypatch.setattr(command, "confirmed", lambda *_: None)
    assert cli.run(["judge", "broker", healthy, "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert (document["verdict"], document["reason"]) == ("unknown", "interrupted")
    assert "JoinGroup (no protocol at all)" in str(document["differs"])
