"""Writes the table of `groupcheck.invariants.reach` anew: `python tests/invariants/derive_reach.py
[FOLDER]` (some 15 minutes on two cores).

With the default options every set of at most two faults is explored for one and two members (three
for one); of each option, every single fault for two members and every two faults for one. What an
option changes is what differs at those sizes. Every single fault for three members is left to the
fast engine. Finished searches are kept in FOLDER, if given, and not done again.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterable, Mapping
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import attrs
from reaching import FOREVER, Faults, Need, Reaching, smallest, within

from groupcheck.invariants.registry import for_variant
from groupcheck.model.engine.explore import explore as explore_fast
from groupcheck.model.protocol.faults import CLASSIC_FAULTS
from groupcheck.model.protocol.scope import Scope
from groupcheck.model.variants import load

Found = tuple[str, Faults, int, int]  # name, faults, members, generations

GENERATIONS = (1, 2, 3)
SMALL = [(1, g, 2) for g in GENERATIONS] + [
    (2, g, 1) for g in GENERATIONS
]  # members, generations, faults
LARGE = [(1, g, 3) for g in GENERATIONS] + [(2, g, 2) for g in GENERATIONS]
OPTIONS: dict[str, dict[int, dict[str, Any]]] = {  # option -> members -> fields of the scope
    "one_step": {m: {"two_step": False} for m in (1, 2)},
    "no_autocommit": {m: {"autocommit": False} for m in (1, 2)},
    "no_records": {m: {"records": 0} for m in (1, 2)},
    "two_moments": {m: {"atomic_complete": False} for m in (1, 2)},
    "cap_1": {m: {"max_size": 1} for m in (1, 2)},
    "cap_2": {m: {"max_size": 2} for m in (1, 2, 3)},
    "more_records": {m: {"records": 2} for m in (1, 2)},
    "same_listed": {1: {"protocols": "range"}, 2: {"protocols": "range,sticky|sticky,range"}},
    "in_common": {2: {"protocols": "range,sticky|sticky"}},
    "apart": {2: {"protocols": "range|sticky"}},
}
# What happens only because the scope allows a fault, even before it does; and what happens when the
# last of some fault has happened.
FOR_THE_SAKE_OF = {"record_plan": ("fail_over",)}
WITH_THE_LAST = ("fail_over", "sync_timeout", "new_member_timeout")
WIDTH = 160
CLOSING = ("close_books", "forget")


def explore(
    job: tuple[Path | None, dict[str, Any], int, int, int],
) -> tuple[list[str], list[Found]]:
    """All names that there are, and what one search found."""
    folder, fields, members, generations, most = job
    kept = (
        folder
        / f"{members}-{generations}-{most}-{'-'.join(f'{k}={v}' for k, v in fields.items()).replace('|', '+')}.json"
        if folder
        else None
    )
    if kept and kept.exists():
        names, rows = json.loads(kept.read_text())
        return names, [(name, tuple(faults), m, g) for name, faults, m, g in rows]
    r = Reaching({**fields, "members": members, "generations": generations}, most).run()
    names = [n for rule in r.spec.rules for n in rule.names] + [g.name for g in r.spec.goals]
    found = [
        (name, faults, members, generations) for name, sets in r.least.items() for faults in sets
    ]
    print(
        f"{fields} members {members}, generations {generations}, faults {most}: {r.states:,} states",
        file=sys.stderr,
        flush=True,
    )
    if kept:
        kept.write_text(json.dumps([names, found]))
    return names, found


def three_members(folder: Path | None, generations: int) -> list[Found]:
    """What happens with three members and no fault or one, by the fast engine."""
    kept = folder / f"3-{generations}-fast.json" if folder else None
    if kept and kept.exists():
        return [(name, tuple(faults), m, g) for name, faults, m, g in json.loads(kept.read_text())]
    promises, variant = for_variant("classic"), load("classic")
    found: list[Found] = []
    for faults in ((), *((fault,) for fault in CLASSIC_FAULTS)):
        spec = variant.spec(
            Scope(members=3, generations=generations, faults=dict.fromkeys(faults, 1))
        )
        verdict = explore_fast(attrs.evolve(spec, goals=promises.goals, views=promises.views))
        happened = [n for n, times in verdict.rules.items() if times] + [
            n for n, depth in verdict.goals.items() if depth is not None
        ]
        found += [(name, faults, 3, generations) for name in happened]
    if kept:
        kept.write_text(json.dumps(found))
    return found


def table(found: Iterable[Found]) -> dict[str, tuple[Need, ...]]:
    """Name -> its smallest needs, with those added that a search over all faults at once cannot
    see.
    """
    reached: dict[tuple[str, int], dict[int, set[Faults]]] = {}
    explored: dict[int, set[int]] = {}
    for name, faults, members, generations in found:
        explored.setdefault(members, set()).add(generations)
        for fault in FOR_THE_SAKE_OF.get(name, ()):
            faults = faults if fault in faults else tuple(sorted((*faults, fault)))
        for known in (name, *(CLOSING if name in WITH_THE_LAST else ())):
            reached.setdefault((known, members), {}).setdefault(generations, set()).add(faults)
    needs: dict[str, set[Need]] = {}
    for (name, members), by_generations in reached.items():
        for faults in {faults for sets in by_generations.values() for faults in sets}:
            there = [
                g
                for g in sorted(explored[members])
                if any(within(few, faults) for few in by_generations.get(g, ()))
            ]
            for first in (g for g in there if g - 1 not in there):
                last = next(g for g in there if g >= first and g + 1 not in there)
                needs.setdefault(name, set()).add(
                    (faults, members, first, FOREVER if last == max(explored[members]) else last)
                )
    return {name: smallest(rows) for name, rows in needs.items()}


def changes(
    option: Iterable[Found],
    small: Iterable[Found],
    large: Mapping[str, tuple[Need, ...]],
    names: list[str],
) -> Any:
    """The names whose needs differ with an option, at the sizes that were explored for it; larger
    needs are taken from the default.
    """
    with_it, without = table(option), table(small)
    changed = {}
    for name in names:
        now, then = with_it.get(name, ()), without.get(name, ())
        if set(now) != set(then):
            beyond = (
                [row for row in large.get(name, ()) if row not in then and len(row[0]) <= 2]
                if now
                else []
            )
            changed[name] = smallest([*now, *beyond])
    return changed


def lines(name: str, rows: tuple[Need, ...], indent: str) -> list[str]:
    """One entry of a table, in lines of at most WIDTH characters."""
    cells = [
        f'("{" ".join(faults)}", {m}, {first}{"" if last == FOREVER else f", {last}"}),'
        for faults, m, first, last in rows
    ]
    whole = f'{indent}"{name}": ({" ".join(cells)}),'
    if len(whole) <= WIDTH:
        return [whole]
    inner = textwrap.wrap(
        " ".join(cell.replace(" ", "\0") for cell in cells),
        WIDTH,
        initial_indent=indent + "    ",
        subsequent_indent=indent + "    ",
    )
    return [f'{indent}"{name}": (', *(line.replace("\0", " ") for line in inner), f"{indent}),"]


def written(name: str, kind: str, doc: str, body: list[str]) -> str:
    """The text of a table's module."""
    return "\n".join([
        f'"""{doc} Written by tests/invariants/derive_reach.py."""', "", "from __future__ import annotations", "",
        *(["from collections.abc import Mapping", ""] if "Mapping" in kind else []), "from groupcheck.invariants.reach.needs import Rows", "",
        "# fmt: off", f"{name}: {kind} = {{", *body, "}", "",
    ])  # fmt: skip


def searches(folder: Path | None) -> tuple[list[str], dict[str, list[Found]]]:
    """All searches, the large ones first: the names, and option (or "" for the default) -> what was
    found.
    """
    jobs: list[tuple[str, tuple[Path | None, dict[str, Any], int, int, int]]] = [
        ("", (folder, {}, *size)) for size in LARGE
    ]
    for option, by_members in OPTIONS.items():
        sizes = [size for size in SMALL if size[0] in by_members] + (
            [(3, 1, 0)] if 3 in by_members else []
        )
        jobs += [(option, (folder, by_members[size[0]], *size)) for size in sizes]
    jobs.sort(key=lambda job: -(job[1][2] * 2 + job[1][4]))
    found: dict[str, list[Found]] = {}
    names: list[str] = []
    with Pool(2) as pool:
        for (option, _), (there, more) in zip(jobs, pool.imap(explore, [job for _, job in jobs])):
            found.setdefault(option, []).extend(more)
            names = there
    return names, found


def main(place: Path, folder: Path | None) -> None:
    names, found = searches(folder)
    base = found.pop("")
    large = table([*base, *(row for g in GENERATIONS for row in three_members(folder, g))])
    least = [line for name in names for line in lines(name, large.get(name, ()), "    ")]
    (place / "least.py").write_text(
        written(
            "LEAST",
            "Rows",
            "What each outcome and goal of the classic protocol needs, with default options.",
            least,
        )
    )
    body: list[str] = []
    for option, by_members in OPTIONS.items():
        fewest = min(
            by_members
        )  # an option that one member cannot have is compared at two, where only single faults were explored
        small = [
            (n, f, max(m, fewest), g)
            for n, f, m, g in base
            if len(f) <= (2 if m == fewest == 1 else 1) and m <= 2
        ]
        changed = changes(found[option], small, large, names)
        body += [
            f'    "{option}": {{',
            *(
                line
                for name in names
                if name in changed
                for line in lines(name, changed[name], " " * 8)
            ),
            "    },",
        ]
    (place / "changes.py").write_text(
        written("CHANGES", "Mapping[str, Rows]", "What each option changes in the needs.", body)
    )


if __name__ == "__main__":
    keep = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    main(Path(__file__).parents[2] / "invariants" / "reach", keep)
