"""`groupcheck conform`: the model's coordinator against the real one, and what the run says."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.variant import Variant
from groupcheck.oracles.conform.abstractions import ABSTRACTIONS
from groupcheck.oracles.conform.histories import search
from groupcheck.oracles.conform.promises import PROMISES, Finding
from groupcheck.oracles.conform.rows import Asks, Fires, Input, Rows
from groupcheck.oracles.conform.situations.running import Executed, execute
from groupcheck.oracles.conform.tour import Counts, Difference, Listed, Tour
from groupcheck.oracles.conform.transcript import lines, model_seen
from groupcheck.oracles.conform.versions_differ import Change, VersionTour
from groupcheck.oracles.explain.subject import one_of, subject, variant_named
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.versions import known

SCHEMA = "groupcheck.conform/1"
DIFF_SCHEMA = "groupcheck.conform-diff/1"
MEMBERS, GENERATIONS = 2, 2
ANY = 99  # a fault that may happen may happen any number of times


@frozen
class Conformance:
    """What a run found."""

    variant: str
    scope: Scope
    faults: tuple[str, ...]
    kafka: str
    mutation: str | None
    seed: int
    counts: Counts
    # How many rows differ, and the first of them.
    differing: int
    differences: tuple[Difference, ...]
    # Reason -> how many rows were not executed for it.
    unrealizable: Mapping[str, int]
    # Why the run ended early, else empty.
    reason: str
    seconds: float
    # How often the promises were asked of the real memory; None if they were not.
    asked: int | None
    findings: tuple[Finding, ...]
    # Outcomes of the coordinator that fired in no row that agrees.
    never_executed: tuple[str, ...] = ()
    # What became of each situation; None if none was executed.
    situations: tuple[Executed, ...] | None = None
    # Each row: was it executed, does it agree (None if it was not executed)?
    listed: tuple[tuple[Listed, bool, bool | None], ...] = ()

    @property
    def verdict(self) -> str:
        """`agrees`, `differs`, or `unknown` where not every row was executed."""
        if self.differing or any(one.differs for one in self.situations or ()):
            return "differs"
        return (
            "agrees" if not self.reason and self.counts.executed == self.counts.rows else "unknown"
        )

    @property
    def exit_code(self) -> int:
        return {"agrees": 0, "differs": 1, "unknown": 3}[self.verdict]

    @property
    def why(self) -> str:
        """Why the verdict is unknown, else empty."""
        return self.reason or ("some rows are not realizable" if self.verdict == "unknown" else "")

    def document(self) -> dict[str, Any]:
        """All that `--json` prints. `seconds` apart, the same question gives the same document."""
        c = self.counts
        return {
            "schema": SCHEMA,
            "variant": self.variant,
            "scope": scope_shown(self.scope, self.faults),
            "kafka": self.kafka,
            "mutation": self.mutation,
            "seed": self.seed,
            "verdict": self.verdict,
            "reason": self.why,
            "rows": c.rows,
            "executed": c.executed,
            "agreeing": c.agreeing,
            "differing": self.differing,
            "unrealizable": c.rows - c.executed,
            "unrealizable_reasons": dict(self.unrealizable),
            "memories": c.memories,
            "outcomes": {"of_rows_with_several": c.choices, "seen": c.seen},
            "delays_extended_by_a_flag_left_over": c.stutters,
            "schedules": c.schedules,
            "commands": c.commands,
            "seconds": round(self.seconds, 3),
            "real": variant_named(self.variant).real,
            "never_executed": list(self.never_executed),
            "abstractions": ABSTRACTIONS,
            **(
                {}
                if self.asked is None
                else {"asked": self.asked, "findings": [finding_shown(f) for f in self.findings]}
            ),
            "differences": [difference_shown(d) for d in self.differences],
            **(
                {} if self.situations is None else {"situations": situations_shown(self.situations)}
            ),
        }


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


def scope_shown(scope: Scope, faults: tuple[str, ...]) -> dict[str, Any]:
    """The fields that bound the rows. Faults have no budget here."""
    return {
        "members": scope.members,
        "generations": scope.generations,
        "partitions": scope.partition_count,
        "faults": list(faults),
        "max_size": scope.max_size,
        "two_step": scope.two_step,
        "protocols": scope.protocols,
    }


def difference_shown(d: Difference) -> dict[str, Any]:
    """One row on which they differ, with the shortest schedule that leads to it."""
    return {
        "input": input_shown(d.row.given),
        "memory": model_seen(d.row.before.core, d.row.before.seats),
        "differs": list(d.what),
        "transcript": lines(d.transcript),
    }


def situations_shown(executed: tuple[Executed, ...]) -> dict[str, Any]:
    """How many situations were executed, how many agree, and what differs in the others."""
    differing = [one for one in executed if one.differs]
    return {
        "executed": len(executed),
        "agreeing": len(executed) - len(differing),
        "differences": [
            {
                "situation": one.situation.name,
                "source": one.situation.source,
                "differs": list(one.differs),
                "transcript": lines(one.transcript),
            }
            for one in differing
        ],
    }


def finding_shown(f: Finding) -> dict[str, Any]:
    """A promise that the real coordinator breaks, with the shortest schedule that shows it."""
    return {
        "promise": f.promise,
        "statement": PROMISES[f.promise],
        "kind": f.kind,
        "transcript": lines(f.transcript),
    }


def input_shown(given: Input) -> str:
    """`member 1 sends SyncGroup(id=0, generation=1)`."""
    if isinstance(given, Asks):
        return f"member {given.member} sends {given.request!r}"
    assert isinstance(given, Fires)
    whose = "" if given.member is None else f" of member {given.member}"
    return f"{given.rule}{whose}"


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
    seed: int = 0,
    findings: bool = False,
    driver: Driver | None = None,
    progress: Callable[[Counts], None] | None = None,
    tour: Callable[..., Tour] = Tour,
    lists: bool = False,
    situations: bool = False,
) -> Conformance:
    """Executes every row of the variant's coordinator at the scope on that version of Kafka's.

    `faults`: those that may happen, any number of times (all of the coordinator's, if None).
    `max_rows`: give up (unknown) after so many.
    `findings`: what the coordinator promises is asked after each row, and of short histories.
    `situations`: they are executed after the rows. Raises `UserError` for what does not exist, and
    where there is no JDK.
    """
    about = executable(variant)
    if max_rows is not None and max_rows < 1:
        raise UserError(f"max rows is {max_rows}, not 1 or more")
    chosen = _faults(about, faults)
    scope, rows = rows_at(
        variant,
        MEMBERS if members is None else members,
        GENERATIONS if generations is None else generations,
        chosen,
        mutation,
        settings or {},
    )
    began = time.perf_counter()
    own = driver or Driver(known(kafka))
    options: dict[str, Any] = {"lists": True} if lists else {}
    options |= {"max_rows": max_rows, "progress": progress, "asks": findings}
    try:
        made = tour(rows, own, seed=seed, **options)
        made.run()
        executed = tuple(execute(own)) if situations else None
        past = search(own) if findings else None
    finally:
        if driver is None:
            own.close()
    return Conformance(
        variant=variant,
        scope=scope,
        faults=chosen,
        kafka=kafka,
        mutation=mutation,
        seed=seed,
        counts=made.counts,
        differing=made.differing,
        differences=tuple(made.differences),
        unrealizable=made.unrealizable,
        reason=made.reason,
        seconds=time.perf_counter() - began,
        asked=made.asked + past.asked if past else None,
        findings=_shortest(past.findings, made.findings) if past else (),
        never_executed=tuple(sorted(rows.outcomes_named - made.fired - set(about.bookkeeping))),
        situations=executed,
        listed=tuple((row, *made.became(row.number)) for row in made.listed or ()),
    )


def _shortest(*found: Mapping[tuple[str, str], Finding]) -> tuple[Finding, ...]:
    """Each promise and kind once, with the shorter of its schedules."""
    every = [finding for some in found for finding in some.values()]
    every.sort(key=lambda f: (f.promise, f.kind, len(f.transcript.steps)))
    return tuple({(f.promise, f.kind): f for f in reversed(every)}.values())[::-1]


@frozen
class VersionDiff:
    """What changed between two versions, `old` and `new`, within the scope of the tour that `tour`
    tells of.
    """

    versions: tuple[str, str]
    tour: Conformance
    changed: int
    changes: tuple[Change, ...]

    @property
    def exit_code(self) -> int:
        """0 where nothing changed, 1 where something did, 3 where not every row was executed."""
        return 1 if self.changes else 3 if self.tour.reason else 0

    def document(self) -> dict[str, Any]:
        """All that `--diff --json` prints."""
        c = self.tour.counts
        return {
            "schema": DIFF_SCHEMA,
            "variant": self.tour.variant,
            "scope": scope_shown(self.tour.scope, self.tour.faults),
            "versions": list(self.versions),
            "reason": self.tour.reason,
            "rows": c.rows,
            "executed": c.executed,
            "schedules": c.schedules,
            "schedules_that_differ": self.changed,
            "changes": [change.shown(self.versions) for change in self.changes],
            "seconds": round(self.tour.seconds, 3),
        }


def versions_differ(
    variant: str,
    old: str,
    new: str,
    *,
    progress: Callable[[Counts], None] | None = None,
    **options: Any,
) -> VersionDiff:
    """Executes the rows of the variant's coordinator on two Kafka versions and lists what differs.
    `options`: as for `conform`.
    """
    with Driver(known(old)) as older, Driver(known(new)) as newer:
        begun: list[VersionTour] = []

        def tour(rows: Rows, driver: Driver, **how: Any) -> Tour:
            begun.append(VersionTour(rows, driver, **how).beside(older))
            return begun[0]

        told = conform(variant, kafka=new, driver=newer, progress=progress, tour=tour, **options)
    return VersionDiff((old, new), told, begun[0].changed, tuple(begun[0].changes.values()))


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
            raise one_of("fault of the coordinator", name, known)
    return tuple(name for name in known if given.get(name, 0) > 0)


def rows_at(
    variant: str,
    members: int,
    generations: int,
    faults: tuple[str, ...],
    mutation: str | None,
    settings: Mapping[str, str],
) -> tuple[Scope, Rows]:
    """The scope and the rows of a variant's coordinator, perhaps with a mutation of it. Raises
    `UserError` for what does not exist or fit.
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
        strange = [r.name for r in bug.replaced if r.name not in found.coordinator]
        if strange:
            raise UserError(
                f"mutation {bug.id} changes the member ({strange[0]}), not the coordinator",
                do="choose one of the coordinator's",
            )
        spec = bug.apply(spec)
    return scope, Rows(scope, spec, found.coordinator)


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
