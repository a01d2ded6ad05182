"""Kafka's Java client commits as the styles of the model say, and a wrong rule is noticed."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from groupcheck.model.engine import Spec, UserError, but
from groupcheck.model.mutations import mutation
from groupcheck.model.protocol.classic.client import Calls, commit_answer, send_commit
from groupcheck.model.protocol.classic.scope import ASYNC, AUTO, SYNC
from groupcheck.model.protocol.feature import extended, own, rebuilt
from groupcheck.oracles.conform.member.commit_styles import Row, differences, rows, styled
from groupcheck.oracles.conform.member.conformance import rows_of
from groupcheck.oracles.conform.member.moves import Seen
from groupcheck.oracles.kafka.driver import Driver, shared

ROWS = {SYNC: 336, ASYNC: 776, AUTO: 48}


@cache
def executed(style: str, kafka: str) -> list[tuple[Row, Seen]]:
    every = list(rows(style))
    seen = list(shared(kafka).run_all(row.probe for row in every))
    assert all(isinstance(s, Seen) for s in seen)
    return list(zip(every, seen, strict=True))


def differing(style: str, spec: Spec) -> list[list[str]]:
    found = (differences(row, seen, spec) for row, seen in executed(style, "4.3.0"))
    return [what for what in found if what]


@pytest.mark.parametrize("style", ROWS)
def test_every_row_of_a_style_agrees(style: str, coordinator: Driver) -> None:
    assert len(executed(style, "4.3.0")) == ROWS[style]
    assert differing(style, styled(style)) == []


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
