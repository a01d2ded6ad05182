"""Walks as texts: links, keys, documents and command lines."""

from __future__ import annotations

import html
import json
import re
import shlex
from functools import partial
from pathlib import Path

import pytest

from groupcheck import UserError
from groupcheck.oracles.check.run import check
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.explain.subject import Subject, promises, subject
from groupcheck.oracles.explore.beginning import walk_from
from groupcheck.oracles.explore.beside import other_of
from groupcheck.oracles.show.report import walk_command
from groupcheck.oracles.show.walk_links import address, command_line, parsed

BUG = "keeps_partitions_when_lost"
EXAMPLE = "tests/examples/two_phase_commit.py:two_phase_commit"
KEY = "gc1-0.0.2"


def subject_of(about: Subject) -> Subject:
    return about


def asked() -> Subject:
    raise AssertionError("the options were asked for")


@pytest.mark.parametrize(
    "about",
    [
        subject("classic", mutation=BUG),
        subject("classic", mutation=BUG, faults={}),
        subject("classic+static", members=2, faults={"crash": 2, "close": 1}, assignor="any"),
        subject("consumer", settings={"java": "yes"}),
        subject("offsets", members=1, any_faults=1),
    ],
    ids=lambda about: about.title,
)
def test_a_link_brings_back_the_scope_and_the_key(about: Subject) -> None:
    link = address(about, KEY)
    found = parsed(f"http://127.0.0.1:1/x#{link}")
    assert found.key == KEY
    again = found.subject()
    assert (again.spec.name, again.spec.scope, again.mutation) == (
        about.spec.name, about.spec.scope, about.mutation,
    )  # fmt: skip


def test_a_link_starts_no_code_of_its_own() -> None:
    text = f"v=1&of={EXAMPLE}&key=gc1-0"
    with pytest.raises(UserError, match="code of its own"):
        walk_from(text, None, asked, False)
    with pytest.raises(UserError, match="code of its own"):
        walk_from(
            "v=1&of=classic&mutation=x.py:y&key=gc1-0",
            None,
            lambda: parsed("v=1&of=classic&mutation=x.py:y&key=gc1-0").subject(),
            False,
        )


@pytest.mark.parametrize(
    "text", ["v=2&of=classic&key=gc1-0", "v=1&of=classic", "v=1&of=classic&key=gc1-0&fault=crash=x"]
)
def test_a_link_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        parsed(text)


@pytest.fixture(scope="module")
def verdict(tmp_path_factory: pytest.TempPathFactory) -> Path:

    path = tmp_path_factory.mktemp("from") / "verdict.json"
    path.write_text(json.dumps(check("classic", mutation=BUG, engine="plain").document()))
    return path


def test_a_verdict_begins_at_the_end_of_its_counterexample(verdict: Path) -> None:
    for variant in (None, "classic"):
        walk = walk_from(str(verdict), variant, asked, False)
        assert walk.about.title == f"classic with {BUG}" and len(walk.path.steps) == 13
    same = subject("classic", mutation=BUG)
    assert walk_from(str(verdict), "classic", lambda: same, True).key == walk.key


def test_what_does_not_fit_a_document_is_refused(verdict: Path, tmp_path: Path) -> None:
    healthy = subject("classic")
    with pytest.raises(UserError, match="about something else"):
        walk_from(str(verdict), "static_membership", asked, False)
    bug = subject("classic", mutation=BUG)
    unmutated = other_of(bug, "healthy")
    larger = subject("classic", mutation=BUG, members=3)
    for about in (healthy, unmutated, larger):
        with pytest.raises(UserError, match="about something else"):
            walk_from(str(verdict), "classic", partial(subject_of, about), True)
    other = tmp_path / "other.json"
    for text in ("", "[]", "{}", *(f'{{"schema": "groupcheck.{x}/1"}}' for x in ("bugs", "again"))):
        other.write_text(text)
        with pytest.raises(UserError):
            walk_from(str(other), None, asked, False)
    holds = {**json.loads(verdict.read_text()), "violations": [], "verdict": "holds"}
    other.write_text(json.dumps(holds))
    with pytest.raises(UserError, match="has no counterexample: the verdict is holds"):
        walk_from(str(other), None, asked, False)


def test_a_command_line_comes_to_the_same_walk(capsys: pytest.CaptureFixture[str]) -> None:
    about = subject("classic", mutation=BUG, members=2, faults={"session_timeout": 2})
    line = command_line(about, "explain", "gc1-0.0.2")
    assert cli.run([*shlex.split(line)[1:], "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["key"] == "gc1-0.0.2" and told["scope"] == about.scope()
    assert told["mutation"] == BUG


@pytest.mark.parametrize("mixed", [(), ("hand_off",)])
def test_a_command_line_judges_the_promises_that_the_check_judged(
    mixed: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "promise of mine.py"
    file.write_text(
        "from groupcheck.model.engine import invariant\n"
        "@invariant\n"
        "def never_rebalances(core):\n"
        "    '''Nobody joins.'''\n"
        "    return core.generation < 1\n"
    )
    found = check("classic", invariants=(f"{file}:never_rebalances", *mixed), engine="plain")
    key, judged = found.explanations[0].key, 2 + len(mixed)  # and deadlock
    line = command_line(found.subject, "explore", key)
    assert cli.run([*shlex.split(line)[1:], "--do", "why"]) == 0
    told = capsys.readouterr().out
    assert "broken  never_rebalances" in told and f"{judged - 1} of {judged} promises" in told
    assert cli.run(shlex.split(command_line(found.subject, "explain", key))[1:]) == 0
    assert "never_rebalances" in capsys.readouterr().out
    assert "never_rebalances" not in address(found.subject, key)


def test_a_command_line_judges_what_the_protocol_is_known_to_break() -> None:
    name = promises(subject("classic").variant).not_promised[0].name
    about = subject("classic", invariants=(name,))
    again = command_line(about, "explore", KEY)
    assert again == f"groupcheck explore classic --from {KEY} --invariant {name}"
    assert "--invariant" not in command_line(
        subject("classic", invariants=("hand_off",)), "explore", KEY
    )


def test_a_command_line_keeps_a_goal_of_one_s_own_and_that_deadlocks_are_left_aside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "goal of mine.py"
    file.write_text(
        "from groupcheck.model.engine import goal\n"
        "@goal\n"
        "def begun(core):\n"
        "    '''A generation has begun.'''\n"
        "    return core.generation > 0\n"
    )
    about = subject("classic", goals=("stable", f"{file}:begun"), deadlock=False)
    line = command_line(about, "explore", "gc1-0.0")
    assert "--goal stable" not in line  # the variant has it
    assert cli.run([*shlex.split(line)[1:], "--do", "goal begun; why; why begun"]) == 0
    told = capsys.readouterr().out
    assert "begun is met after" in told and "of 36 promises" in told  # without deadlock
    assert cli.run(shlex.split(command_line(about, "explain", "gc1-0.0"))[1:]) == 0
    usual = command_line(subject("classic"), "explore", KEY)
    assert usual == f"groupcheck explore classic --from {KEY}"


def test_the_page_of_a_counterexample_says_how_to_walk_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = check("classic", mutation=BUG, engine="plain").html()
    command = html.unescape(re.search(r"Walk it, step by step: <code>(.*?)</code>", page)[1])
    assert cli.run([*shlex.split(command)[1:], "--do", "why"]) == 0
    assert "broken  hand_off" in capsys.readouterr().out
    assert "Walk it" not in check("classic", members=1, engine="plain").html()


def test_what_no_command_leads_to_is_not_offered() -> None:
    from two_phase_commit import two_phase_commit

    assert walk_command(subject(two_phase_commit(2)), KEY) == ""
    assert walk_command(subject("classic", progress=True), KEY) == ""
    assert walk_command(subject("classic"), KEY) == f"groupcheck explore classic --from {KEY}"
