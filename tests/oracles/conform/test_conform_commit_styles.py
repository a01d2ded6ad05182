"""Kafka's Java client commits as the styles of the model say, and a wrong rule is noticed."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from groupcheck.model.engine import Spec, UserError, but
from groupcheck.model.mutations import mutation
from groupcheck.model.protocol.classic.client import Calls, Prepare, commit_answer, send_commit
from groupcheck.model.protocol.classic.commit_styles import commits_in_close
from groupcheck.model.protocol.classic.scope import ASYNC, AUTO, COMMIT_STYLES, SYNC
from groupcheck.model.protocol.codes import FENCED_INSTANCE_ID, NONE
from groupcheck.model.protocol.feature import extended, own, rebuilt
from groupcheck.oracles.conform.member.commit_styles import (
    Row,
    differences,
    memories,
    rows,
    styled,
)
from groupcheck.oracles.conform.member.conformance import rows_of
from groupcheck.oracles.conform.member.moves import Probe, Seen
from groupcheck.oracles.kafka.client_commands import Close, Position
from groupcheck.oracles.kafka.driver import Driver, shared

EAGER, COOPERATIVE = {SYNC: 336, ASYNC: 776, AUTO: 48}, {SYNC: 360, ASYNC: 800, AUTO: 72}
ROWS = {
    "classic": EAGER,
    "static_membership": EAGER,
    "cooperative": COOPERATIVE,
    "cooperative_static": COOPERATIVE,
}


@cache
def executed(style: str, variant: str) -> list[tuple[Row, Seen]]:
    every = list(rows(style, variant))
    seen = list(shared("4.3.0").run_all(row.probe for row in every))
    assert all(isinstance(s, Seen) for s in seen)
    return list(zip(every, seen, strict=True))


def differing(style: str, spec: Spec, variant: str = "classic") -> list[list[str]]:
    found = (differences(row, seen, spec) for row, seen in executed(style, variant))
    return [what for what in found if what]


@pytest.mark.parametrize("style", COMMIT_STYLES)
@pytest.mark.parametrize("variant", ROWS)
def test_every_row_of_a_style_agrees(variant: str, style: str, coordinator: Driver) -> None:
    assert len(executed(style, variant)) == ROWS[variant][style]
    assert differing(style, styled(style, variant), variant) == []


@pytest.mark.parametrize("variant", ["cooperative", "cooperative_static"])
def test_a_member_that_has_committed_to_join_commits_again_in_close(
    variant: str, coordinator: Driver
) -> None:
    """It goes on with what it keeps. After a commit was answered 82, it does not commit again."""
    standings = [
        (memory.client, at)
        for memory, at in memories(True, variant).items()
        if memory.known and not memory.flight and memory.client.prepare == Prepare.COMMITTED
    ]
    probes = [
        Probe(at, (Position(partition=0, offset=c.position + 1), Close())) for c, at in standings
    ]
    commits = {NONE: True, FENCED_INSTANCE_ID: False}
    assert {c.failed for c, _ in standings} == set(commits)
    for (c, _), seen in zip(standings, coordinator.run_all(probes), strict=True):
        assert isinstance(seen, Seen)
        sent = [s.api for s in seen.steps[-1][1].sent]
        assert ("OffsetCommit" in sent) == commits[c.failed]
        assert commits_in_close(but(c, dirty=True)) == commits[c.failed]


def changed(style: str, rule: Any, change: Any) -> Spec:
    spec = styled(style)
    return rebuilt(spec, [extended(own(spec, rule), change)])


def asked_again(before: Any, label: str, after: Any, scope: Any) -> Any:
    """commitAsync is sent again after an error that passes."""
    return {**after, "client": but(after["client"], dirty=label == "retry")}


def thrown_at_once(before: Any, label: str, after: Any, scope: Any) -> Any:
    """commitSync throws an error that passes."""
    threw = after["client"].calls == Calls.COMMIT_SYNC
    return {**after, "client": but(after["client"], calls=Calls.THREW)} if threw else after


def forgotten(before: Any, label: str, after: Any, scope: Any) -> Any:
    """A commit in poll is not tried again."""
    return {**after, "client": but(after["client"], dirty=False)}


def told_to_nobody(before: Any, label: str, after: Any, scope: Any) -> Any:
    """Commits go out with the generation before."""
    return {**after, "client": but(after["client"], generation=0)}


MISTAKES = {
    "commitAsync is repeated": (ASYNC, commit_answer, asked_again),
    "commitSync throws what passes": (SYNC, commit_answer, thrown_at_once),
    "a commit in poll is not tried again": (AUTO, commit_answer, forgotten),
    "a member forgets its generation": (SYNC, send_commit, told_to_nobody),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_about_a_style_is_noticed(mistake: str, coordinator: Driver) -> None:
    style, rule, change = MISTAKES[mistake]
    assert differing(style, changed(style, rule, change))


def test_a_known_bug_of_commit_sync_is_noticed(coordinator: Driver) -> None:
    assert differing(SYNC, mutation("commit_sync_gives_up").apply(styled(SYNC)))


def test_the_rows_of_the_member_know_no_style() -> None:
    with pytest.raises(UserError, match="polls at any time, whatever its commit_style"):
        rows_of("classic", 1, None, {"commit_style": "sync"})
