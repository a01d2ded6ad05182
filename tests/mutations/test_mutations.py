"""Each known bug falls to the promise that it names, alone, and at a pinned depth; it is told,
drawn and exported. The healthy model keeps all promises in the same scopes.
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import attrs
import pytest
from printed_text import TRANSCRIPTS, timeless

import groupcheck
from groupcheck import CheckResult
from groupcheck.invariants.registry import for_families
from groupcheck.model.engine import Limits, Spec, SpecError, UserError, reference
from groupcheck.model.engine.staged import explore
from groupcheck.model.engine.verdict import HOLDS, UNKNOWN, VIOLATED
from groupcheck.model.mutations import Mutation, all_mutations, mutation
from groupcheck.model.protocol.classic import coordinator
from groupcheck.model.protocol.mutation import seeded
from groupcheck.model.protocol.story import Message
from groupcheck.model.protocol.transform import rebuilt, rewritten
from groupcheck.model.variants import load, names

# How deep each bug is found: `pytest tests/mutations --rewrite` writes it.
PINNED = Path(__file__).with_name("depths.json")
TOLD = TRANSCRIPTS / "mutations"
DEPTHS: dict[str, int] = json.loads(PINNED.read_text("utf-8"))
EVERY = all_mutations()


def promised(bug: Mutation, scope: dict[str, object]) -> Spec:
    found = load(bug.family.base)
    spec = found.spec(found.scope_type(**scope))
    promises = for_families(found.families_at(spec.scope))
    return attrs.evolve(spec, invariants=promises.invariants, views=promises.views)


def test_each_bug_has_a_pinned_depth(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--rewrite"):
        found = {bug.id: explore(bug.apply(promised(bug, dict(bug.scope)))) for bug in EVERY}
        depths = {id: verdict.violations[0].depth for id, verdict in sorted(found.items())}
        PINNED.write_text(json.dumps(depths, indent=1) + "\n", "utf-8")
        DEPTHS.clear()
        DEPTHS.update(depths)
    assert list(DEPTHS) == sorted(bug.id for bug in EVERY), "pytest tests/mutations --rewrite"


def named(found: Mutation) -> str:
    return found.id


def by_night(bugs: Iterable[Mutation]) -> list[Any]:
    """One bug of each promise, and at night the others, too: they are told in the same words."""
    promises: set[str] = set()
    found = []
    for bug in bugs:
        late = bug.invariant in promises
        promises.add(bug.invariant)
        found.append(pytest.param(bug, marks=pytest.mark.night) if late else bug)
    return found


@cache
def checked(id: str) -> CheckResult:
    """The bug as the command checks it, in its own scope: one search for all that is asked."""
    return groupcheck.check(mutation(id).family.base, mutation=id)


@pytest.mark.parametrize("bug", EVERY, ids=named)
def test_a_mutation_falls_to_the_invariant_that_it_names_and_to_no_other(bug: Mutation) -> None:
    verdict = checked(bug.id).verdict
    assert verdict.verdict == VIOLATED
    assert [(v.invariant, v.depth) for v in verdict.violations] == [(bug.invariant, DEPTHS[bug.id])]


@pytest.mark.parametrize("bug", by_night(EVERY), ids=named)
def test_a_mutation_is_told_drawn_and_exported(bug: Mutation) -> None:
    result = checked(bug.id)
    [told] = [e for e in result.explanations if e.invariant == result.subject.mutation.invariant]
    assert [line.step for line in told.story.lines] == list(range(1, told.depth + 1))
    assert told.evidence
    assert told.trouble == ""
    lanes = {lane.name for lane in told.story.lanes}
    messages = [e for e in told.story.events if isinstance(e, Message)]
    assert {x for e in messages for x in (e.source, e.target)} <= lanes
    assert told.story.events
    assert told.story.marks[-1].step == told.depth
    picture = ElementTree.fromstring(result.svg())
    lines = list(picture.iter("{http://www.w3.org/2000/svg}line"))
    assert len(lines) >= len(lanes) + bool(messages)
    assert "#unserializable" not in json.dumps(result.itf())
    names: dict[str, Any] = {}
    exec(compile(result.pytest(), "exported", "exec"), names)
    names[f"test_{result.explanations[0].invariant}_breaks"]()


@pytest.mark.parametrize("bug", EVERY, ids=named)
def test_a_mutation_prints_what_its_transcript_says(
    bug: Mutation, request: pytest.FixtureRequest
) -> None:
    """As `test_transcripts.py` compares other commands, and without a search of its own."""
    result, path = checked(bug.id), TOLD / f"{bug.id}.txt"
    command = f"$ groupcheck check {bug.family.base} --mutation {bug.id}"
    printed = f"{command}\n{timeless(str(result))}[exit {result.exit_code}]\n"
    if request.config.getoption("--rewrite"):
        path.write_text(printed, "utf-8")
    assert printed == path.read_text("utf-8") and result.exit_code == 1


def test_every_transcript_is_of_a_mutation() -> None:
    assert {path.stem for path in TOLD.iterdir()} == {bug.id for bug in EVERY}


@pytest.mark.parametrize(
    "id",
    [
        "keeps_partitions_when_lost",
        "leader_forgotten",
        "size_cap_off_by_one",
        "record_ignored_on_load",
        "no_sync_deadline",
    ],
)
def test_both_engines_tell_the_same_of_a_bug(id: str) -> None:
    bug = mutation(id)
    spec = bug.apply(promised(bug, dict(bug.scope)))
    fast, plain = explore(spec), reference.explore(spec)
    assert (fast.states, fast.transitions, fast.rules) == (
        plain.states,
        plain.transitions,
        plain.rules,
    )
    assert [(v.invariant, v.depth) for v in fast.violations] == [
        (v.invariant, v.depth) for v in plain.violations
    ]


# Family and scope -> the bugs that are shown there.
SHOWN: dict[tuple[str, str], list[Mutation]] = {}


def place_of(bug: Mutation) -> tuple[str, str]:
    return bug.family.base, repr(sorted(bug.scope.items(), key=str))


for one in EVERY:
    SHOWN.setdefault(place_of(one), []).append(one)


def of_scope(bug: Mutation) -> str:
    return f"{bug.family.base}-{bug.scope}"


@pytest.mark.parametrize("bug", by_night(bugs[0] for bugs in SHOWN.values()), ids=of_scope)
def test_the_healthy_model_keeps_all_promises_as_deep_as_a_mutation_breaks_one(
    bug: Mutation,
) -> None:
    bugs = SHOWN[place_of(bug)]
    deepest = max(DEPTHS[bug.id] for bug in bugs)
    verdict = explore(promised(bugs[0], dict(bugs[0].scope)), Limits(depth=deepest))
    assert verdict.verdict in (HOLDS, UNKNOWN) and verdict.violations == ()
    assert verdict.verdict == HOLDS or verdict.depth >= deepest or verdict.border


@pytest.mark.night
@pytest.mark.parametrize("bugs", SHOWN.values(), ids=lambda bugs: of_scope(bugs[0]))
def test_the_healthy_model_keeps_all_promises_where_a_mutation_breaks_one(
    bugs: list[Mutation],
) -> None:
    verdict = explore(promised(bugs[0], dict(bugs[0].scope)))
    assert (verdict.verdict, verdict.violations) in ((HOLDS, ()), (UNKNOWN, ()))
    assert not verdict.reason.startswith("stopped")


def test_every_promise_that_a_bug_names_exists() -> None:
    for bug in EVERY:
        families = load(bug.family.base).every_family
        assert bug.invariant in {p.name for p in for_families(families).invariants}


@pytest.mark.parametrize("name", names())
def test_every_promise_is_shown_to_be_breakable(name: str) -> None:
    """In the variant itself, or, where a feature has another form of the rule that the bug changes,
    in the base of its families.
    """
    for family in load(name).every_family:
        promised = {p.name for p in for_families((family,)).invariants}
        assert promised <= broken_in(family.base)


@cache
def broken_in(base: str) -> set[str]:
    """The promises that some bug of this variant breaks."""
    return {m.invariant for m in EVERY if m.concerns(load(base))}


def test_an_unknown_mutation_is_named_with_the_nearest_one() -> None:
    with pytest.raises(UserError, match="did you mean heartbeat_ignores_generation"):
        mutation("heartbeat_ignores_generations")
    assert mutation("size_cap_off_by_one").ticket == "KAFKA-9885"


def test_a_seeded_rule_keeps_the_name_the_slots_and_the_labels_of_the_healthy_one() -> None:
    for bug in EVERY:
        spec = promised(bug, dict(bug.scope))
        healthy = {r.name: r for r in spec.rules}
        for rule in (r for r in bug.apply(spec).rules if r.name in bug.rules):
            same = healthy[rule.name]
            assert (rule.slots, rule.labels, rule.urgent, rule.takes_me) == (
                same.slots,
                same.labels,
                same.urgent,
                same.takes_me,
            )


def test_a_seeded_rule_with_other_parameters_is_refused() -> None:
    with pytest.raises(AssertionError, match="heartbeat"):
        seeded(coordinator.heartbeat)(lambda core, seats: iter(()))


def test_a_bug_of_a_rule_that_a_feature_has_changed_is_refused() -> None:
    bug = mutation("member_without_id")
    base = load(bug.family.base)
    (rule,) = (seed.rule for seed in bug.seeds)

    def featured(scope: object) -> Spec:
        (healthy,) = (r for r in base.spec(scope).rules if r.name == rule.name)
        return rebuilt(base.spec(scope), [rewritten(healthy, lambda *slots: healthy.call(*slots))])

    variant = attrs.evolve(base, spec=featured)
    assert bug.concerns(base) and not bug.concerns(variant)
    with pytest.raises(SpecError, match="member_without_id changes the rule join_group"):
        bug.apply(featured(base.scope_type()))
