"""Kafka's Java client commits as the styles of the model say, and a wrong rule is noticed. Here a
part of the rows is executed; `make nightly` executes all of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pandas
import pytest

from groupcheck.model.engine import Spec, UserError, evolve
from groupcheck.model.mutations import mutation
from groupcheck.model.protocol.classic.client import Calls, commit_answer, send_commit
from groupcheck.model.protocol.classic.scope import ASYNC, AUTO, COMMIT_STYLES, SYNC
from groupcheck.model.protocol.transform import extended, own, rebuilt
from groupcheck.model.variants import load, names
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.conform.member.commit_styles import StyledRows, StyleRow
from groupcheck.oracles.conform.member.every_row import every_row, styles_of
from groupcheck.oracles.conform.member.moves import Observations
from groupcheck.oracles.kafka.driver import Driver, shared

ROWS = {AUTO: 445, SYNC: 336, ASYNC: 776}
EACH = 4  # every so many rows of `classic` are executed
FEW = 20  # the same for other variants
OTHERS = {"cooperative_static": AUTO, "mixed_membership": SYNC, "upgrade": ASYNC}
KINDS = {
    "mixed_membership": 2,
    "cooperative_mixed": 2,
    "upgrade": 3,
    "offsets": 0,
    "cooperative_rounds": 0,
}
REAL = [name for name in names() if load(name).real_member]


def styled(style: str, variant: str = "classic") -> list[StyledRows]:
    return styles_of(variant, None, None, {"commit_style": style})


@cache
def healthy(style: str) -> StyledRows:
    (found,) = styled(style)
    return found


@cache
def executed(style: str) -> list[tuple[StyleRow, Observations]]:
    every = list(healthy(style).rows())
    assert len(every) == ROWS[style]
    seen = list(shared("4.3.0").run_all(row.probe for row in every[::EACH]))
    assert all(isinstance(s, Observations) for s in seen)
    return list(zip(every[::EACH], seen, strict=True))


def differing(style: str, spec: Spec | None = None) -> list[list[str]]:
    rows = StyledRows(healthy(style).model, spec) if spec else healthy(style)
    return [what for row, seen in executed(style) if (what := rows.differences(row, seen))]


@pytest.mark.parametrize("style", COMMIT_STYLES)
def test_the_rows_of_a_style_agree(style: str, coordinator: Driver) -> None:
    assert differing(style) == []


@pytest.mark.parametrize("variant", OTHERS)
def test_rows_of_other_members_agree(variant: str, coordinator: Driver) -> None:
    for found in styled(OTHERS[variant], variant):
        some = list(found.rows())[::FEW]
        assert len(some) > 10
        for row, seen in zip(some, coordinator.run_all(row.probe for row in some), strict=True):
            assert found.differences(row, seen) == []


@pytest.mark.parametrize("variant", REAL)
def test_every_kind_of_member_has_each_style(variant: str) -> None:
    found = [(rows.kind, rows.style) for rows in styles_of(variant, None, None, {})]
    kinds = {kind for kind, _ in found}
    assert len(kinds) == KINDS.get(variant, 1)
    assert sorted(found) == sorted((kind, style) for kind in kinds for style in COMMIT_STYLES)


def changed(style: str, rule: Any, change: Any) -> Spec:
    spec = healthy(style).spec
    return rebuilt(spec, [extended(own(spec, rule), change)])


def asked_again(before: Any, label: str, after: Any, scope: Any) -> Any:
    """commitAsync is sent again after an error that passes."""
    return {**after, "client": evolve(after["client"], dirty=label == "retry")}


def thrown_at_once(before: Any, label: str, after: Any, scope: Any) -> Any:
    """commitSync throws an error that passes."""
    threw = after["client"].calls == Calls.COMMIT_SYNC
    return {**after, "client": evolve(after["client"], calls=Calls.THREW)} if threw else after


def forgotten(before: Any, label: str, after: Any, scope: Any) -> Any:
    """A commit in poll is not tried again."""
    return {**after, "client": evolve(after["client"], dirty=False)}


def told_to_nobody(before: Any, label: str, after: Any, scope: Any) -> Any:
    """Commits go out with the generation before."""
    return {**after, "client": evolve(after["client"], generation=0)}


MISTAKES = {
    "commitAsync is repeated": (ASYNC, commit_answer, asked_again),
    "commitSync throws what passes": (SYNC, commit_answer, thrown_at_once),
    "a commit in poll is not tried again": (AUTO, commit_answer, forgotten),
    "a member forgets its generation": (SYNC, send_commit, told_to_nobody),
}
BUGS = {
    "commit_sync_gives_up": SYNC,
    "joins_while_committing": SYNC,
    "closes_without_commit": AUTO,
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_about_a_style_is_noticed(mistake: str, coordinator: Driver) -> None:
    style, rule, change = MISTAKES[mistake]
    assert differing(style, changed(style, rule, change))


@pytest.mark.parametrize("bug", BUGS)
def test_a_known_bug_of_a_style_is_noticed(bug: str, coordinator: Driver) -> None:
    assert differing(BUGS[bug], mutation(bug).apply(healthy(BUGS[bug]).spec))


def test_a_bug_of_a_style_is_put_into_the_rules_of_other_variants() -> None:
    """Its scope has one member, twins are two."""
    (found,) = styles_of("twins", None, "commit_sync_gives_up", {"commit_style": "sync"})
    (usual,) = styled(SYNC, "twins")
    assert any(found.does(row) != usual.does(row) for row in usual.rows())


# -- the command


def test_the_command_lists_rows_that_differ(
    capsys: pytest.CaptureFixture[str], misfits: Callable[[Any], list[str]], tmp_path: Path
) -> None:
    files = f"--parquet {tmp_path / 'rows'} --junit {tmp_path / 'cases'}"
    asked = "classic --side member --set commit_style=sync --mutation commit_sync_gives_up"
    assert cli.run(f"conform {asked} --max-differences 1 --json {files}".split()) == 1
    told = json.loads(capsys.readouterr().out)
    assert misfits(told) == []
    assert (told["rows"], told["differing"]) == (ROWS[SYNC], 1)
    assert told["executed"] == told["agreeing"] + 1
    assert [scope["commit_style"] for scope in told["scopes"]] == [SYNC]
    assert told["toured"][0]["scope"]["commit_style"] == SYNC
    table = pandas.read_parquet(tmp_path / "rows")
    assert (len(table), table.executed.sum()) == (told["rows"], told["executed"])
    assert "commitSync" in (tmp_path / "cases").read_text("utf-8")


def test_the_command_stops_at_too_many_rows(capsys: pytest.CaptureFixture[str]) -> None:
    asked = "classic --side member --set commit_style=async --max-rows 700"
    assert cli.run(f"conform {asked}".split()) == 3
    assert "776 of commit_style async" in capsys.readouterr().out


def test_the_rows_of_styles_come_after_all_others() -> None:
    found = every_row("classic", 1, None, {"autocommit": "no"})
    styles = [rows.style for rows in found if isinstance(rows, StyledRows)]
    assert len(found) == 3 and styles == [SYNC, ASYNC]
    assert [*map(type, found[1:])] == [StyledRows, StyledRows]


@pytest.mark.parametrize(
    ("variant", "settings", "why"),
    [
        ("offsets", {}, "`commits` says here who commits"),
        ("cooperative_rounds", {}, "its members process nothing"),
        ("classic", {"autocommit": "yes"}, "commit_style sync does not commit in poll"),
    ],
)
def test_where_there_is_no_style_the_reason_is_told(
    variant: str, settings: dict[str, str], why: str
) -> None:
    with pytest.raises(UserError, match=why):
        every_row(variant, 1, None, {"commit_style": "sync", **settings})
