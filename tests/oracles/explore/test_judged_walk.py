"""Walks along the schedules of `judge broker`: its acts are the steps of the model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from groupcheck import UserError
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.oracles.explain.subject import Subject
from groupcheck.oracles.explore.beginning import walk_from
from groupcheck.oracles.explore.walk import Walk
from groupcheck.oracles.judge.broker.profiles import PROFILES, limited


def asked() -> Subject:
    raise AssertionError("the options were asked for")


def ask(name: str, member: int = 0, **fields: int) -> dict[str, Any]:
    return {"kind": "ask", "name": name, "member": member, "version": 4, "fields": fields}


def wait(name: str) -> dict[str, Any]:
    return {"kind": "wait", "name": name, "member": -1, "version": 0, "fields": {}}


def join(id: int, member: int = 0) -> dict[str, Any]:
    return ask("JoinGroup", member, id=id, claimed=-1, owned=0)


SYNC, OLD = ask("SyncGroup", id=0, generation=0), ask("Heartbeat", id=0, generation=1)


def entry(profile: str, *steps: dict[str, Any]) -> dict[str, Any]:
    schedule = {"profile": profile, "steps": list(steps)}
    return {"row": "Stable", "got": "NONE", "allowed": ["ILLEGAL_GENERATION"], "schedule": schedule}


def walked(folder: Path, document: dict[str, Any], more: str = "") -> Walk:
    (folder / "judged.json").write_text(json.dumps(document))
    return walk_from(f"{folder / 'judged.json'}{more}", None, asked, False)


def test_a_walk_does_what_a_schedule_asks_as_far_as_members_do_the_same(tmp_path: Path) -> None:
    look = {"kind": "look", "name": "ListGroups", "member": -1, "version": 4, "fields": {}}
    steps = (join(-1), join(0), look, SYNC, OLD)
    walk = walked(tmp_path, entry("two-step", *steps))
    assert "3 of 4 acts" in walk.note and "There came NONE" in walk.note
    assert "act 4 here: member 0 sends Heartbeat v4 in a generation that is 1 behind" in walk.note
    said = [s for node in walk.at.line for s in node.said if s.startswith("act")]
    assert said[0] == "act 1: member 0 sends JoinGroup v4 without an id" and len(said) == 3
    core = walk.see.named(walk.at.state)["core"]
    # What happens by itself has happened.
    assert (core.phase, core.members, core.appending) == (Phase.STABLE, 1, False)
    assert Walk(walk.about, walk.key).at.state == walk.at.state


def test_requests_and_timers_are_those_of_the_schedule_alone(tmp_path: Path) -> None:
    both = (join(-1), join(0), join(-1, 1), join(0, 1))
    walk = walked(tmp_path, entry("sessions", *both, wait("session_timeout")))
    assert "4 of 5 acts" in walk.note  # a request that waits is a sign of life
    again = ask("JoinGroup", 0, id=0, claimed=0, owned=0)
    done = (*both, again, SYNC, ask("SyncGroup", 1, id=0, generation=0), wait("session_timeout"))
    walk = walked(tmp_path, entry("sessions", *done))
    assert "8 of 8 acts" in walk.note
    seats = [len(walk.see.named(walk.at.state)["seats"][k].ids) for k in (0, 1)]
    assert seats == [1, 0]
    for id, acts in ((50, 9), (0, 8)):  # its id is known no more
        gone = ask("Heartbeat", 1, id=id, generation=0)
        assert f"{acts} of 9 acts" in walked(tmp_path, entry("sessions", *done, gone)).note
    stranger = walked(tmp_path, entry("two-step", join(50)))
    assert "0 of 1 act" in stranger.note and "does not know" in stranger.note


@pytest.mark.parametrize("kind", [*PROFILES, limited(2)], ids=lambda kind: kind.name)
def test_every_profile_of_a_judge_can_be_walked(tmp_path: Path, kind: Any) -> None:
    steps = [join(-1), *([] if kind.name in ("one-step", "static", "static-rounds") else [join(0)])]
    walk = walked(tmp_path, entry(kind.name, *steps, SYNC))
    assert f"{len(steps) + 1} of {len(steps) + 1} acts" in walk.note


def test_a_number_names_a_schedule_of_a_document(tmp_path: Path) -> None:
    some = [entry("two-step", join(-1)), entry("one-step", join(-1), SYNC)]
    document = {"schema": "groupcheck.judge/1", "side": "broker", "differs": some}
    assert "1 of 1 act." in walked(tmp_path, document).note
    assert "2 of 2 acts." in walked(tmp_path, document, ":2").note
    assert "1 of 1 act." in walked(tmp_path, some[0]["schedule"]).note
    for wrong, more, told in (
        (document, ":3", "no schedule 3"),
        ({**document, "side": "client"}, "", "judgement of a client"),
        ({**document, "differs": []}, "", "no difference"),
        ({"schema": "groupcheck.judge/1", "differs": [{"differs": []}]}, "", "no difference"),
        ({"schema": "groupcheck.judge/1", "differs": 1}, "", "no difference"),
        (entry("two-step"), "", "no request of a member"),
        (entry("strange", join(-1)), "", "unknown profile"),
        (entry("two-step", {"kind": "ask"}), "", "there is no schedule"),
    ):
        with pytest.raises(UserError, match=told):
            walked(tmp_path, wrong, more)
    with pytest.raises(UserError, match="says itself"):
        walk_from(str(tmp_path / "judged.json"), "classic", asked, False)
