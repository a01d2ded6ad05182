"""A feature of the classic group: one value that says all of it, in one file.

How to write one: docs/howto/feature.md. What goes wrong:

- A rule that is made anew for each spec is unlike itself, and `conform --live` refuses it: cache
  what makes it.
- A feature takes the rule that the spec has (`transform.own`), not the one of the module: another
  feature may have changed it. If it replaces a rule whole, it comes before those that change it
  (`after`, on their side).
- A promise names rules, so that a feature leaves those of the coordinator in place even if nobody
  asks for them any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from attrs import field, frozen

from groupcheck.model.engine import Liveness
from groupcheck.model.engine.promises import Predicate, StepInvariant
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.classic.step_words import Words
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.mutation import Mutation
from groupcheck.model.protocol.transform import Transformation

Scopes = tuple[Mapping[str, Any], ...]
Promise = Predicate | StepInvariant | Liveness
Followed = Literal["live", "whole"]
CHANGE_THE_BASE = (
    "static",
    "mixed",
    "twins",
    "cooperative",
    "triggers",
    "offsets",
    "callbacks",
    "upgrade",
    "round_count",
)
"""Features that change, or replace, rules which the features after them take as they find them."""


@frozen(kw_only=True)
class Feature:
    """All that a feature says of itself. A group has the base's and those of its features; where
    two say something of the same name, the later one counts.
    """

    # As `--with` takes it, in snake_case.
    name: str
    # A few words, to come after "Classic group:".
    title: str
    # A sentence or two that name the KIPs or Kafka's classes.
    doc: str
    # The spec with the feature, from the spec without it.
    change: Transformation
    # Features that it needs: asking for it brings them, too. They come before it.
    over: tuple[str, ...] = ()
    # Features that come before it where they are there.
    after: tuple[str, ...] = ()
    # It is what the features `over` need of each other: it is there where all of them are, and
    # nobody asks for it.
    joint: bool = False
    # Feature -> why no group has both.
    refuses: Mapping[str, str] = field(factory=dict)

    # The fields and bounds that it adds; None: no others.
    scope_type: type[Scope] | None = None
    # The families whose promises a group with it owes, and whose known bugs it may have.
    families: tuple[Family, ...] = ()
    # Its promises, if they do not stand in `invariants`: those of a feature of another package.
    # Each says `of=` one of its families.
    promises: tuple[Promise, ...] = ()
    # Families of features that it is over, whose promises no group with it owes.
    not_owed: tuple[Family, ...] = ()
    # Known bugs of software that has it; those of a family with many stand in `model.mutations`.
    bugs: tuple[Mutation, ...] = ()
    # The words for its outcomes alone.
    words: Words = field(factory=Words)
    # The rules that it adds and the coordinator runs.
    coordinator: tuple[Rule, ...] = ()
    # Fault -> the outcomes each of which always spends one of it, where they are not the rule of
    # the fault's name.
    spent_by: Mapping[str, tuple[str, ...]] = field(factory=dict)
    # What happens with the styles of commits, behind what the base does with them.
    styles: Transformation | None = None
    # What a check with --progress changes, behind what it changes in the base.
    progress: Transformation | None = None
    # Why there is no such check; empty if there is one.
    no_progress: str = ""

    # The scopes that show it, as fields of the scope type; what they reach is generated.
    shows: Scopes = ()
    # Outcome or goal -> why no scope reaches it. Here, in `bookkeeping` and in `member_apart` an
    # empty reason takes back what an earlier feature says.
    unreached: Mapping[str, str] = field(factory=dict)

    # What Kafka's code executes; `Variant` says what the fields of these names mean. None: as it is
    # without the feature.
    real: str | None = None
    unreal: str | None = None
    asked: Mapping[str, Any] | None = None
    executed: Scopes | None = None
    conformed: Scopes | None = None
    bookkeeping: Mapping[str, str] = field(factory=dict)
    # Rule -> why it never fires in a simulation. `oracles/simulate/drives.py` says when the others
    # do; a group with a rule of neither kind is refused.
    not_simulated: Mapping[str, str] = field(factory=dict)
    # The modes of `conform` that follow what it adds: requests to a broker (--live), whole groups
    # (--whole). Any other mode refuses a group with it.
    followed: tuple[Followed, ...] = ()
    member_generations: int | None = None
    member_scopes: Scopes | None = None
    member_changing: Scopes | None = None
    member_apart: Mapping[str, str] = field(factory=dict)
