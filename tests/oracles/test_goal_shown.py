"""`--goal NAME`: the schedule that leads to a goal, as text, document and page; `explain` follows
its key.
"""

import json
from collections.abc import Callable

import pytest

import groupcheck
from groupcheck.model.engine import Spec, array, end, goal, rule, staged
from groupcheck.oracles.check.run import check
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.show.html import image

Misfits = Callable[..., list[str]]
EAGER_COMES = (
    "connect_versions", "--members", "2", "--generations", "2",
    "--set", "connect_protocol=eager|compatible",
)  # fmt: skip
NAME = "runs_what_another_has"
KEY = "gc1-0.0.1.1.0.1.0.0.0.0.0.0.0"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = cli.run(arguments)
    return code, capsys.readouterr().out


def test_the_schedule_of_a_goal_is_printed_with_the_step_that_meets_it_and_its_key(capsys):
    code, text = printed(capsys, "check", *EAGER_COMES, "--goal", NAME)
    lines = text.splitlines()
    assert code == 0 and lines[0].startswith("holds  connect_versions")
    assert any(line.startswith(f"{NAME} is met after 12 steps") for line in lines)
    [last] = [k for k, line in enumerate(lines) if line.startswith("   12   ")]
    met = lines.index(f"                      {NAME} is met by")
    assert last < met and lines[met + 1].strip() == "member A and member B"
    assert f"key   {KEY}" in lines
    assert "goal  Two workers that have got their shares" in text


def test_without_the_option_no_schedule_is_printed(capsys):
    code, text = printed(capsys, "check", *EAGER_COMES)
    assert code == 0 and f"{NAME} at 12" in text and "is met" not in text and "gc1-" not in text
    assert "goal_paths" not in json.loads(printed(capsys, "check", *EAGER_COMES, "--json")[1])


def test_the_document_has_the_path_as_a_violation_has_it(capsys, misfits: Misfits):
    given = (*EAGER_COMES, "--goal", NAME, "--goal", "upgraded", "--goal", NAME)
    code, text = printed(capsys, "check", *given, "--json")
    document = json.loads(text)
    assert misfits(document) == []
    assert code == 3 and "never happened: goal upgraded" in document["reason"]
    [told] = document["goal_paths"]
    assert (told["goal"], told["depth"], told["key"]) == (NAME, document["goals"][NAME], KEY)
    assert [step["step"] for step in told["path"]] == [*range(1, 13)]
    assert all(step["words"] for step in told["path"])
    assert told["prose"].endswith("An eager worker has joined, so the group has fallen back to"
                                  " eager rebalancing.")  # fmt: skip
    assert document["violations"] == []


def test_explain_follows_the_key_and_says_which_goals_its_end_meets(capsys, misfits: Misfits):
    code, text = printed(capsys, "explain", EAGER_COMES[0], KEY, *EAGER_COMES[1:])
    assert code == 0 and "12 steps, nothing breaks" in text
    assert f"goals met  for the first time at the end: {NAME}, together" in text
    marked = ("explain", EAGER_COMES[0], KEY, *EAGER_COMES[1:], "--goal", NAME)
    code, text = printed(capsys, *marked)
    assert code == 0 and f"{NAME} is met after 12 steps" in text and "nothing breaks" not in text
    document = json.loads(printed(capsys, *marked, "--json")[1])
    assert misfits(document) == []
    assert document["goals"][NAME] == 12 and document["broken"] == {}
    assert [(told["goal"], told["key"]) for told in document["goal_paths"]] == [(NAME, KEY)]


def test_explain_ends_a_goals_path_where_it_is_met(capsys):
    marked = ("explain", EAGER_COMES[0], KEY, *EAGER_COMES[1:], "--goal", "stable", "--goal", NAME)
    _, text = printed(capsys, *marked)
    assert "stable is met after 6 steps" in text
    assert f"{NAME} is met after 12 steps" in text


def test_the_goal_of_a_model_with_a_bug_has_a_schedule_beside_the_counterexample(capsys):
    bug = ("classic", "--mutation", "keeps_partitions_when_lost", "--goal", "zombie_owner")
    code, text = printed(capsys, "check", *bug, "--json")
    document = json.loads(text)
    assert code == 1 and document["violations"]
    [told] = document["goal_paths"]
    scope = ("--mutation", "keeps_partitions_when_lost", "--goal", "zombie_owner")
    _, text = printed(capsys, "explain", "classic", told["key"], *scope, "--json")
    assert json.loads(text)["goals"]["zombie_owner"] == told["depth"]


def test_random_walks_say_that_they_tell_no_schedule(capsys):
    walks = ("--random-walks", "200", "--walk-length", "60", "--goal", NAME)
    code, text = printed(capsys, "check", *EAGER_COMES, *walks, "--json")
    document = json.loads(text)
    assert code == 3 and document["goal_paths"] == [] and document["goals"][NAME] is not None
    assert f"no schedule for {NAME}: random walks keep no schedules of goals" in document["notes"]


@rule
def light(lamp):
    """<b>Lights</b> & stays."""
    if not lamp:
        yield True


@goal("all i")
def all_lit(lamp: "lamp[i]"):
    """<script>alert(1)</script> Every lamp is on."""
    return lamp


@goal
def one_lit(lamp: "lamp[i]"):
    return lamp


@end
def anywhere(lamp):
    return True


def lamps() -> Spec:
    return Spec("lamps", {"lamp": array(3, False)}, [light], ends=[anywhere], goals=[all_lit])


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_the_page_has_the_schedule_and_every_text_of_it_is_escaped(engine: str):
    page = check(lamps(), engine=engine, goals=["all_lit", one_lit]).html()
    assert "<script" not in page and "<b>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; Every lamp is on." in page
    assert "&lt;b&gt;Lights&lt;/b&gt; &amp; stays" in page
    assert "all_lit is met after 3 steps" in page and "one_lit is met after 1 step" in page
    assert page.count('<tr class="met">') == 2 and '<tr class="broken">' not in page
    assert page.count("<figure") == 2 and '<rect class="met"' in page


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_goals_of_your_own_have_a_schedule_in_python(engine: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(staged, "ENOUGH", 0)  # plain Python stores every state
    result = groupcheck.check(lamps(), engine=engine, goals=[one_lit, "all_lit"], symmetry=True)
    assert result.verdict.symmetry.used
    one, every = result.verdict.reached
    assert (one.depth, every.depth) == (1, 3) and len(every.path.steps) == 3
    shown = result.goal_explanations
    assert [told.headline for told in shown] == [
        "one_lit is met after 1 step",
        "all_lit is met after 3 steps",
    ]
    assert "lamp[0] = yes" in shown[1].evidence[0] and len(shown[1].evidence) == 3
    assert str(result).count("met by") == 5  # one row, one value; three values
    assert "✓" in image(shown[0]) and "✕" not in image(shown[0])
    followed = groupcheck.follow(lamps(), every.key)
    assert followed.met == {"all_lit": 3} and followed.broken == {}
