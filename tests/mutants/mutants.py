"""`make mutants-engine`: changes one token after the other in the lines that verdicts depend on,
and shows which changes no test notices.

mutants.py TARGET [--file PART]... [--sample N --seed S] [--quick] [--table] [--jobs N]
           [--results FILE]

Results are kept, so a run that was stopped (Ctrl-C) goes on: what was killed stays killed until its
file changes, what survived is tried again when a test changes. Exits with 1 where a mutant survived
that is not known to be equivalent, or where an entry of the list of equivalents fits no mutant.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import queue
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from attrs import asdict
from mutate import Mutant, mutants
from sampling import spread
from targets import ROOT, TARGETS, Target, equivalents
from trial import KILLED, SURVIVED, TIMED_OUT, Court, Outcome, tracked

EQUIVALENT, NOT_TRIED = "equivalent", "not tried"
STOPPED = 130  # the exit code of a run that was stopped
Key = tuple[str, str, str, str, int]


def digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:20]


def _name(mutant: Mutant, root: Path) -> str:
    """Another one as soon as the file changes."""
    return digest((root / mutant.file).read_text(), *map(str, mutant.key))


class Results:
    """A file of JSON lines: what became of mutants in this run and in earlier ones."""

    def __init__(self, file: Path, judge: str) -> None:
        self._file, self._judge = file, judge
        self._known: dict[str, Outcome] = {}
        for line in file.read_text().splitlines() if file.exists() else ():
            told = json.loads(line)
            outcome = Outcome(**told["outcome"])
            if outcome.verdict != SURVIVED or told["judge"] == judge:
                self._known[told["name"]] = outcome
            else:
                self._known.pop(told["name"], None)

    def of(self, mutant: Mutant, root: Path) -> Outcome | None:
        """What became of the mutant; None if it has not been tried, or must be tried again."""
        return self._known.get(_name(mutant, root))

    def add(self, mutant: Mutant, root: Path, outcome: Outcome) -> None:
        """Kept at once: the next run goes on where this one was stopped."""
        name = _name(mutant, root)
        self._known[name] = outcome
        about = {"name": name, "judge": self._judge, "mutant": mutant.key}
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a") as file:
            file.write(json.dumps(about | {"outcome": asdict(outcome)}) + "\n")


def stale(known: Iterable[Key], files: Iterable[str], found: Iterable[Mutant]) -> list[Key]:
    """The entries about these files that fit no mutant any more."""
    keys, about = {m.key for m in found}, {*files}
    return [key for key in known if key[0] in about and key not in keys]


def chosen(found: Sequence[Mutant], sample: int | None, seed: int) -> list[Mutant]:
    """All mutants, or so many of them, as equally many from each file as there are."""
    if sample is None or sample >= len(found):
        return list(found)
    return spread(found, seed, lambda m: m.file)[:sample]


def tried(
    wanted: Sequence[Mutant],
    root: Path,
    judge: Sequence[str],
    results: Results,
    jobs: int,
    say: Callable[[str], None],
) -> None:
    """Tries the mutants that have no result. Raises `SystemExit` where the judge fails the
    original.
    """
    open_ = [m for m in wanted if results.of(m, root) is None]
    if open_:
        with tempfile.TemporaryDirectory(prefix="groupcheck-mutants-") as place:
            first = Court(Path(place, "0"), judge)
            original = first.begin(root)
            if original.verdict != SURVIVED:
                raise SystemExit(f"the judge fails without any mutant: {original.by}")
            say(f"the original: {original.seconds:.0f} s")
            others = (first.another(Path(place, str(k))) for k in range(1, min(jobs, len(open_))))
            trials(open_, [first, *others], root, results, say)


def trials(
    open_: Sequence[Mutant],
    courts: Sequence[Court],
    root: Path,
    results: Results,
    say: Callable[[str], None],
) -> None:
    """Tries these mutants, as many at once as there are courts."""
    free: queue.Queue[Court] = queue.Queue()
    for court in courts:
        free.put(court)

    def one(mutant: Mutant) -> Outcome:
        court = free.get()
        try:
            return court.put_on_trial(mutant)
        finally:
            free.put(court)

    began = time.monotonic()
    with ThreadPoolExecutor(len(courts)) as pool:
        under_way = {pool.submit(one, m): m for m in open_}
        try:
            for done, future in enumerate(as_completed(under_way), 1):
                mutant, outcome = under_way[future], future.result()
                results.add(mutant, root, outcome)
                minutes = (time.monotonic() - began) / done * (len(open_) - done) / 60
                left = f"{done}/{len(open_)}, about {minutes:.0f} min left"
                say(f"{left}: {row(mutant, outcome.verdict, outcome)}")
        except BaseException:  # a trial that was stopped has no result
            pool.shutdown(wait=False, cancel_futures=True)
            for court in courts:
                court.stop()
            raise


def row(m: Mutant, verdict: str, outcome: Outcome) -> str:
    by = f" by {outcome.by}" if outcome.by else ""
    nth = f" (the {m.nth}. such)" if m.nth > 1 else ""
    where = f"{m.file}:{m.line} {m.function}{nth}"
    return f"{verdict}{by}, {outcome.seconds:.0f} s: {where}\n    {m.before}\n    {m.after}"


def verdict_of(m: Mutant, outcome: Outcome | None, known: Mapping[Key, str]) -> str:
    if outcome is None:
        return NOT_TRIED
    return EQUIVALENT if outcome.verdict == SURVIVED and m.key in known else outcome.verdict


def table(
    wanted: Sequence[Mutant], outcomes: Mapping[Key, Outcome], known: Mapping[Key, str]
) -> str:
    """Mutants by file and verdict, then the survivors."""
    counts: dict[str, Counter[str]] = {}
    for m in wanted:
        counts.setdefault(m.file, Counter())[verdict_of(m, outcomes.get(m.key), known)] += 1
    columns = (KILLED, TIMED_OUT, EQUIVALENT, SURVIVED, NOT_TRIED)
    lines = [f"{'file':<36}" + "".join(f"{c:>12}" for c in columns)]
    for file, of_file in counts.items():
        lines.append(f"{file:<36}" + "".join(f"{of_file[c]:>12}" for c in columns))
    total = sum(counts.values(), Counter())
    lines.append(f"{'all':<36}" + "".join(f"{total[c]:>12}" for c in columns))
    for m in wanted:
        if verdict_of(m, outcomes.get(m.key), known) == SURVIVED:
            lines.append(row(m, SURVIVED, outcomes[m.key]))
    return "\n".join(lines)


def run(
    target: Target,
    root: Path,
    known: Mapping[Key, str],
    file: Path,
    *,
    only: Sequence[str] = ("",),
    sample: int | None = None,
    seed: int = 0,
    quick: bool = False,
    only_table: bool = False,
    jobs: int = 2,
    say: Callable[[str], None] = print,
) -> int:
    """Tries a target's mutants and prints the table: the exit code."""
    files = [name for name in target.files if any(part in name for part in only)]
    found = [m for name in files for m in mutants(name, (root / name).read_text())]
    old = stale(known, files, found)
    for key in old:
        say(f"no such mutant any more, in the list of equivalents: {key}")
    wanted = chosen(found, sample, seed)
    tests = [n for n in tracked(root) if n.startswith("tests/") and n.endswith(".py")]
    judge = target.quick if quick else (*target.quick, *target.more)
    results = Results(file, digest(*judge, *((root / n).read_text() for n in tests)))
    stopped = False
    if not only_table:
        try:
            tried(wanted, root, judge, results, jobs, say)
        except KeyboardInterrupt:
            stopped = True
            say("stopped; the same command goes on")
    outcomes = {m.key: outcome for m in wanted if (outcome := results.of(m, root))}
    say(table(wanted, outcomes, known))
    survived = [m for m in wanted if verdict_of(m, outcomes.get(m.key), known) == SURVIVED]
    return STOPPED if stopped else 1 if old or survived else 0


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="mutants.py")
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument(
        "--file", action="append", metavar="PART", help="only files with this in their name"
    )
    parser.add_argument("--sample", type=int, help="so many mutants, equally many of each file")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--quick", action="store_true", help="only the quick tests judge")
    parser.add_argument("--table", action="store_true", help="show what is known, try nothing")
    parser.add_argument("--jobs", type=int, default=2, help="trials at once")
    parser.add_argument("--results", type=Path, help="where results are kept")
    given = parser.parse_args(arguments)
    target = TARGETS[given.target]
    return run(
        target,
        ROOT,
        equivalents(Path(__file__).parent / target.equivalents),
        given.results or ROOT / "build" / f"mutants-{given.target}.jsonl",
        only=given.file or [""],
        sample=given.sample,
        seed=given.seed,
        quick=given.quick,
        only_table=given.table,
        jobs=given.jobs,
        say=lambda text: print(text, flush=True),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
