"""`groupcheck conform`: compares the model's coordinator with the real one; the result of a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.variant import Variant
from groupcheck.oracles.conform import conform_diff_types, conform_types
from groupcheck.oracles.conform.abstractions import ABSTRACTIONS
from groupcheck.oracles.conform.conform_types import Agreement
from groupcheck.oracles.conform.promises import Finding
from groupcheck.oracles.conform.row_results import (
    MAX_DIFFERENCES,
    Counts,
    Difference,
    Ledger,
    Listed,
)
from groupcheck.oracles.conform.rows import Rows
from groupcheck.oracles.conform.short_histories import search
from groupcheck.oracles.conform.shown import (
    cause_shown,
    difference_shown,
    finding_shown,
    input_shown,
    scope_shown,
    situations_shown,
    unseen_shown,
)
from groupcheck.oracles.conform.situations.running import Executed, execute
from groupcheck.oracles.conform.tour import Tour
from groupcheck.oracles.conform.transcript import model_seen
from groupcheck.oracles.conform.versions_differ import Change, Changes, VersionTour
from groupcheck.oracles.explain.subject import subject, variant_named
from groupcheck.oracles.explain.unknown import one_of
from groupcheck.oracles.kafka.coverage.coverage_types import Coverage
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.own_build import OwnBuild
from groupcheck.oracles.kafka.side_by_side import side_by_side
from groupcheck.oracles.kafka.versions import known
from groupcheck.oracles.processes.supervisor import INTERRUPTED, until_interrupted
from groupcheck.oracles.show.json_schemas import ABSENT, document

SCHEMA = "groupcheck.conform/1"
DIFF_SCHEMA = "groupcheck.conform-diff/1"
MEMBERS, GENERATIONS = 2, 2
ANY = 99  # a fault that may happen may happen any number of times
UNSEEN_SHOWN = 100  # outcomes never seen that a document lists


@frozen
class Toured:
    """One scope of a run, and its share of the counts."""

    scope: Scope
    faults: tuple[str, ...]
    rows: int
    executed: int
    memories: int
    real_memories: int

    def shown(self) -> conform_types.TouredScope:
        """The scope as the document has it."""
        return conform_types.TouredScope(
            scope=scope_shown(self.scope, self.faults),
            rows=self.rows,
            executed=self.executed,
            memories=self.memories,
            real_memories=self.real_memories,
        )


@frozen
class Conformance:
    """The result of a run."""

    variant: str
    # The scope that was asked for, and the small scopes for outcomes that cannot occur in it.
    toured: tuple[Toured, ...]
    kafka: str
    mutation: str | None
    seed: int
    ledger: Ledger
    seconds: float
    # Were the promises of the coordinator checked on the real memory?
    asks: bool = False
    # Outcomes of the coordinator that fired in no row that agrees.
    never_executed: tuple[str, ...] = ()
    # What became of each situation; None if none was executed.
    situations: tuple[Executed, ...] | None = None

    @property
    def scope(self) -> Scope:
        """The scope that was asked for."""
        return self.toured[0].scope

    @property
    def faults(self) -> tuple[str, ...]:
        return self.toured[0].faults

    @property
    def counts(self) -> Counts:
        return self.ledger.counts

    @property
    def differing(self) -> int:
        """The number of rows on which they differ."""
        return self.ledger.differing

    @property
    def differences(self) -> tuple[Difference, ...]:
        """The first of the rows that differ."""
        return tuple(self.ledger.differences)

    @property
    def unrealizable(self) -> Mapping[str, int]:
        """Reason -> how many rows were not executed for it."""
        return self.ledger.unrealizable

    @property
    def asked(self) -> int | None:
        """How often the promises were asked of the real memory; None if they were not."""
        return self.ledger.asked if self.asks else None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The promises that the real coordinator breaks."""
        return tuple(f for _, f in sorted(self.ledger.findings.items())) if self.asks else ()

    @property
    def listed(self) -> tuple[tuple[Listed, bool, bool | None], ...]:
        """Each row: was it executed, does it agree (None if it was not executed)?"""
        return tuple((row, *self.ledger.became(row.number)) for row in self.ledger.listed)

    @property
    def verdict(self) -> Agreement:
        """`agrees`; `differs`; or `unknown` where a row was not executed, or an outcome that the
        model allows was never seen.
        """
        if self.differing or any(one.differs for one in self.situations or ()):
            return "differs"
        return "unknown" if self.why else "agrees"

    @property
    def exit_code(self) -> int:
        return {"agrees": 0, "differs": 1, "unknown": 3}[self.verdict]

    @property
    def why(self) -> str:
        """Why the run stopped, or why the verdict is unknown; else empty."""
        c, unseen = self.counts, len(self.ledger.unseen)
        if self.ledger.reason or self.ledger.differing:
            return self.ledger.reason
        if c.executed < c.rows:
            return "some rows are not realizable"
        outcomes = "outcomes that the model allows were" if unseen > 1 else "outcome was"
        return f"{unseen:,} {outcomes} never seen" if unseen else ""

    def document(self, coverage: Coverage = ABSENT) -> dict[str, Any]:
        """All that `--json` prints. `seconds` apart, the same question gives the same document."""
        c, found = self.counts, self.ledger
        unseen, situations = found.unseen, self.situations
        shown = conform_types.ConformDocument(
            side="coordinator",
            variant=self.variant,
            scope=scope_shown(self.scope, self.faults),
            toured=[toured.shown() for toured in self.toured],
            kafka=self.kafka,
            mutation=self.mutation,
            seed=self.seed,
            verdict=self.verdict,
            reason=self.why,
            rows=c.rows,
            executed=c.executed,
            agreeing=c.agreeing,
            differing=found.differing,
            unrealizable=c.rows - c.executed,
            unrealizable_reasons=dict(found.unrealizable),
            memories=c.memories,
            executed_from=conform_types.RealMemories(
                real_memories=c.real_memories, executions=c.executions
            ),
            outcomes=conform_types.OutcomeCounts(
                of_rows_with_several=c.choices, seen=c.seen, unseen=len(unseen)
            ),
            unseen=[unseen_shown(one) for one in unseen[:UNSEEN_SHOWN]],
            excuses=dict(sorted(c.excuses.items())),
            schedules=c.schedules,
            commands=c.commands,
            seconds=round(self.seconds, 3),
            real=variant_named(self.variant).real,
            never_executed=list(self.never_executed),
            abstractions=dict(ABSTRACTIONS),
            asked=ABSENT if self.asked is None else self.asked,
            findings=[finding_shown(f) for f in self.findings] if self.asks else ABSENT,
            causes=[cause_shown(cause) for cause in found.causes],
            differences=[difference_shown(d) for d in found.differences],
            situations=ABSENT if situations is None else situations_shown(situations),
            coverage=coverage,
        )
        return document(SCHEMA, shown)


def table_rows(result: Conformance) -> list[dict[str, Any]]:
    """A row of the table for each row (docs/tables.md)."""
    same = {"variant": result.variant, "kafka": result.kafka, "mutation": result.mutation}
    return [
        {
            **same,
            "row": row.number,
            "memory": model_seen(row.before.core, row.before.seats),
            "generation": row.before.core.generation,
            "input": input_shown(row.given),
            "outcomes": row.outcomes,
            "executed": executed,
            "agrees": agrees,
        }
        for row, executed, agrees in result.listed
    ]


def conform(
    variant: str,
    *,
    kafka: str,
    members: int | None = None,
    generations: int | None = None,
    faults: Mapping[str, int] | None = None,
    mutation: str | None = None,
    settings: Mapping[str, str] | None = None,
    max_rows: int | None = None,
    max_differences: int | None = None,
    seed: int = 0,
    findings: bool = False,
    driver: Driver | None = None,
    progress: Callable[[Counts], None] | None = None,
    tour: Callable[..., Tour] = Tour,
    lists: bool = False,
    situations: bool = False,
) -> Conformance:
    """Executes every row of the variant's coordinator at the scope on that version of Kafka;
    without `settings` also small scopes, for outcomes that cannot occur in the one asked for.

    `faults`: those that may happen, any number of times (all of the coordinator's, if None).
    `max_rows`: give up (unknown) after so many. `max_differences`: stop once so many rows differ
    (`MAX_DIFFERENCES`, if None; 0: never).
    `findings`: the coordinator's promises are checked after each row and in short histories.
    `situations`: they are executed after the rows. Raises `UserError` for a name that does not
    exist, and where there is no JDK.
    """
    about = executable(variant)
    if max_rows is not None and max_rows < 1:
        raise UserError(f"max rows is {max_rows}, not 1 or more")
    scopes = list(scopes_of(about, members, generations, faults, settings))
    rows_of = [rows_at(variant, mutation=mutation, **scope) for scope in scopes]
    most = MAX_DIFFERENCES if max_differences is None else max_differences
    ledger = Ledger(max_rows=max_rows, max_differences=most, lists=lists, progress=progress)
    began = time.perf_counter()
    toured: list[Toured] = []
    with nullcontext(driver) if driver else Driver(known(kafka)) as own:
        for asked, (scope, rows) in zip(scopes, rows_of):
            if toured and ledger.reason:
                break
            ledger.settings, before = asked["settings"], attrs.evolve(ledger.counts)
            tour(rows, own, ledger, seed=seed, asks=findings).run()
            toured.append(_toured(scope, asked["faults"], before, ledger.counts))
        executed = None
        with until_interrupted(ledger.stop):
            if situations and ledger.reason != INTERRUPTED:
                executed = tuple(execute(own))
            if findings and ledger.reason != INTERRUPTED:
                past = search(own)
                ledger.ask(past.asked, past.findings)
    named = rows_of[0][1].outcomes_named
    return Conformance(
        variant=variant,
        toured=tuple(toured),
        kafka=kafka,
        mutation=mutation,
        seed=seed,
        ledger=ledger,
        seconds=time.perf_counter() - began,
        asks=findings,
        never_executed=tuple(sorted(named - ledger.fired - set(about.bookkeeping))),
        situations=executed,
    )


def scopes_of(
    variant: Variant,
    members: int | None,
    generations: int | None,
    faults: Mapping[str, int] | None,
    settings: Mapping[str, str] | None,
) -> Iterator[dict[str, Any]]:
    """The scope that was asked for; without settings also those with settings of their own (a size
    limit, different assignors) that the variant names, as far as they are no larger.
    """
    usual = variant.asked
    whole = bool(usual) and members is None and generations is None and faults is None
    asked: dict[str, Any] = {
        "members": usual.get("members", MEMBERS) if members is None else members,
        "generations": usual.get("generations", GENERATIONS)
        if generations is None
        else generations,
        "faults": _faults(variant, usual.get("faults") if faults is None else faults),
        "settings": settings or (usual.get("settings", {}) if whole else {}),
    }
    yield asked
    for scope in variant.executed if not settings else ():
        smaller = all(scope[name] <= asked[name] for name in ("members", "generations"))
        # A feature that is switched on has rows of its own, for which `settings` ask.
        switched = variant.switched.keys() & scope.get("settings", {}).keys()
        if (whole or scope.get("settings")) and smaller and not switched:
            yield {"settings": {}, **scope, "faults": _faults(variant, scope.get("faults"))}


def _toured(scope: Scope, faults: tuple[str, ...], before: Counts, now: Counts) -> Toured:
    names = ("rows", "executed", "memories", "real_memories")
    return Toured(scope, faults, *(getattr(now, n) - getattr(before, n) for n in names))


@frozen
class VersionDiff:
    """The changes between two versions, `old` and `new`, within the scope of the tour that `tour`
    tells of.
    """

    versions: tuple[str, str]
    tour: Conformance
    changed: int
    changes: tuple[Change, ...]
    # What is newer, if it is no release.
    build: OwnBuild | None = None

    @property
    def exit_code(self) -> int:
        """0 where nothing changed, 1 where something did, 3 where not every row was executed."""
        differs = self.changes or any(one.differs for one in self.tour.situations or ())
        return 1 if differs else 3 if self.tour.ledger.reason else 0

    def document(self) -> dict[str, Any]:
        """All that `--diff --json` prints."""
        c, build = self.tour.counts, self.build
        shown = conform_diff_types.ConformDiffDocument(
            side="coordinator",
            variant=self.tour.variant,
            scope=scope_shown(self.tour.scope, self.tour.faults),
            versions=list(self.versions),
            reason=self.tour.ledger.reason,
            rows=c.rows,
            executed=c.executed,
            schedules=c.schedules,
            schedules_that_differ=self.changed,
            changes=[change.shown(self.versions) for change in self.changes],
            build=ABSENT if build is None else build.shown(),
            situations=ABSENT if build is None else situations_shown(self.tour.situations or ()),
            seconds=round(self.tour.seconds, 3),
        )
        return document(DIFF_SCHEMA, shown)


def versions_differ(
    variant: str,
    old: str | None,
    new: str | Path,
    *,
    progress: Callable[[Counts], None] | None = None,
    **options: Any,
) -> VersionDiff:
    """Executes the rows of the variant's coordinator on two Kafka versions, or on a release (None:
    the nearest) and the build in a folder, and lists what differs. A build also executes the
    situations, of which the release is known to do what they state. `options`: as for `conform`.
    """
    executable(variant)
    with side_by_side((old, new)) as (older, newer):
        found = Changes()

        def tour(rows: Rows, driver: Driver, ledger: Ledger, **how: Any) -> Tour:
            return VersionTour(rows, driver, ledger, **how).beside(older, found)

        options["max_differences"] = 0  # what the model says does not matter here
        told = conform(
            variant,
            kafka=newer.title,
            driver=newer,
            progress=progress,
            tour=tour,
            situations=newer.build is not None,
            **options,
        )
    changes = tuple(found.kinds.values())
    versions = (older.title, newer.title)
    return VersionDiff(versions, told, found.schedules, changes, newer.build)


def executable(name: str) -> Variant:
    """The variant of this name. Raises `UserError` if no real coordinator can be executed for it,
    or if some of its coordinator's outcomes are not executed yet: an agreement would be a claim
    about them, too.
    """
    variant = variant_named(name)
    if not variant.real:
        raise UserError(f"{name} cannot be compared with real code: {variant.unreal}")
    if variant.unexecuted:
        raise UserError(
            f"{name} cannot be compared yet: no row executes {', '.join(variant.unexecuted)} on the"
            f" real coordinator ({'; '.join(dict.fromkeys(variant.unexecuted.values()))})",
            do="add the rows to oracles/conform, then empty the variant's `unexecuted`",
        )
    return variant


def _faults(variant: Variant, given: Mapping[str, int] | None) -> tuple[str, ...]:
    known = variant.coordinator_faults
    if given is None:
        return known
    for name in given:
        if name not in known:
            raise one_of(
                "fault of the coordinator", name, known, f"faults --variant {variant.name}"
            )
    return tuple(name for name in known if given.get(name, 0) > 0)


def rows_at(
    variant: str,
    members: int,
    generations: int,
    faults: tuple[str, ...],
    mutation: str | None,
    settings: Mapping[str, str],
    static_changes: bool = False,
) -> tuple[Scope, Rows]:
    """The scope and the rows of a variant's coordinator, perhaps with a mutation of it. Raises
    `UserError` for what does not exist or fit. `static_changes`: as for `Rows`.
    """
    budgets = dict.fromkeys(faults, ANY)
    about = subject(
        variant,
        mutation=mutation,
        faults=budgets,
        settings=settings,
        members=members,
        generations=generations,
        assignor="range",
    )
    scope, bug = about.spec.scope, about.mutation
    found = executable(variant)
    spec = found.spec(scope)
    if bug is not None:
        strange = [name for name in bug.rules if name not in found.coordinator]
        if strange:
            raise UserError(
                f"mutation {bug.id} changes the member ({strange[0]}), not the coordinator",
                do="choose one of the coordinator's",
            )
        spec = bug.apply(spec)
    return scope, Rows(scope, spec, found.coordinator, static_changes)


def progress_line(counts: Counts, seconds: float) -> str:
    """One line for a terminal."""
    rate = f"{counts.executed / seconds:,.0f} rows/s" if seconds > 0.5 else ""
    parts = [
        f"{counts.executed:,} rows executed",
        rate,
        f"level {counts.level}",
        f"{counts.memories:,} memories",
        f"{seconds:.0f} s",
    ]
    return "  ".join(filter(None, parts))
