"""The judges of a mistake in the protocol. Each runs in a fork that has imported the mistake, and
says what it noticed.

Each judge first judges the original. It gets this answer as `usual` when it judges a mistake, and
compares.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import attrs

Told = dict[str, Any]
Scopes = Sequence[Mapping[str, Any]]  # as arguments of `conform`; for rows of the coordinator
KILLED, SURVIVED, UNKNOWN, NONE = "killed", "survived", "unknown", "-"
SAME_ROWS, SAME_BEHAVIOUR = "the same rows", "the same answers to every sequence of inputs"
ANOTHER_SIZE = "another number of states"
MOST_ROWS, MOST_STATES = 250_000, 200_000
# Variants and generations of the member's rows.
MEMBERS = (("classic", 1), ("classic", 2), ("cooperative", 1))
OF_STYLES = 10_000  # more than the rows of the styles of commits
ROWS_OF_GROUPS = 2_000  # of a family of consumer groups
SCHEDULES = 100  # of real members on a real coordinator
ONE: dict[str, Any] = {"members": 1, "generations": 1}
TWO: dict[str, Any] = {"members": 2, "generations": 1}
CAPPED = {**TWO, "faults": {}, "settings": {"max_size": "1"}}
LISTS = ("range|roundrobin", "range,roundrobin|roundrobin", "range,roundrobin|roundrobin,range")
# Scopes that are executed on the real coordinator, the quickest first. Those of `SMALL` find most
# mistakes.
PAIR = {**TWO, "faults": {}, "settings": {"two_step": "true"}}
SMALL = (ONE, CAPPED, PAIR)
SCOPES = (
    *SMALL,
    {"members": 1, "generations": 2},
    TWO,
    *({**TWO, "settings": {"protocols": lists}} for lists in LISTS),
    {**TWO, "settings": {"max_size": "1"}},
    {"members": 3, "generations": 1, "faults": {}, "settings": {"max_size": "2"}},
    {"members": 3, "generations": 1, "faults": {"rebalance_timeout": 1, "session_timeout": 1}},
)
# Scopes of `check`: any one fault; one member with any two faults; a size limit; different
# assignors.
CHECKED: tuple[dict[str, Any], ...] = (
    {"members": 2, "generations": 2, "any_faults": 1},
    {"members": 1, "generations": 2, "any_faults": 2},
    {"members": 2, "generations": 1, "max_size": 1, "any_faults": 1},
    {"members": 2, "generations": 1, "protocols": "range,roundrobin|roundrobin", "any_faults": 1},
)
TESTS = "tests/model/protocol"
TOGETHER = "test_schedules_lead_both_to_the_same_places"
WALKS = f"tests/oracles/conform/test_conform_random.py::{TOGETHER}"


def conform(driver: Any, usual: Told | None, scopes: Scopes) -> Told:
    """Executes the rows of the model's coordinator on Kafka's own, at each scope where the mistake
    changes a row.
    """
    from groupcheck.oracles.conform.conformance import conform as run
    from groupcheck.oracles.conform.shown import input_shown

    tables: list[Told] = []
    for k, scope in enumerate(scopes):
        before = None if usual is None else usual["tables"][k]
        tables.append(table(rows_at(scope), before))
        if (scope not in SMALL) if before is None else tables[k] == before:
            continue
        found = run(
            "classic",
            kafka=driver.version,
            driver=driver,
            max_differences=1,
            max_rows=most_rows(before),
            **scope,
        )
        by = ", ".join(f"{k} {v}" for k, v in scope.items())
        if found.verdict == "differs":
            (first, *_) = found.differences
            return {
                "verdict": KILLED,
                "by": f"{by}: {input_shown(first.row.given)}: {'; '.join(first.what)}",
            }
        if found.verdict == "unknown":
            return {"verdict": UNKNOWN, "by": f"{by}: {found.reason}"}
    return {"verdict": SURVIVED, "by": alike(tables, usual), "tables": tables}


def rows_at(scope: Mapping[str, Any]) -> Any:
    """The rows of the model's coordinator at a scope."""
    from groupcheck.oracles.conform.conformance import _faults, executable
    from groupcheck.oracles.conform.conformance import rows_at as found

    faults = _faults(executable("classic"), scope.get("faults"))
    settings = scope.get("settings", {})
    return found("classic", scope["members"], scope["generations"], faults, None, settings)[1]


def rows(driver: Any, usual: Told | None, scopes: Scopes) -> Told:
    """Compares the rows of the model's coordinator with those of the original, without Kafka."""
    before = [None] * len(scopes) if usual is None else usual["tables"]
    return compared([table(rows_at(s), b) for s, b in zip(scopes, before, strict=True)], usual)


def rows_of_member(driver: Any, usual: Told | None, scopes: Scopes) -> Told:
    """Compares the rows of the model's member with those of the original, without Kafka."""
    before = None if usual is None else usual["tables"]
    return compared(tables_of_member(MEMBERS, before), usual)


def tables_of_member(
    which: Sequence[tuple[str, int]], usual: Sequence[Told] | None = None
) -> list[Told]:
    """Digests of the rows of these members, with so many generations. `usual`: those of the
    original.
    """
    from groupcheck.oracles.conform.member.every_row import rows_of

    some = [found for variant, n in which for found in rows_of(variant, n, None, {})]
    before = [None] * len(some) if usual is None else usual
    return [table(found, b) for found, b in zip(some, before, strict=True)]


def compared(tables: list[Told], usual: Told | None) -> Told:
    """Do the tables equal those of the original, or at least in what can be seen from outside?"""
    same = SAME_ROWS if usual is None else alike(tables, usual)
    verdict = SURVIVED if same else KILLED
    return {"tables": tables, "verdict": verdict, "by": same or "other rows"}


def alike(tables: Sequence[Told], usual: Told | None) -> str:
    """In what all tables equal those of the original; empty if they do not."""
    if usual is None:
        return ""
    pairs = list(zip(tables, usual["tables"], strict=True))
    if all(mine["rows"] == its["rows"] for mine, its in pairs):
        return SAME_ROWS
    same = all(mine["behaviour"] and mine["behaviour"] == its["behaviour"] for mine, its in pairs)
    return SAME_BEHAVIOUR if same else ""


def most_rows(usual: Told | None) -> int:
    """How many rows are looked at: of a mistake, twice as many as the original has."""
    return MOST_ROWS if usual is None else min(2 * usual["count"] + 100, MOST_ROWS)


def table(found: Any, usual: Told | None = None) -> Told:
    """A digest of all rows, how many they are, and digests of what they show from outside, without
    what is remembered: of what the start does in all sequences of 0, 1, 2, ... inputs. Of a table
    that is much larger than that of the original, `usual`, only the beginning is looked at.
    """
    start = found.start()
    numbers, waiting = {start: 0, None: 1}, [start]
    steps: list[tuple[int, bytes, int]] = []
    exact = blake2b(digest_size=10)
    for memory in waiting:
        for given in found.inputs(memory):
            for outcome in found.outcomes(memory, given):
                if outcome.after not in numbers:
                    numbers[outcome.after] = len(numbers)
                    waiting.append(outcome.after)
                if len(steps) > most_rows(usual):
                    return {"rows": "endless", "count": len(steps), "behaviour": []}
                seen = repr((given, attrs.evolve(outcome, rules=(), after=None)))
                mark = blake2b(seen.encode(), digest_size=8).digest()
                steps.append((numbers[memory], mark, numbers[outcome.after]))
                exact.update(repr((memory, given, outcome)).encode())
    shown = behaviour(len(numbers), steps)
    return {"rows": exact.hexdigest(), "count": len(steps), "behaviour": shown}


def behaviour(states: int, steps: list[tuple[int, bytes, int]]) -> list[int]:
    """What the first state shows in 0, 1, 2, ... inputs, as digests. Rounds go on until one
    distinguishes no more states than the one before, and then for as many rounds again.
    """
    known, classes, shown, left = [0] * states, 1, [0], -1
    ways: list[list[tuple[bytes, int]]] = [[] for _ in range(states)]
    for before, mark, after in steps:
        ways[before].append((mark, after))
    while left:
        known = [_mixed({(mark, known[after]) for mark, after in some}) for some in ways]
        shown.append(known[0])
        left -= 1
        if left < 0 and len(set(known)) == classes:
            left = len(shown)
        classes = len(set(known))
    return shown


def _mixed(ways: set[tuple[bytes, int]]) -> int:
    text = b"".join(mark + known.to_bytes(8) for mark, known in sorted(ways))
    return int.from_bytes(blake2b(text, digest_size=8).digest())


def check(driver: Any, usual: Told | None, scopes: Scopes) -> Told:
    """The model checker: a promise is broken, or the number of states is another one."""
    from groupcheck.oracles.check.run import check as run

    sizes, broken = [], []
    for scope in CHECKED:
        found = run("classic", max_states=MOST_STATES, **scope).verdict
        sizes.append([found.states, found.transitions])
        broken += [v.invariant for v in found.violations]
        if usual is not None and (new := set(broken) - {*usual["promises"]}):
            return {"verdict": KILLED, "by": f"breaks {min(new)}"}
    told = {"sizes": sizes, "promises": broken}
    if usual is not None and sizes != usual["sizes"]:
        return told | {"verdict": KILLED, "by": ANOTHER_SIZE}
    return told | {"verdict": SURVIVED, "by": ""}


def tests(driver: Any, usual: Told | None, scopes: Scopes) -> Told:
    """The quick unit tests of the protocol."""
    return _tested(TESTS)


def walks(driver: Any, usual: Told | None, scopes: Scopes) -> Told:
    """Random schedules of up to eight members on the model and on Kafka's own coordinator."""
    return _tested("--night", WALKS)


def _tested(*asked: str) -> Told:
    import pytest

    said = io.StringIO()
    options = ["-x", "-q", "--tb=no", "--late", "-p", "no:cacheprovider"]
    with contextlib.redirect_stdout(said):
        code = pytest.main([*options, *asked])
    lines = said.getvalue().splitlines()
    failed = [line.split()[1] for line in lines if line.startswith(("FAILED", "ERROR"))]
    if code == 0:
        return {"verdict": SURVIVED, "by": ""}
    if code == pytest.ExitCode.NO_TESTS_COLLECTED:  # nobody was asked: no mistake is noticed
        raise RuntimeError(f"pytest {' '.join(asked)} runs no test")
    return {"verdict": KILLED, "by": failed[0] if failed else f"exit code {int(code)}"}


def member(driver: Any, usual: Told | None, scopes: Scopes) -> Told:
    """Executes the rows of the model's members on Kafka's own, if the mistake changes a row: those
    of an eager one with one generation and with two, those of a cooperative one with one. The steps
    of the group's model, which the command compares with the rows at the end, take little time and
    are compared first.
    """
    from groupcheck.oracles.conform.member.conformance import conform_member
    from groupcheck.oracles.conform.member.every_row import rows_of
    from groupcheck.oracles.conform.member.group_steps import GroupSteps

    tables: list[list[Told]] = []
    for k, (variant, generations) in enumerate(MEMBERS):
        for some in rows_of(variant, generations, None, {}):
            for misfit in GroupSteps(some).run(1):
                return {"verdict": KILLED, "by": f"{misfit.given}: {misfit.what}"[:300]}
        its = None if usual is None else usual["tables"][k]
        tables.append(tables_of_member([(variant, generations)], its))
        if k > 0 if its is None else tables[k] == its:
            continue
        found = conform_member(
            variant,
            kafka=driver.version,
            driver=driver,
            max_differences=1,
            max_rows=None if its is None else sum(map(most_rows, its)) + OF_STYLES,
            generations=generations,
        )
        if found.verdict == "unknown":
            return {"verdict": UNKNOWN, "by": found.reason}
        if found.verdict == "differs":
            (first, *_) = found.differences
            return {"verdict": KILLED, "by": f"{first.row.given}: {'; '.join(first.what)}"[:300]}
    flat = [t for some in tables for t in some]
    before = usual and {"tables": [t for some in usual["tables"] for t in some]}
    return {"verdict": SURVIVED, "by": alike(flat, before), "tables": tables}


def whole(driver: Any, usual: Told | None, scopes: Scopes) -> Told:
    """Executes schedules of real members on the real coordinator, and follows them. So few
    schedules do not show every outcome, so only a difference counts.
    """
    from groupcheck.oracles.conform.whole.conformance import conform_whole

    found = conform_whole(
        "classic", kafka=driver.version, driver=driver, schedules=SCHEDULES, max_differences=1
    )
    if not found.differences:
        return {"verdict": SURVIVED, "by": ""}
    (first, *_) = found.differences
    return {"verdict": KILLED, "by": f"{'; '.join(first.what)}"[:300]}


def consumer(driver: Any, usual: Told | None, scopes: Scopes) -> Told:
    """Executes the first rows of each family of consumer groups on Kafka's own coordinator; for the
    original, of the first family: the others take long, and are tested elsewhere.
    """
    from groupcheck.oracles.consumer.comparing import compare
    from groupcheck.oracles.consumer.families import families, spec_of

    for family in [*families(driver.version)][: 1 if usual is None else None]:
        asked = [(attrs.evolve(family, most=ROWS_OF_GROUPS), spec_of(family, driver.version))]
        (tally,) = compare(driver, asked, max_differences=1).tallies
        for kind in tally.differences:
            return {"verdict": KILLED, "by": f"{tally.title}: {', '.join(kind)}"}
    return {"verdict": SURVIVED, "by": ""}


JUDGES: Mapping[str, Callable[..., Told]] = {
    "conform": conform,
    "member": member,
    "whole": whole,
    "consumer": consumer,
    "check": check,
    "tests": tests,
    "walks": walks,
    "rows": rows,
    "rows of the member": rows_of_member,
}
