"""`groupcheck conform`: compares the model's coordinator with the real one; the result of a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import attrs

from groupcheck.model.engine import UserError
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.variant import Variant
from groupcheck.oracles.conform import conform_types
from groupcheck.oracles.conform.row_comparison import Conformance, ScopeTour
from groupcheck.oracles.conform.row_results import MAX_DIFFERENCES, Counts, RowResults
from groupcheck.oracles.conform.rows import Rows
from groupcheck.oracles.conform.short_histories import search
from groupcheck.oracles.conform.shown import scope_shown
from groupcheck.oracles.conform.situations.running import execute
from groupcheck.oracles.conform.tour import Tour
from groupcheck.oracles.conform.versions import Changes, Versions
from groupcheck.oracles.conform.versions_differ import Change, VersionTour
from groupcheck.oracles.explain.subject import subject, variant_named
from groupcheck.oracles.explain.unknown import one_of
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.side_by_side import side_by_side
from groupcheck.oracles.kafka.versions import known
from groupcheck.oracles.processes.supervisor import INTERRUPTED, until_interrupted
from groupcheck.oracles.show.meter import of_part

MEMBERS, GENERATIONS = 2, 2
ANY = 99  # a fault that may happen may happen any number of times


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
    progress: Callable[[Counts, int, int], None] | None = None,
    tour: Callable[..., Tour] = Tour,
    lists: bool = False,
    situations: bool = False,
) -> Conformance:
    """Executes every row of the variant's coordinator at the scope on that version of Kafka;
    without `settings` also small scopes, for outcomes that cannot occur in the one asked for.

    `faults`: those that may happen, any number of times (all of the coordinator's, if None).
    `max_rows`: give up (unknown) after so many. `max_differences`: stop once so many rows differ
    (`MAX_DIFFERENCES`, if None; 0: never). `progress` hears of the counts, which scope is toured
    (from 1 on), and how many there are.
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
    ledger = RowResults(max_rows=max_rows, max_differences=most, lists=lists)
    began = time.perf_counter()
    toured: list[ScopeTour] = []
    with nullcontext(driver) if driver else Driver(known(kafka)) as own:
        for k, (asked, (scope, rows)) in enumerate(zip(scopes, rows_of), 1):
            if toured and ledger.reason:
                break
            if progress is not None:
                ledger.progress = of_part(progress, k, len(scopes))
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


def _toured(scope: Scope, faults: tuple[str, ...], before: Counts, now: Counts) -> ScopeTour:
    names = ("rows", "executed", "memories", "real_memories")
    share = {name: getattr(now, name) - getattr(before, name) for name in names}
    shown = conform_types.TouredScope(scope=scope_shown(scope, faults), **share)
    return ScopeTour(scope, faults, shown)


def versions_differ(
    variant: str,
    old: str | None,
    new: str | Path,
    *,
    progress: Callable[[Counts, int, int], None] | None = None,
    **options: Any,
) -> Versions:
    """Executes the rows of the variant's coordinator on two Kafka versions, or on a release (None:
    the nearest) and the build in a folder, and lists what differs. A build also executes the
    situations, of which the release is known to do what they state. `options`: as for `conform`.
    """
    executable(variant)
    with side_by_side((old, new)) as (older, newer):
        found = Changes[Change]()

        def tour(rows: Rows, driver: Driver, ledger: RowResults, **how: Any) -> Tour:
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
    versions = (older.title, newer.title)
    return Versions(versions, told, found.number, found.found, newer.build)


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
    in_schedules: bool = False,
) -> tuple[Scope, Rows]:
    """The scope and the rows of a variant's coordinator, perhaps with a mutation of it. Raises
    `UserError` for what does not exist or fit. `in_schedules`: as for `Rows`.
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
    return scope, Rows(scope, spec, found.coordinator, in_schedules)
