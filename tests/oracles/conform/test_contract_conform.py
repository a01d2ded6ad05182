"""The contract of every variant with real code: each outcome of its coordinator is executed on the
real coordinator and agrees, or the variant says that it is not, and is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import attrs
import pytest
from thinned import Thinned

from groupcheck.model.engine import Spec, UserError, rule
from groupcheck.model.engine.rule import Rule
from groupcheck.model.engine.staged import explore
from groupcheck.model.engine.step import Semantics
from groupcheck.model.protocol.classic.group import Seat
from groupcheck.model.protocol.classic.presets import PRESETS
from groupcheck.model.protocol.transform import extended, rebuilt
from groupcheck.model.protocol.variant import Variant
from groupcheck.model.variants import load, names
from groupcheck.oracles.conform.conformance import conform
from groupcheck.oracles.explain import subject
from groupcheck.oracles.kafka.driver import Driver

CLASSIC = load("classic")
# Outcomes that need more members than rows have: `test_static_walks.py` executes them, with the
# rules of static_membership.
IN_ROUNDS = {
    "rebalance_timeout:missing",
    "rebalance_timeout:postponed",
    "takeover_committed:answered_in_round",
    "takeover_committed:unanswered_in_round",
    "takeover_failed:reverted_in_round",
}
# `test_mixed_walks.py` does the same with the rules of mixed_membership.
BESIDE_DYNAMIC = IN_ROUNDS - {"rebalance_timeout:postponed"}
# Outcomes of twins that need more of them than a row has, or that are not about twins: their rules
# are those of static_membership, where they are executed.
OF_STATIC_MEMBERS = IN_ROUNDS | {
    "elect",
    "fail_over",
    "join_group:too_many",
    "new_member_timeout",
    "rebalance_timeout:rejected",
    "record_plan",
    "reload",
    "session_timeout:member",
    "sync_timeout",
}
# What a former coordinator answers in groups that rows of one member do not have, and what it does
# only with a bug.
AT_FORMER = {
    "former_join_group:inconsistent",
    "former_join_group:too_many",
    "former_offset_commit:accepted",
}
BY_SCHEDULES = {
    "triggers": AT_FORMER,
    "upgrade": {"elect"},
    "twins": OF_STATIC_MEMBERS,
    "static_membership": IN_ROUNDS,
    "cooperative_static": IN_ROUNDS,
    # `test_static_topics_walks.py` executes the takeovers, whose rule is its own.
    "static_triggers": IN_ROUNDS,
    "mixed_membership": BESIDE_DYNAMIC,
    "cooperative_mixed": BESIDE_DYNAMIC,
}

# Rules of processes that look at a slot of the coordinator and change only what is their own in it:
# `Seats.listed`, what a process will list in its next JoinGroup, of which the coordinator has not
# heard. A worker's protocol is what it lists, and `join_answer` knows by which it joined.
NOT_THE_COORDINATORS = {
    "triggers": {"change_assignors"},
    "static_triggers": {"change_assignors"},
    "cooperative_triggers": {"change_assignors"},
    "upgrade": {"bounce"},
    "connect_versions": {
        "bounce",
        "delay_request",
        "join_answer",
        "lose_response",
        "send_join",
    },
}
# A scope in which each of them fires.
FIRING: dict[str, dict[str, Any]] = {
    "triggers": {"members": 1, "protocols": "range", "protocols_after": "range,sticky"},
    "upgrade": {"members": 1},
    "connect_versions": {"members": 2},
}


def coordinator_rules(variant: Variant, **scope: Any) -> list[Rule]:
    every = variant.spec(variant.scope_type(**scope)).rules
    return [r for r in every if r.name in variant.coordinator]


def in_phases(scope: Mapping[str, Any]) -> bool:
    return scope.get("settings", {}).get("phases") == "yes"


def same_rules(variant: Variant, **scope: Any) -> set[str]:
    """The rules of its coordinator that one of its bases has as they are. A base is a variant that
    shows one of its families; cooperative and static members make other groups of the same rules,
    so a base has members of its kind.
    """
    kind = (variant.scope_type.cooperative, variant.scope_type.static)
    bases = [load(name) for name in {f.base for f in variant.families} - {variant.name}]
    alike = [b for b in bases if (b.scope_type.cooperative, b.scope_type.static) == kind]
    known = [r for base in alike if base.executed for r in coordinator_rules(base, **scope)]
    return {r.name for r in coordinator_rules(variant, **scope) if r in known}


def own_outcomes(variant: Variant, phases: bool) -> set[str]:
    """The outcomes of its coordinator's own rules."""
    same = same_rules(variant, phases=phases)
    rules = coordinator_rules(variant, phases=phases)
    return {name for r in rules for name in r.names if r.name not in same}


def never_executed(variant: Variant, coordinator: Driver) -> set[str]:
    """The outcomes of its coordinator's own rules that none of the scopes executes which it names
    for that; `make nightly` executes all rows of these scopes. Those of a fail-over in its phases
    count where one of the scopes is about them.
    """
    left = own_outcomes(variant, any(map(in_phases, variant.executed)))
    for scope in variant.executed:
        tour = partial(Thinned, same=same_rules(variant, phases=in_phases(scope)))
        found = conform(variant.name, kafka="4.3.0", driver=coordinator, tour=tour, **scope)
        assert (found.verdict, found.reason) == ("agrees", ""), scope
        left -= own_outcomes(variant, in_phases(scope)) - set(found.never_executed)
    return left - set(variant.bookkeeping)


def undeclared(variant: Variant) -> set[str]:
    """The outcomes and rules of its coordinator that differ from those of the family's base, which
    the real coordinator executes, without being declared as not executed.
    """
    base = coordinator_rules(load(variant.families[0].base))
    known = {name for r in base for name in r.names}
    mine = coordinator_rules(variant)
    changed = {r.name for r in mine if r not in base}
    declared = {name.partition(":")[0] for name in variant.unexecuted}
    outcomes = {name for r in mine for name in r.names}
    return (outcomes - known - set(variant.unexecuted)) | (changed - declared)


def forgotten(variant: Variant) -> set[str]:
    """The rules that touch the coordinator's memory and are not named as the coordinator's: nobody
    would miss a row that executes them.
    """
    base = load(variant.families[0].base)
    touched: dict[bool, set[str]] = {True: set(), False: set()}
    for r in base.spec(base.scope_type()).rules:
        touched[r.name in base.coordinator] |= {*r.slots}
    memory = touched[True] - touched[False]
    assert memory
    every = variant.spec(variant.scope_type()).rules
    return {r.name for r in every if memory & {*r.slots}} - variant.coordinator


@pytest.mark.parametrize("name", [name for name in names() if load(name).coordinator])
def test_every_rule_that_touches_the_coordinators_memory_is_the_coordinators(name: str) -> None:
    assert forgotten(load(name)) == NOT_THE_COORDINATORS.get(name, set())


@pytest.mark.parametrize("name", FIRING)
def test_rules_of_processes_leave_alone_what_the_coordinator_remembers(name: str) -> None:
    def looked(before: Any, label: str, after: Any, scope: Any) -> Any:
        own = attrs.evolve(after["seats"], listed=before["seats"].listed)
        assert own == before["seats"], label
        return after

    variant, mine = load(name), NOT_THE_COORDINATORS[name]
    spec = variant.spec(variant.scope_type(any_faults=1, **FIRING[name]))
    watched = [extended(r, looked) for r in spec.rules if r.name in mine]
    fired = explore(rebuilt(spec, watched)).rules
    assert mine == {label.partition(":")[0] for label, count in fired.items() if count} & mine


def test_a_process_that_is_configured_anew_leaves_alone_what_the_coordinator_remembers() -> None:
    """`change_assignors` stands beside the coordinator's seats without being the coordinator's."""
    variant = load("triggers")
    lists = {"protocols": "range", "protocols_after": "range,sticky"}
    scope = variant.scope_type(members=1, **lists, faults={"change_assignors": 1})
    semantics = Semantics(variant.spec(scope))
    instance = semantics.instance("change_assignors", 0)
    for _, _, start in semantics.starts():
        (before,) = semantics.named(start)["seats"]
        ((_, state, _),) = semantics.firings(instance, start)
        (after,) = semantics.named(state)["seats"]
        assert after == attrs.evolve(before, listed=("range", "sticky")) != before
        known = attrs.evolve(before, ids=((0, Seat()),))
        remembered = semantics.state({**semantics.named(start), "seats": (known,)})
        assert not list(semantics.firings(instance, remembered))


# A variant of the members alone: the coordinator is that of a base. The scopes of `classic` are
# executed in `test_conform_classic.py`.
MEMBERS_ALONE = ["callbacks", "cooperative_callbacks"]
OWN = [name for name in names() if load(name).executed and name not in MEMBERS_ALONE]
OWN.remove("classic")


@pytest.mark.parametrize("name", MEMBERS_ALONE)
def test_a_variant_of_the_members_alone_has_the_coordinator_of_a_base(name: str) -> None:
    variant = load(name)
    assert {r.name for r in coordinator_rules(variant)} == same_rules(variant)
    assert any(load(f.base).executed == variant.executed for f in variant.families)


COMBINED = [preset.name for preset in PRESETS if len(preset.features) > 1]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.night] * (n in COMBINED)) for n in OWN]
)
def test_every_outcome_of_the_coordinator_is_executed(name: str, coordinator: Driver) -> None:
    variant = load(name)
    assert variant.real and not variant.unexecuted
    others = BY_SCHEDULES.get(name, set())
    same = same_rules(variant, phases=any(map(in_phases, variant.executed)))
    expected = {outcome for outcome in others if outcome.partition(":")[0] not in same}
    assert never_executed(variant, coordinator) == expected


def test_every_outcome_of_a_fail_over_in_its_phases_is_executed(coordinator: Driver) -> None:
    """`test_conform_classic.py` executes the others."""
    scopes = tuple(scope for scope in CLASSIC.executed if in_phases(scope))
    found = never_executed(attrs.evolve(CLASSIC, executed=scopes), coordinator)
    assert found - own_outcomes(CLASSIC, phases=False) == AT_FORMER


@pytest.mark.parametrize(
    ("executed", "same"),
    [
        ("static_membership", "cooperative_static"),
        ("mixed_membership", "cooperative_mixed"),
        ("static_membership", "twins"),
        ("classic", "upgrade"),
    ],
)
def test_what_schedules_execute_is_done_by_the_same_rules_in_both_variants(
    executed: str, same: str
) -> None:
    wanted = {outcome.partition(":")[0] for outcome in BY_SCHEDULES[same]}
    one, other = (
        [r for r in coordinator_rules(load(name)) if r.name in wanted] for name in (executed, same)
    )
    assert len(one) == len(wanted)
    assert one == other


@pytest.mark.parametrize("name", [name for name in names() if not load(name).executed])
def test_a_variant_that_is_not_executed_says_so_and_is_refused(name: str) -> None:
    variant = load(name)
    assert variant.unexecuted or not variant.real
    with pytest.raises(UserError) as refused:
        conform(name, kafka="4.3.0")
    if variant.real:
        assert undeclared(variant) == set()
        assert all(outcome in str(refused.value) for outcome in variant.unexecuted)
    else:
        assert variant.unreal in str(refused.value)


@rule(when=lambda core: core.generation > 100)
def idle(core: Any) -> Iterator[Any]:
    """A rule of the coordinator that no row reaches."""
    yield core


@pytest.fixture
def with_an_idle_rule(monkeypatch: pytest.MonkeyPatch) -> Variant:
    def spec(scope: Any) -> Spec:
        return rebuilt(CLASSIC.spec(scope), [], [idle])

    variant = attrs.evolve(CLASSIC, spec=spec, coordinator=CLASSIC.coordinator | {"idle"})
    monkeypatch.setattr(subject, "load", lambda name: variant)
    return variant


def test_a_new_rule_of_the_coordinator_that_no_row_reaches_is_seen(
    with_an_idle_rule: Variant, coordinator: Driver
) -> None:
    one = attrs.evolve(with_an_idle_rule, executed=CLASSIC.executed[:1])
    assert "idle" in never_executed(one, coordinator)
    assert undeclared(with_an_idle_rule) == {"idle"}


def test_a_new_rule_that_is_not_named_as_the_coordinators_is_seen(
    with_an_idle_rule: Variant,
) -> None:
    variant = attrs.evolve(with_an_idle_rule, coordinator=CLASSIC.coordinator)
    assert undeclared(variant) == set() and forgotten(variant) == {"idle"}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"real": ""}, "classic cannot be compared with real code: nobody has named real code"),
        (
            {"unexecuted": {"elect": "nobody leads"}},
            r"no row executes elect on the real coordinator \(nobody leads\)",
        ),
    ],
)
def test_what_is_not_executed_is_no_agreement(
    changed: dict[str, Any], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject, "load", lambda name: attrs.evolve(CLASSIC, **changed))
    with pytest.raises(UserError, match=told):
        conform("classic", kafka="4.3.0")
