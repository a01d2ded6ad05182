"""The gallery of known bugs and the mutation score: bugs have their stories there, and hostile
texts stay texts. `make nightly` has the score of all bugs (`whole_gallery.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import attrs
from markupsafe import escape

from groupcheck.model.mutations import all_mutations, mutation
from groupcheck.model.mutations.tickets import VERSIONS, versions_of
from groupcheck.model.protocol.mutation import SEEDED
from groupcheck.oracles.check import bugs
from groupcheck.oracles.check.gallery import page
from groupcheck.oracles.check.score import (
    BrokenPromises,
    Score,
    broken_by,
    broken_in_the_end,
    score,
)
from groupcheck.oracles.command_line import cli

FEW = ("no_sync_deadline", "stale_claims_assigned")
EVERY = all_mutations()


def test_a_bug_may_break_more_than_the_promise_that_breaks_first() -> None:
    assert set(broken_by(mutation("stale_claims_assigned"))) == {"one_owner", "hand_off"}
    assert broken_by(mutation("no_sync_deadline")) == ("sync_deadline_runs",)
    assert "assignment_arrives" in broken_in_the_end(mutation("no_sync_deadline"))


def test_a_promise_that_no_bug_breaks_is_named() -> None:
    killed = (BrokenPromises(mutation("no_sync_deadline"), ("sync_deadline_runs",), ()),)
    lazy = Score(killed, ("one_owner", "sync_deadline_runs"), ())
    assert lazy.idle == ("one_owner",)
    assert lazy.headline == ("1 of 1 bugs break a promise; 1 of 2 promises are broken by a bug")


def test_each_ticket_with_versions_belongs_to_a_bug_and_says_a_version() -> None:
    assert versions_of("KAFKA-9752") == "Kafka 2.2 to 2.4, fixed in 2.5.0"
    assert versions_of("KAFKA-3949, KAFKA-3117") == (
        "Kafka, fixed in 0.10.1.0; Kafka, fixed in 0.10.0.0"
    )
    assert versions_of(SEEDED) == "" == versions_of("KAFKA-1")
    told = {ticket.strip() for bug in EVERY for ticket in bug.ticket.split(",")}
    assert set(VERSIONS) <= told


def gallery(ids: Sequence[str]) -> str:
    return page(bugs.find_all(ids), score([mutation(id) for id in ids]))


def test_the_page_shows_each_bug_with_ticket_versions_story_and_score() -> None:
    shown = gallery(FEW)
    for id in FEW:
        bug = mutation(id)
        assert f'id="{id}"' in shown and bug.ticket in shown and str(escape(bug.title)) in shown
    assert "2 of 2 known bugs found" in shown
    assert "Kafka 0.11 to 2.2, fixed in 2.3.0" in shown
    assert shown.count("<svg") == 4 and "<script" not in shown
    assert 'href="#stale_claims_assigned"' in shown
    walked = re.findall(r"step by step: <code>(.*?)</code>", shown)
    assert len(walked) == 2
    assert all(f"--mutation {id}" in command for id, command in zip(FEW, walked, strict=True))
    assert "assignment_arrives breaks" in " ".join(shown.split())


def test_a_hostile_text_stays_a_text() -> None:
    [found] = bugs.find_all(["no_sync_deadline"])
    hostile = attrs.evolve(
        found.mutation, title="<script>alert(1)</script>", ticket='"><img src=x onerror=y>'
    )
    shown = page([attrs.evolve(found, mutation=hostile)], score([]))
    assert "<script" not in shown and "<img" not in shown and "&lt;script&gt;" in shown


def test_the_command_writes_the_page_and_tells_the_score(tmp_path, capsys) -> None:
    target = tmp_path / "bugs.html"
    assert cli.run(["bugs", *FEW, "--score", "--html", str(target)]) == 0
    said = capsys.readouterr().out
    assert "mutation score: 2 of 2 bugs break a promise" in said
    assert "searched: 300,000 states of each bug's scope at most" in said
    assert target.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert cli.run(["bugs", *FEW, "--score", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert first["killed_by"][0] == "sync_deadline_runs"
    assert first["progress"] == {"promise": "assignment_arrives", "found": True, "states": 532}
    assert second["killed_by"] == ["one_owner", "hand_off"] and second["progress"] is None
    assert first["versions"] == "Kafka 2.6.1, 2.7 and 2.8.0, fixed in 2.8.1 and 3.0.0"
