"""`make bench`: groupcheck beside Spin and a C loop, in turn, as ratios of CPU time. README.md in
this folder says how it is kept fair.

bench.py [--quick] [--rounds N] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import programs
from attrs import frozen
from measured import Failed, Run, run
from programs import Counts
from report import Row, Section, document, machine, text

Target = tuple[str, float]


@frozen
class Scope:
    """A scope of the small group with its pinned counts, the sizes of the others' tables, and what
    we want to reach there.
    """

    arguments: tuple[int, ...]
    counts: Counts
    loop_slots: int
    spin_slots: int
    rounds: int
    exploration: Target
    ahead_of_spin: Target
    bytes_per_state: Target | None
    two_workers: Target | None

    @property
    def title(self) -> str:
        return (
            f"small group {' '.join(map(str, self.arguments))}: {self.counts.states:,} states,"
            f" {self.counts.transitions:,} transitions"
        )


SMALLER = Scope(
    (3, 3, 3, 1, 1), Counts(3_512_597, 14_352_596), 23, 22, 5, ("<=", 1.7), (">=", 2.0), None, None
)
LARGER = Scope(
    (3, 3, 4, 2, 1),
    Counts(22_723_308, 99_811_923),
    26,
    24,
    3,
    ("<=", 1.4),
    (">=", 5.5),
    ("<=", 16.0),
    (">=", 1.3),
)
START = ((2, 2, 4, 2, 1), Counts(114_418, 356_815))
TINY = ((1, 1, 1, 0, 0), Counts(14, 14))
TWO_PHASE = (9, Counts(10_340_352, 123_558_401))
NO_CLIFF = ("<=", 1.3)
CLIFFS = (
    ("8-puzzle: one slot, a value for each state",
     programs.Cliff("puzzle", (3, 3), Counts(181_440, 483_840)), NO_CLIFF),
    ("7 counters, every rule reads all",
     programs.Cliff("lanes", (7, 8), Counts(325_089, 1_843_436)), NO_CLIFF),
    ("one slot with attrs values, 16 outcomes",
     programs.Cliff("jugs", (31, 29, 27, 25), Counts(174_720, 2_728_664)), NO_CLIFF),
    ("8 counters, an invariant reads all",
     programs.Cliff("watched", (8, 5), Counts(390_625, 3_125_000)), NO_CLIFF),
    ("one state a level, a row for each",
     programs.Cliff("counter", (1_000_000,), Counts(1_000_001, 1_000_000)), None),
    ("one state a level, few rows",
     programs.Cliff("clock", (1_000,), Counts(1_001_000, 1_000_999)), None),
)  # fmt: skip
# What is asked about the consumer group: its scope, what is given besides, and its promises.
PROGRESS = (
    ((2, 2, 1, 1), (), ("can_converge",), Counts(289_519, 1_014_195)),
    ((2, 2, 1, 1), (), ("can_converge", "group_converges"), Counts(289_519, 1_014_195)),
    ((3, 1, 1, 1), ("--symmetry",), ("can_converge",), Counts(6_182_504, 29_612_715)),
)
CLASSIC = ((3, 2), Counts(8_412_787, 41_617_329))


@frozen
class Round:
    """One turn: the C loop before, between and after groupcheck and Spin, which were run under the
    same load.
    """

    before: Run
    ours: Run
    between: Run
    spin: Run
    after: Run
    two: Run | None

    @property
    def near_ours(self) -> float:
        return (float(self.before.answer["cpu"]) + float(self.between.answer["cpu"])) / 2

    @property
    def near_spin(self) -> float:
        return (float(self.between.answer["cpu"]) + float(self.after.answer["cpu"])) / 2


def turns(scope: Scope, rounds: int, folder: Path) -> Iterator[Round]:
    """Runs everything in turn, so that whatever else the machine does falls on all alike."""
    loop = programs.table_loop(folder, scope.arguments, scope.loop_slots, scope.counts)
    spin = programs.spin(folder, scope.arguments, scope.spin_slots, scope.counts)
    mine = ("small_group", *scope.arguments)
    for _ in range(rounds):
        before, ours, between = loop(), programs.groupcheck(scope.counts, *mine), loop()
        two = (
            programs.groupcheck(scope.counts, "--workers", 2, *mine)
            if scope.two_workers and ours.answer["workers"]
            else None
        )
        yield Round(before, ours, between, spin(), loop(), two)


def beside(scope: Scope, rounds: int, folder: Path) -> Section:
    """One scope of the small group."""
    empty = median(programs.groupcheck(TINY[1], "small_group", *TINY[0]).peak for _ in range(3))
    done = list(turns(scope, rounds, folder))
    states = scope.counts.states

    def over_loop(
        name: str, cpu: Sequence[float], near: Sequence[float], target: Target | None = None
    ) -> Row:
        ratios = [c / n for c, n in zip(cpu, near)]
        return Row(name, median(ratios), "x C loop", ratios, median(cpu), target)

    def of(name: str, figures: Sequence[float], unit: str, target: Target | None = None) -> Row:
        return Row(name, median(figures), unit, figures, None, target)

    ours = [r.near_ours for r in done]
    loops = [float(c.answer["cpu"]) for r in done for c in (r.before, r.between, r.after)]
    rows = [
        Row("C loop, tables given", 1.0, "x C loop", (), median(loops)),
        over_loop("groupcheck, loops", [r.ours.answer["loops"] for r in done], ours),
        over_loop(
            "groupcheck, exploration (loops and making room)",
            [r.ours.answer["exploration"] for r in done],
            ours,
            scope.exploration,
        ),
        over_loop("groupcheck, whole run", [r.ours.cpu for r in done], ours),
        over_loop(
            "Spin, depth first, exact", [r.spin.cpu for r in done], [r.near_spin for r in done]
        ),
        of(
            "Spin over groupcheck, whole runs",
            [r.spin.cpu / r.ours.cpu for r in done],
            "times",
            scope.ahead_of_spin,
        ),
    ]
    if scope.two_workers and all(r.two for r in done):
        walls = [r.ours.wall / r.two.wall for r in done if r.two]
        rows.append(
            of("groupcheck, one worker over two, wall time", walls, "times", scope.two_workers)
        )
    rows += [
        of(
            "groupcheck, memory above an empty run",
            [(r.ours.peak - empty) / states for r in done],
            "B/state",
            scope.bytes_per_state,
        ),
        of("Spin, memory", [r.spin.peak / states for r in done], "B/state"),
        of("C loop, memory", [r.before.peak / states for r in done], "B/state"),
    ]
    return Section(f"{scope.title}; {rounds} rounds", rows)


def own(rounds: int) -> Section:
    """A protocol with few rule calls and many transitions: what the loops do by themselves."""
    managers, counts = TWO_PHASE
    empty = median(programs.groupcheck(TINY[1], "small_group", *TINY[0]).peak for _ in range(3))
    runs = [programs.groupcheck(counts, "two_phase_commit", managers) for _ in range(rounds)]
    speeds = [counts.transitions / r.cpu / 1e6 for r in runs]
    rows = [
        Row(
            "groupcheck, whole run",
            median(speeds),
            "M trans/s",
            speeds,
            median(r.cpu for r in runs),
        ),
        Row(
            "groupcheck, memory above an empty run",
            median((r.peak - empty) / counts.states for r in runs),
            "B/state",
        ),
    ]
    return Section(
        f"two-phase commit, {managers} managers: {counts.states:,} states, {counts.transitions:,}"
        f" transitions; {rounds} rounds",
        rows,
    )


def whole(rounds: int) -> Section:
    """A whole protocol: a transition is a chain of urgent rules, and many rules are called."""
    scope, counts = CLASSIC
    empty = median(programs.groupcheck(TINY[1], "small_group", *TINY[0]).peak for _ in range(3))
    both = [
        [programs.groupcheck(counts, *how, "classic", *scope) for how in ((), ("--symmetry",))]
        for _ in range(rounds)
    ]
    runs, reduced = zip(*both)
    shorter = [float(b.answer["loops"]) / float(a.answer["loops"]) for a, b in both]
    cheaper = [b.cpu / a.cpu for a, b in both]
    spent = [float(r.answer["loops"]) for r in runs]
    each = [seconds / counts.transitions * 1e6 for seconds in spent]
    speeds = [r.cpu / counts.transitions * 1e6 for r in runs]
    memory = [(r.peak - empty) / counts.states for r in runs]
    rows = [
        Row("groupcheck, loops", median(each), "us/trans", each, median(spent)),
        Row(
            "groupcheck, whole run",
            median(speeds),
            "us/trans",
            speeds,
            median(r.cpu for r in runs),
        ),
        Row("groupcheck, memory above an empty run", median(memory), "B/state", memory),
        Row("with symmetry, loops", median(shorter), "x without", shorter),
        Row(
            "with symmetry, whole run",
            median(cheaper),
            "x without",
            cheaper,
            median(r.cpu for r in reduced),
        ),
    ]
    return Section(
        f"classic, {scope[0]} members, any {scope[1]} faults: {counts.states:,} states,"
        f" {counts.transitions:,} transitions; {rounds} rounds",
        rows,
    )


def progress(rounds: int) -> Section:
    """Promises about runs of the consumer group beside the search of the same states alone."""
    rows = []
    for scope, how, promises, counts in PROGRESS:
        asked = (*how, "consumer", *scope)
        judged = ("--progress", ",".join(promises), *asked)
        turns = [
            [programs.groupcheck(counts, *x) for x in (asked, judged, asked)] for _ in range(rounds)
        ]
        cpu = [[float(one.answer["cpu"]) for one in turn] for turn in turns]
        ratios = [2 * b / (a + c) for a, b, c in cpu]
        what = f"{scope[0]} members{', orbits' * bool(how)}: {', '.join(promises)}"
        spent = median(b for _, b, _ in cpu)
        rows.append(Row(what, median(ratios), "x search", ratios, spent, ("<=", 5.0)))
    return Section(f"progress: CPU of search and promises; {rounds} rounds", rows)


def cliffs(rounds: int) -> Section:
    """Protocols that tables do not serve, beside a search of 15 lines."""
    rows = []
    for what, cliff, target in CLIFFS:
        turns = [(cliff("plain"), cliff("ours"), cliff("plain")) for _ in range(rounds)]
        ours = [float(our.answer["cpu"]) for _, our, _ in turns]
        near = [(float(a.answer["cpu"]) + float(b.answer["cpu"])) / 2 for a, _, b in turns]
        ratios = [o / n for o, n in zip(ours, near)]
        rows.append(Row(what, median(ratios), "x 15 lines", ratios, median(ours), target))
        depth = turns[0][1].answer["depth"]
        if depth > cliff.expected.states / 2:
            each = [1e6 * o / depth for o in ours]
            rows.append(Row("  each level", median(each), "us", each, None, ("<=", 20)))
    return Section(f"no tables, or narrow levels: CPU of the search alone; {rounds} rounds", rows)


def start(rounds: int, folder: Path) -> Section:
    """What a user waits for."""
    scope, counts = START
    help_ = [run([Path(sys.executable).with_name("groupcheck"), "--help"]) for _ in range(rounds)]
    small = [programs.groupcheck(counts, "small_group", *scope) for _ in range(rounds)]
    first = programs.groupcheck(
        counts,
        "small_group",
        *scope,
        extra={"GROUPCHECK_CACHE_DIR": str(folder / "nothing_compiled")},
    )

    def waited(name: str, runs: Sequence[Run], bound: float) -> Row:
        walls = [r.wall for r in runs]
        return Row(name, median(walls), "s", walls, median(r.cpu for r in runs), ("<=", bound))

    rows = [
        waited("groupcheck --help", help_, 0.3),
        waited(f"{counts.states:,} states, compiled code cached", small, 2),
        waited("the same, nothing compiled yet", [first], 20),
    ]
    return Section(f"start, wall time (of an idle machine); {rounds} rounds", rows)


def main() -> int:
    parser = argparse.ArgumentParser(description="groupcheck beside Spin and a C loop, in turn")
    parser.add_argument("--quick", action="store_true", help="the smaller scope alone")
    parser.add_argument(
        "--rounds", type=int, help="rounds for every scope (5 for the smaller, 3 for the larger)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure of every run")
    chosen = parser.parse_args()
    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit(143)
    )  # like Ctrl-C: the program that runs is ended, the folder removed
    about = machine()
    print(
        f"{about['cpu']}, {about['cores']} cores, load {about['load']}. Medians; ratios are between"
        " neighbouring runs.\n",
        flush=True,
    )
    sections = []
    with tempfile.TemporaryDirectory(prefix="groupcheck_bench_") as name:
        folder = Path(name)
        try:
            for scope in (SMALLER,) if chosen.quick else (SMALLER, LARGER):
                sections.append(beside(scope, chosen.rounds or scope.rounds, folder))
                print(text(sections[-1]), flush=True)
            if not chosen.quick:
                sections.append(own(chosen.rounds or 3))
                print(text(sections[-1]), flush=True)
                sections.append(whole(chosen.rounds or 3))
                print(text(sections[-1]), flush=True)
            sections.append(progress(chosen.rounds or 3))
            print(text(sections[-1]), flush=True)
            sections.append(cliffs(chosen.rounds or 3))
            print(text(sections[-1]), flush=True)
            sections.append(start(chosen.rounds or 5, folder))
            print(text(sections[-1]), flush=True)
        except Failed as why:
            print(f"error: {why}", file=sys.stderr)
            return 1
    if chosen.json:
        chosen.json.write_text(json.dumps(document(sections), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
