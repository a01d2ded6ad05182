"""A variant of the protocol, as the doors see it: its scope, its spec, its faults, and the scopes
that show all of it.

A variant is a contract: scope, spec, families, faults and those it lacks (its scope refuses such a
fault with the reason, and `any_faults` does not spend it), its coordinator's rules, words, cover
scopes, and the real coordinator with which it is compared.
`tests/model/variants/test_variant_contract.py` and the tests that it names hold every variant to
it.

There is no agreement without execution. A variant names the scopes in which the real coordinator
executes every outcome of the model's (`executed`), the outcomes that are the model's own
bookkeeping, and those that no row executes yet (`unexecuted`). While there is one of the last kind,
`groupcheck conform` refuses the variant: an agreement would be a claim about rules that were never
run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve, field, frozen

from groupcheck.model.engine import Spec
from groupcheck.model.engine.verdict import Path, Step
from groupcheck.model.protocol.covers import Cover
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.transform import Transformation

UNWRITTEN = "nobody has written its rows"


@frozen
class Variant:
    """A contract: all that a protocol says of itself. One test holds every variant to it."""

    # The name on the command line, in snake_case.
    name: str
    # A few words for a list, and a paragraph that names the KIPs.
    title: str
    doc: str
    # `scope_type(**fields)` validates itself and raises `ScopeError`.
    scope_type: type[Any]
    # The spec at a scope, without invariants: those are a floor above.
    spec: Callable[[Any], Spec]
    # Fault -> what happens. No scope of the variant allows any other fault, `any_faults` included.
    faults: Mapping[str, str] = field(factory=dict)
    # Assignor -> what it does.
    assignors: Mapping[str, str] = field(factory=dict)
    # What a check with --progress changes: the spec without a bound on its runs and with the steps
    # that are fair. None: the variant cannot be checked for progress.
    progress: Transformation | None = None
    # Faults that it has only then -> what happens.
    progress_faults: Mapping[str, str] = field(factory=dict)
    # The families whose promises it owes, and whose known bugs it may have.
    families: tuple[Family, ...] = ()
    # Field or property of the scope that switches a feature on -> the family whose promises it owes
    # then, too.
    switched: Mapping[str, Family] = field(factory=dict)
    # Fault that others of its families have -> why this variant lacks it.
    lacks: Mapping[str, str] = field(factory=dict)
    # The names of the rules that the coordinator runs: on a request, on a timer, at the end of an
    # append. All others are the members' and the links'.
    coordinator: frozenset[str] = frozenset()
    # `tell(step, before, after)` says one transition in words; states map slot to value.
    tell: Callable[[Step, Mapping[str, Any], Mapping[str, Any]], str] | None = None
    # `story(path)` gives the data of the picture.
    story: Callable[[Path], Any] | None = None
    # Fault -> the outcomes each of which always spends one of it. In a scope in which the fault
    # can be spent, at least one of them fires.
    spent_by: Mapping[str, tuple[str, ...]] = field(factory=dict)
    # Scopes that show it, as fields of the scope type: the base's, the smallest first, then those
    # that a feature needs besides.
    shows: tuple[Mapping[str, Any], ...] = ()
    # Those that together fire every outcome and meet every goal, except those in `unreached`.
    covers: tuple[Cover, ...] = ()
    # Outcome or goal -> why no scope reaches it.
    unreached: Mapping[str, str] = field(factory=dict)
    # Which real coordinator `groupcheck conform` executes beside this one; empty if none.
    real: str = ""
    # Why there is no real coordinator to execute, where `real` is empty.
    unreal: str = "nobody has named real code that does the same"
    # Outcome of the coordinator -> why `groupcheck conform` does not execute it yet. While there
    # is one, `groupcheck conform` refuses the variant.
    unexecuted: Mapping[str, str] = field(factory=dict)
    # Outcome of the coordinator that the model tells apart for itself, where the real coordinator
    # does nothing, or nothing else -> why.
    bookkeeping: Mapping[str, str] = field(factory=dict)
    # Small scopes, as arguments of `conform`, in which the real coordinator together executes
    # every outcome of the coordinator.
    executed: tuple[Mapping[str, Any], ...] = ()
    # The scope of `conform` where none is asked for, as its arguments; `executed` is added. Empty:
    # 2 members, 2 generations, every fault of the coordinator.
    asked: Mapping[str, Any] = field(factory=dict)
    # Larger scopes, as arguments of `conform`, whose rows were all executed on Kafka 4.3.0 and
    # agree, with every outcome seen. `make nightly` executes them again.
    conformed: tuple[Mapping[str, Any], ...] = ()
    # Which real member `groupcheck conform --side member` executes beside the members of this one;
    # empty if none.
    real_member: str = ""
    # Why there is no real member to execute, and what executes its steps instead, where
    # `real_member` is empty.
    unreal_member: str = UNWRITTEN
    # The generations of `conform --side member` where none are asked for.
    member_generations: int = 2
    # Fields of the scope, one mapping for each kind of member that the variant has: its rows are
    # those of the first member of such a scope.
    member_scopes: tuple[Mapping[str, Any], ...] = ({"members": 1, "partitions": 2},)
    # Fields of scopes of one member whose subscription and topics change.
    member_changing: tuple[Mapping[str, Any], ...] = ()
    # Outcome of the members' rules that no row executes on the real member -> why.
    member_apart: Mapping[str, str] = field(factory=dict)

    @property
    def every_family(self) -> tuple[Family, ...]:
        """The families whose promises it owes at some scope."""
        return (*self.families, *self.switched.values())

    def families_at(self, scope: Any) -> tuple[Family, ...]:
        """The families whose promises it owes at a scope."""
        on = [family for name, family in self.switched.items() if getattr(scope, name)]
        return (*self.families, *on)

    @property
    def for_progress(self) -> Variant:
        """The variant with the faults that it has only in a check with --progress."""
        faults = {**self.faults, **self.progress_faults}
        spent_by = {**{fault: (fault,) for fault in self.progress_faults}, **self.spent_by}
        return evolve(self, faults=faults, spent_by=spent_by)

    @property
    def coordinator_faults(self) -> tuple[str, ...]:
        """The faults that the coordinator's own rules spend: timers, appends, fail-over."""
        return tuple(
            fault
            for fault in self.faults
            if (outcomes := self.spent_by.get(fault))
            and all(name.partition(":")[0] in self.coordinator for name in outcomes)
        )

    def cover_of(self, name: str) -> Cover | None:
        """The first cover scope that fires this outcome or meets this goal; None if none does."""
        return next((cover for cover in self.covers if name in cover.reaches), None)
