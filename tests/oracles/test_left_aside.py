"""What a check leaves aside is said wherever its verdict is shown: promises about progress, why
symmetry is not used, and rules and promises for which an array is too small.
"""

import json

import pytest
from attrs import evolve
from two_phase_commit import decide, obey, two_phase_commit

import groupcheck
from groupcheck.model.engine import (
    Spec,
    array,
    end,
    eventually,
    goal,
    invariant,
    rule,
    single,
    staged,
    step_invariant,
    weak,
)
from groupcheck.oracles.check.run import CheckResult
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.pytest_plugin import Checker

NOT_JUDGED = "not judged (--progress)"


@eventually
def ends(manager):
    """Every manager commits or aborts."""
    return manager.phase in ("committed", "aborted")


def live(managers: int = 2) -> Spec:
    fair = [weak(decide), weak(obey)]
    return evolve(two_phase_commit(managers), fair=fair, progress=[ends])


def facts(result: CheckResult) -> list[tuple[str, str]]:
    return [(name, text) for name, text in result.report().facts if name != "run"]


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_promises_about_progress_that_were_not_judged_are_named_in_every_form(engine: str):
    result = groupcheck.check(live(), engine=engine)
    assert result.holds
    assert ("progress", NOT_JUDGED) in facts(result)
    assert f"progress    {NOT_JUDGED}" in str(result)
    assert repr(result).endswith(f"states, progress: {NOT_JUDGED}>")
    for page in (result.html(), result._repr_html_()):
        assert f"<dt>progress</dt><dd>{NOT_JUDGED}</dd>" in page
    assert result.document()["progress_not_judged"] == ["ends"]


def test_nothing_is_said_where_all_are_judged_or_there_are_none_or_nothing_judges_them():
    judged = groupcheck.check(live(), progress=True)
    assert judged.document()["progress_not_judged"] == [] and NOT_JUDGED not in str(judged)
    for what in (two_phase_commit(2), "callbacks", "async_server"):
        result = groupcheck.check(what)
        assert result.document()["progress_not_judged"] == []
        assert NOT_JUDGED not in str(result) + repr(result) + result.html()


def test_variants_and_searches_that_cannot_judge_them_say_so_too():
    classic = groupcheck.check("classic", members=1, generations=1)
    assert len(classic.document()["progress_not_judged"]) == 8 and NOT_JUDGED in str(classic)
    stopped = groupcheck.check(live(3), max_states=20)
    assert stopped.unknown and NOT_JUDGED in str(stopped)
    assert NOT_JUDGED in str(groupcheck.check(live(3), random_walks=3))


def test_the_fixture_notes_it_with_the_test_and_shows_it_where_the_test_fails():
    noted: list[tuple[str, object]] = []
    checker = Checker("test", None, noted)
    checker.check(live(), engine="reference")
    assert noted == [("groupcheck", f"progress: {NOT_JUDGED}")]
    checker.check(live(), engine="reference", progress=True)
    assert len(noted) == 1
    with pytest.raises(AssertionError, match=r"progress +not judged \(--progress\)"):
        checker.check(live(), engine="reference", max_states=5)


def test_why_symmetry_is_not_used_stands_beside_the_states_with_what_to_change():
    result = groupcheck.check(two_phase_commit(3))
    why = "not worth while for fewer than five stored elements"
    assert result.document()["symmetry"]["reason"].startswith(why)
    ((_, text),) = [fact for fact in facts(result) if fact[0] == "symmetry"]
    assert text.startswith(f"not used: {why}") and text in result.html()


@pytest.mark.parametrize(
    ("enough", "begins"),
    [
        (0, "16 states stored"),
        (staged.ENOUGH, "not used: plain Python searched, and it"),
    ],
)
def test_arrays_that_symmetry_leaves_out_are_named(enough, begins, monkeypatch):
    monkeypatch.setattr(staged, "ENOUGH", enough)

    @rule
    def use(client):
        yield 1

    @rule
    def knows(me, part):
        yield me

    slots = {"client": array(3, 0), "part": array(3, 0)}
    result = groupcheck.check(Spec("two", slots, [use, knows], deadlock=False), symmetry=True)
    ((_, text),) = [fact for fact in facts(result) if fact[0] == "symmetry"]
    assert begins in text and "part: rule knows takes me (take" in text


@pytest.mark.parametrize("symmetry", [None, False])
def test_nothing_is_said_of_symmetry_where_nothing_in_the_spec_is_against_it(symmetry):
    slots = {"n": single(0), "client": array(2, 0)}
    for spec in (Spec("pair", slots, []), Spec("single", {"n": single(0)}, [])):
        result = groupcheck.check(evolve(spec, deadlock=False), symmetry=symmetry)
        assert "symmetry" not in dict(facts(result))


@rule
def pass_on(node, next: "node[me+1]"):
    yield next, node


@rule
def compare(node, next: "node[me+1]", last: "node[me-1]"):
    yield node, next, last


@rule
def tick(n):
    if n < 2:
        yield n + 1


@invariant
def apart(a: "node[i]", b: "node[j]"):
    return a == b


@step_invariant("node")
def kept(before, after):
    return before.node == after.node


@goal
def alike(a: "node[i]", b: "node[j]"):
    return a == b


@end
def both(a: "node[i]", b: "node[j]"):
    return a == b


def ring(size: int) -> Spec:
    slots = {"node": array(size, 0), "n": single(0)}
    return Spec("ring", slots, [pass_on, compare, tick], None, [apart, kept], [alike], [both])


SMALLEST = [
    "can never fire: pass_on, because node has 1 element, too few for node[me] and node[me+1]",
    "can never fire: compare, because node has 1 element, too few for node[me] and node[me+1] and"
    " node[me-1]",
    "no case in this scope, so nothing to check: apart, kept",
    "no case in this scope, so nothing to meet: alike",
    "no case in this scope, so every state is an end: both",
]


@pytest.mark.parametrize("how", [{}, {"engine": "reference"}, {"random_walks": 2}], ids=str)
def test_what_says_nothing_because_a_ring_is_too_small_is_named(how):
    result = groupcheck.check(ring(1), **how)
    assert result.document()["notes"][-5:] == SMALLEST
    assert facts(result)[-5:] == [("note", text) for text in SMALLEST]
    assert "pass_on, because node has 1 element" in " ".join(str(result).split())
    assert all(text in result.html() for text in SMALLEST)
    (two,) = [n for n in groupcheck.check(ring(2), **how).verdict.notes if "never fire" in n]
    assert two.startswith("can never fire: compare, because node has 2 elements")
    three = groupcheck.check(ring(3), **how).verdict.notes
    assert not any("never fire" in note or "no case" in note for note in three)


def test_an_invariant_that_asks_for_some_other_index_has_a_case_though_there_is_none():
    @invariant("some i", "some j")
    def pair(a: "node[i]", b: "node[j]"):
        return True

    spec = Spec("alone", {"node": array(1, 0)}, [], None, [pair], deadlock=False)
    result = groupcheck.check(spec, engine="reference")
    assert result.violated and not result.verdict.notes


def test_a_rule_that_cannot_fire_is_named_on_the_command_line(tmp_path, capsys):
    file = tmp_path / "rings.py"
    file.write_text(
        "from groupcheck.model.engine import Spec, array, rule\n"
        "@rule\ndef pass_on(node, next: 'node[me+1]'):\n    yield next, node\n"
        "ring = Spec('ring', {'node': array(1, 0)}, [pass_on], deadlock=False)\n"
    )
    assert cli.run(["check", f"{file}:ring", "--engine", "reference", "--json"]) == 0
    assert SMALLEST[0] in json.loads(capsys.readouterr().out)["notes"]
