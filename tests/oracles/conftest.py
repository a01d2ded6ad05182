"""A small variant for the doors to stand before: two-phase commit with one fault and one mutation,
in place of what groupcheck has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest
from jsonschema import Draft202012Validator
from small_scope import Scope
from two_phase_commit import (
    Coordinator,
    Manager,
    Network,
    committed,
    consistent,
    decided,
    give_up,
    note_prepared,
    obey,
    prepare,
)

from groupcheck.invariants.registry import Promises
from groupcheck.model.engine import Spec, array, evolve, rule, single
from groupcheck.model.mutations import Mutation
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.mutation import MutatedRule
from groupcheck.model.protocol.variant import Variant
from groupcheck.oracles.check import bugs
from groupcheck.oracles.command_line import listing
from groupcheck.oracles.command_line.documents import documents
from groupcheck.oracles.explain import subject


def all_prepared(coordinator: Coordinator, scope: Scope) -> bool:
    return len(coordinator.prepared) == scope.members


@rule("commit", "abort")
def decide(coordinator, network, scope):

    if coordinator.phase == "init":
        if all_prepared(coordinator, scope):
            yield (
                "commit",
                evolve(coordinator, phase="committed"),
                evolve(network, decision="committed"),
            )
        yield "abort", evolve(coordinator, phase="aborted"), evolve(network, decision="aborted")


@rule("commit", "abort")
def decide_hastily(coordinator, network, scope):
    if coordinator.phase == "init":
        if len(coordinator.prepared) >= scope.members - 1:
            yield (
                "commit",
                evolve(coordinator, phase="committed"),
                evolve(network, decision="committed"),
            )
        yield "abort", evolve(coordinator, phase="aborted"), evolve(network, decision="aborted")


def spec(scope: Scope) -> Spec:
    slots = {
        "coordinator": single(Coordinator()),
        "network": single(Network()),
        "manager": array(scope.members, Manager()),
    }
    return Spec(
        "twophase", slots, (prepare, give_up, note_prepared, decide, obey), scope, ends=[decided]
    )


FAMILY = Family("atomic commit", base="twophase")
VARIANT = Variant(
    "twophase",
    "Two-phase commit",
    "All or nothing.",
    Scope,
    spec,
    {"crash": "It stops."},
    {"range": "In turn."},
    families=(FAMILY,),
)
PROMISES = Promises((consistent,), (committed,))


HASTY = Mutation(
    "hasty",
    "EXAMPLE-1",
    "commits too early",
    FAMILY,
    "consistent",
    "",
    {"members": 3},
    (MutatedRule(attrs.evolve(decide_hastily, name="decide"), decide),),
)
HARMLESS = Mutation(
    "harmless", "EXAMPLE-2", "nothing", FAMILY, "consistent", "", {}, (MutatedRule(decide, decide),)
)


@pytest.fixture
def small_world(monkeypatch: pytest.MonkeyPatch) -> None:
    """One variant, `twophase`, with one mutation, `hasty`."""
    for module in (subject, listing):
        monkeypatch.setattr(module, "names", lambda: ["twophase"])
        monkeypatch.setattr(module, "every_name", lambda: ["twophase"], raising=False)
        monkeypatch.setattr(module, "load", lambda name: VARIANT)
        monkeypatch.setattr(module, "promises", lambda name: PROMISES)
    for module in (subject, listing, bugs):
        monkeypatch.setattr(module, "every_mutation", lambda: (HASTY,))


@pytest.fixture
def only_harmless(small_world: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """No mutation but one that changes nothing."""
    for module in (bugs, subject):
        monkeypatch.setattr(module, "every_mutation", lambda: (HARMLESS,))


@pytest.fixture(scope="session")
def misfits() -> Callable[[Any], list[str]]:
    """What in a document is not as its JSON Schema says. A document without a field `schema` is
    judged by the schema of that name: `misfits(document, "bugs")`.
    """
    judges = {one.title: Draft202012Validator(one.schema) for one in documents()}

    def found(document: Any, name: str = "") -> list[str]:
        judge = judges[f"groupcheck.{name}" if name else document["schema"]]
        return [f"{error.json_path}: {error.message}" for error in judge.iter_errors(document)]

    return found
