"""`make mutants-protocol`: puts one mistake after the other into the rules of the protocol, and
shows which judge notices it.

protocol.py [--side coordinator|member|link|'consumer groups'] [--match TEXT] [--written]
            [--sample N --seed S] [--judges conform,member,whole,consumer,check,tests,walks]
            [--small] [--table] [--results FILE] [--json]

`conform` must notice every mistake of the coordinator, `conform --side member` or `conform --whole`
every mistake of the member, and one of the three every mistake of the link (the connection between
them). `conform consumer` must notice every mistake of consumer groups, of which `check` and `walks`
know nothing. `whole` is asked about what the others did not notice. A mistake that they do not
notice is an equivalent within the scopes if its rows are those of the original, or give the same
answers to every sequence of inputs, and neither a promise nor a test breaks. Any other must stand
in `equivalent_in_protocol.toml`, with the reason. Exits with 1 if one does not, or if an entry fits
no mistake.

Results are kept, so a run that was stopped (Ctrl-C) goes on: a mistake that was noticed is not
tried again until its file changes; one that was not noticed is also tried again when the judge
changes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from attrs import frozen
from forks import CRASHED, FAILED, TIMED_OUT
from judges import (
    ANOTHER_SIZE,
    KILLED,
    NONE,
    SAME_BEHAVIOUR,
    SAME_ROWS,
    SCOPES,
    SMALL,
    SURVIVED,
    UNKNOWN,
    Scopes,
)
from mistakes import COORDINATOR, GROUPS, HERE, LINK, MEMBER, PROTOCOL, TOKEN, Mistake, equivalents
from mistakes import mistakes as all_mistakes
from mutants import STOPPED, digest
from rich.console import Console
from rich.table import Table
from sampling import spread
from targets import ROOT
from trial import copy_checkout, tracked

WALKS, WHOLE, CONSUMER = "walks", "whole", "consumer"
JUDGES = ("conform", "member", WHOLE, CONSUMER, "check", "tests")  # by default
ROWS, ROWS_OF_MEMBER = "rows", "rows of the member"
TABLES = {"conform": ROWS, "member": ROWS_OF_MEMBER}
REAL = {
    COORDINATOR: ("conform",),
    MEMBER: ("member", WHOLE),
    LINK: ("conform", "member", WHOLE),
    GROUPS: (CONSUMER,),
}
EXECUTE = frozenset(judge for some in REAL.values() for judge in some)
READ = {  # what a judge's verdict depends on, beside the mistake
    "conform": ("model/protocol", "oracles/conform", "oracles/kafka", "tests/mutants/judges.py"),
    "member": ("model/protocol", "oracles/conform", "oracles/kafka", "tests/mutants/judges.py"),
    WHOLE: ("model/protocol", "oracles/conform", "oracles/kafka", "tests/mutants/judges.py"),
    CONSUMER: ("model/protocol", "oracles/consumer", "oracles/kafka", "tests/mutants/judges.py"),
    "check": ("model", "invariants", "tests/mutants/judges.py"),
    "tests": ("model", "tests/model"),
    WALKS: ("model/protocol", "oracles/conform", "oracles/kafka", "tests/oracles/conform"),
    ROWS: ("model/protocol", "oracles/conform/rows.py", "tests/mutants/judges.py"),
    ROWS_OF_MEMBER: ("model/protocol", "oracles/conform/member", "tests/mutants/judges.py"),
}
# A judge may take so many seconds, or so many times what it took for the original if that is more:
# on a busy machine everything takes longer.
MOST_S = {"conform": 3000, "member": 900, "check": 240, "tests": 240}
OF_ORIGINAL_S, TIMES_ORIGINAL = 7200, 4
NOTICED = (KILLED, UNKNOWN, CRASHED, TIMED_OUT)
EQUIVALENT = "equivalent"
Told = Mapping[str, Any]
Say = Callable[[str], None]


@frozen
class Tried:
    """What the judges said of a mistake: judge -> what it told."""

    mistake: Mistake
    told: Mapping[str, Told]

    def noticed(self, judge: str) -> bool:
        return judge in self.told and self.told[judge]["verdict"] in NOTICED

    @property
    def real(self) -> list[str]:
        """The judges that execute Kafka's own code and must notice the mistake, as far as they
        were asked and could judge it.
        """
        asked = [j for j in REAL[self.mistake.side] if j in self.told]
        return [j for j in asked if self.told[j]["verdict"] != NONE]

    @property
    def survives(self) -> bool:
        """Was it compared with Kafka's own code, and not noticed?"""
        return bool(self.real) and not any(self.noticed(j) for j in self.real)

    @property
    def same(self) -> str:
        """Why it is an equivalent within the scopes; empty if that is not known. A mistake that
        breaks a promise or a test is no equivalent, whatever the rows say.
        """
        tables = [self.told.get(TABLES[judge]) for judge in self.real if judge in TABLES]
        if not tables or not all(t and t["verdict"] == SURVIVED for t in tables):
            return ""
        check, tests = self.told["check"], self.told["tests"]
        keeps = check["verdict"] == SURVIVED or check["by"] == ANOTHER_SIZE
        if not keeps or tests["verdict"] != SURVIVED:
            return ""
        return max((t["by"] for t in tables if t), key=len)


class Bench:
    """A copy of the checkout, and the process that forks for each trial."""

    def __init__(self, root: Path, place: Path, scopes: Scopes) -> None:
        self.place, self._scopes = place, scopes
        copy_checkout(root, place)
        path = os.environ | {"PYTHONPATH": str(place / "src")}
        compiles = [sys.executable, "-m", "compileall", "-q", "src", "model", "oracles"]
        subprocess.run(compiles, cwd=place, env=path, check=True)
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "forks.py"), str(place)],
            cwd=place,
            env=path | {"PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._usual: dict[str, Told] = {}

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()

    def usual(self, judge: str) -> Told:
        """What the judge says of the original. Raises `SystemExit` if it finds a mistake there."""
        if judge not in self._usual:
            told = self._ask("link.py", None, judge, None)
            if told["verdict"] not in (SURVIVED, NONE):
                raise SystemExit(f"{judge} notices a mistake in the original: {told['by']}")
            self._usual[judge] = told
        return self._usual[judge]

    def judged(self, mistake: Mistake, judge: str) -> Told:
        """What the judge says of the mistake."""
        usual = self.usual(judge)
        if usual["verdict"] == NONE:
            return usual
        return self._ask(mistake.file, mistake.source, judge, usual)

    def _ask(self, file: str, source: str | None, judge: str, usual: Told | None) -> Told:
        most = MOST_S.get(judge, 400)
        trial = {
            "file": str(PROTOCOL / file),
            "source": source,
            "judge": judge,
            "usual": usual,
            "scopes": self._scopes,
            "seconds": max(most, TIMES_ORIGINAL * usual["seconds"]) if usual else OF_ORIGINAL_S,
        }
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(trial) + "\n")
        self._process.stdin.flush()
        told: Told = json.loads(self._process.stdout.readline())
        if told["verdict"] == FAILED:
            raise SystemExit(f"the judge {judge} fails: {told['by']}")
        return told


class Results:
    """A file of JSON lines: what the judges said in this run and in earlier ones."""

    def __init__(self, file: Path, root: Path, scopes: Scopes) -> None:
        self._file, self._known = file, dict[tuple[str, str], Told]()
        names = tracked(root)
        self._read = {
            judge: digest(
                repr(scopes), *((root / n).read_text() for n in names if n.startswith(read))
            )
            for judge, read in READ.items()
        }
        for line in file.read_text().splitlines() if file.exists() else ():
            one = json.loads(line)
            self._known[one["mistake"], one["judge"]] = one

    def get(self, mistake: Mistake, judge: str) -> Told | None:
        one = self._known.get((mistake.name, judge))
        if one is None or one["source"] != digest(mistake.source):
            return None
        told: Told = one["told"]
        return told if told["verdict"] in NOTICED or one["read"] == self._read[judge] else None

    def add(self, mistake: Mistake, judge: str, told: Told) -> None:
        """Kept at once: the next run goes on where this one was stopped."""
        short = {k: told[k] for k in ("verdict", "by", "seconds")}
        one = {
            "mistake": mistake.name,
            "judge": judge,
            "source": digest(mistake.source),
            "read": self._read[judge],
            "told": short,
        }
        self._known[mistake.name, judge] = one
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a") as file:
            file.write(json.dumps(one) + "\n")


def chosen(
    found: Sequence[Mistake], sample: int | None, seed: int, side: str, match: str, written: bool
) -> list[Mistake]:
    """Those that are asked for, in the order of the catalogues and files. Of a sample, equally many
    of each file, and in each file of each kind, in an order in which every beginning is a sample.
    """
    left = [
        m
        for m in found
        if side in ("", m.side)
        and match in f"{m.kind}: {m.name}"
        and not (written and m.kind == TOKEN)
    ]
    if sample is None or sample >= len(left):
        return left
    return spread(left, seed, lambda m: m.file, lambda m: m.kind)[:sample]


@contextmanager
def bench(root: Path, scopes: Scopes) -> Iterator[Bench]:
    with tempfile.TemporaryDirectory(prefix="groupcheck-mistakes-") as place:
        made = Bench(root, Path(place), scopes)
        try:
            yield made
        finally:
            made.close()


class NotTried(Exception):
    """A judge has not said anything of a mistake yet, and nobody may ask it."""


class Hearings:
    """Asks the judges about one mistake after the other. `asked`: how often no result was kept
    from an earlier run. Without a court, only what was kept is known: raises `NotTried`.
    """

    def __init__(self, judges: Sequence[str], court: Bench | None, results: Results) -> None:
        self._judges, self._court, self._results = judges, court, results
        self.asked = 0

    def _ask(self, mistake: Mistake, judge: str) -> Told:
        known = self._results.get(mistake, judge)
        if known is not None:
            return known
        if self._court is None:
            raise NotTried
        self.asked += 1
        told = self._court.judged(mistake, judge)
        if told["verdict"] != NONE:
            self._results.add(mistake, judge, told)
        return told

    def tried(self, mistake: Mistake) -> Tried:
        """What becomes of the mistake."""
        others = ("tests",) if mistake.side == GROUPS else {*self._judges} - EXECUTE
        asked = [j for j in self._judges if j in REAL[mistake.side] or j in others]
        told = {judge: self._ask(mistake, judge) for judge in asked if judge != WHOLE}
        if WHOLE in asked and Tried(mistake, told).survives:
            told[WHOLE] = self._ask(mistake, WHOLE)
        one = Tried(mistake, told)
        if not one.survives:
            return one
        for judge in one.real:
            if told[judge]["by"] in (SAME_ROWS, SAME_BEHAVIOUR):  # it has compared them itself
                told[TABLES[judge]] = told[judge]
        more = [*(TABLES[judge] for judge in one.real if judge in TABLES), "check", "tests"]
        return Tried(mistake, told | {j: told.get(j) or self._ask(mistake, j) for j in more})


def tried(
    wanted: Sequence[Mistake], judges: Sequence[str], court: Bench, results: Results, say: Say
) -> None:
    """Tries the mistakes that have no result."""
    hearings, began = Hearings(judges, court, results), time.monotonic()
    for done, mistake in enumerate(wanted, 1):
        before = hearings.asked
        one = hearings.tried(mistake)
        if hearings.asked > before:
            minutes = (time.monotonic() - began) / done * (len(wanted) - done) / 60
            say(f"{done}/{len(wanted)}, about {minutes:.0f} min left: {line(one, judges)}")


def known_results(
    wanted: Sequence[Mistake], judges: Sequence[str], results: Results
) -> Iterator[Tried]:
    """Those that have been tried, in this run or in earlier ones."""
    hearings = Hearings(judges, None, results)
    for mistake in wanted:
        with suppress(NotTried):
            yield hearings.tried(mistake)


def line(one: Tried, judges: Sequence[str]) -> str:
    said = ", ".join(f"{j} {one.told[j]['verdict']}" for j in judges if j in one.told)
    same = f" ({one.same})" if one.same else ""
    return f"{one.mistake.side}, {one.mistake.kind}: {one.mistake.name}: {said}{same}"


def verdict_of(one: Tried, known: Mapping[str, str]) -> str:
    """What became of it in the end."""
    if not one.real:
        return NONE
    if not one.survives:
        return KILLED
    return EQUIVALENT if one.same or one.mistake.name in known else SURVIVED


def summary(out: Sequence[Tried], judges: Sequence[str], known: Mapping[str, str]) -> Table:
    """Mistakes by side and kind, and how many of them each judge notices."""
    table = Table("side", "kind", box=None, header_style="bold")
    for name in ("mistakes", *judges, EQUIVALENT, SURVIVED):
        table.add_column(name, justify="right")
    groups: dict[tuple[str, str], list[Tried]] = {}
    for one in out:
        groups.setdefault((one.mistake.side, one.mistake.kind), []).append(one)
    for (side, kind), some in sorted(groups.items()):
        table.add_row(side, kind, *_figures(some, judges, known))
    table.add_row("all", "", *_figures(out, judges, known), style="bold")
    return table


def _figures(some: Sequence[Tried], judges: Sequence[str], known: Mapping[str, str]) -> list[str]:
    cells = [str(len(some))]
    for judge in judges:
        asked = [one for one in some if judge in one.told and one.told[judge]["verdict"] != NONE]
        cells.append(f"{sum(one.noticed(judge) for one in asked)}/{len(asked)}" if asked else NONE)
    became = Counter(verdict_of(one, known) for one in some)
    return [*cells, str(became[EQUIVALENT]), str(became[SURVIVED])]


def document(
    out: Sequence[Tried], judges: Sequence[str], known: Mapping[str, str], old: Sequence[str]
) -> dict[str, Any]:
    """Everything, as plain JSON."""
    return {
        "judges": list(judges),
        "mistakes": [
            {
                "name": one.mistake.name,
                "side": one.mistake.side,
                "kind": one.mistake.kind,
                "file": one.mistake.file,
                "diff": list(one.mistake.diff),
                "judges": {
                    judge: {k: told[k] for k in ("verdict", "by")}
                    for judge, told in one.told.items()
                },
                "verdict": verdict_of(one, known),
                "why_equivalent": known.get(one.mistake.name, one.same) if one.survives else "",
            }
            for one in out
        ],
        "entries_that_fit_nothing": list(old),
    }


def run(arguments: Sequence[str], root: Path = ROOT) -> int:
    given = _parser().parse_args(arguments)
    judges = [j for j in (*JUDGES, WALKS) if j in given.judges.split(",")]
    found = all_mistakes(root)
    known = equivalents(HERE / "equivalent_in_protocol.toml")
    old = sorted(set(known) - {m.name for m in found})
    wanted = chosen(found, given.sample, given.seed, given.side, given.match, given.written)
    scopes = SMALL if given.small else SCOPES
    results = Results(given.results or root / "build" / "mutants-protocol.jsonl", root, scopes)
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    stopped = False
    if not given.table:
        try:
            with bench(root, scopes) as court:
                tried(wanted, judges, court, results, lambda t: console.print(t, markup=False))
        except KeyboardInterrupt:
            stopped = True
            console.print("stopped; the same command goes on")
    out = [*known_results(wanted, judges, results)]
    console.print(f"{len(out)} of {len(wanted)} have been tried")
    if given.json:
        print(json.dumps(document(out, judges, known, old), indent=2))
    else:
        show(out, judges, known, old)
    if stopped:
        return STOPPED
    return 1 if old or any(verdict_of(one, known) == SURVIVED for one in out) else 0


def show(
    out: Sequence[Tried], judges: Sequence[str], known: Mapping[str, str], old: Sequence[str]
) -> None:
    """The table, the survivors with what they change, and entries that fit nothing."""
    console = Console(highlight=False)
    console.print(summary(out, judges, known))
    for one in out:
        if verdict_of(one, known) == SURVIVED:
            console.print(f"\nsurvived: {line(one, judges)}", markup=False, style="bold red")
            console.print(f"  {one.mistake.file}", markup=False)
            for text in one.mistake.diff:
                console.print(f"  {text}", markup=False)
    for name in old:
        console.print(f"\nno such mistake any more, in the list of equivalents: {name}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="protocol.py")
    parser.add_argument("--side", choices=sorted(REAL), default="", help="only these mistakes")
    parser.add_argument("--match", default="", metavar="TEXT", help="only those with this in them")
    parser.add_argument("--written", action="store_true", help="no mutants of single tokens")
    parser.add_argument("--sample", type=int, help="so many, equally many of each file")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--judges", default=",".join(JUDGES), help="who judges: %(default)s")
    parser.add_argument("--small", action="store_true", help="the coordinator's smallest scopes")
    parser.add_argument("--table", action="store_true", help="show what is known, try nothing")
    parser.add_argument("--results", type=Path, help="where results are kept")
    parser.add_argument("--json", action="store_true", help="everything, as JSON")
    return parser


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
