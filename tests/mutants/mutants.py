"""`make mutants-engine`: changes one token after the other in the lines that verdicts depend on,
and shows which changes no test notices.

mutants.py TARGET [--file PART]... [--sample N --seed S] [--quick] [--jobs N] [--results FILE]

Results are kept: what was killed stays killed until its file changes, what survived is tried again
when a test changes. Exits with 1 where a mutant survived that is not known to be equivalent, or
where an entry of the list of equivalents fits no mutant.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import queue
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from attrs import asdict
from mutate import Mutant, mutants
from targets import ROOT, TARGETS, Target, equivalents
from trial import KILLED, SURVIVED, TIMED_OUT, Court, Outcome, tracked

EQUIVALENT = "equivalent"
Key = tuple[str, str, str, str, int]


def digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:20]


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

    def get(self, name: str) -> Outcome | None:
        return self._known.get(name)

    def add(self, name: str, mutant: Mutant, outcome: Outcome) -> None:
        """Kept at once: the next run goes on where this one was stopped."""
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
    rng = random.Random(seed)
    by_file: dict[str, list[Mutant]] = {}
    for m in found:
        by_file.setdefault(m.file, []).append(m)
    for of_file in by_file.values():
        rng.shuffle(of_file)
    picked: list[Mutant] = []
    while len(picked) < sample:
        picked += [of_file.pop() for of_file in by_file.values() if of_file]
    return picked[:sample]


def tried(
    wanted: Sequence[Mutant],
    root: Path,
    judge: Sequence[str],
    results: Results,
    jobs: int,
    say: Callable[[str], None],
) -> dict[Key, Outcome]:
    """What becomes of each mutant. Raises `SystemExit` where the judge fails the original."""
    names = {m.key: digest((root / m.file).read_text(), *map(str, m.key)) for m in wanted}
    open_ = [m for m in wanted if results.get(names[m.key]) is None]
    if open_:
        with tempfile.TemporaryDirectory(prefix="groupcheck-mutants-") as place:
            courts: queue.Queue[Court] = queue.Queue()
            first = Court(Path(place, "0"), judge)
            original = first.begin(root)
            if original.verdict != SURVIVED:
                raise SystemExit(f"the judge fails without any mutant: {original.by}")
            say(f"the original: {original.seconds:.0f} s")
            courts.put(first)
            for k in range(1, min(jobs, len(open_))):
                courts.put(first.another(Path(place, str(k))))

            def one(mutant: Mutant) -> Outcome:
                court = courts.get()
                try:
                    return court.put_on_trial(mutant)
                finally:
                    courts.put(court)

            with ThreadPoolExecutor(jobs) as pool:
                trials = {pool.submit(one, m): m for m in open_}
                for done, future in enumerate(as_completed(trials), 1):
                    mutant, outcome = trials[future], future.result()
                    results.add(names[mutant.key], mutant, outcome)
                    say(f"{done}/{len(open_)} {row(mutant, outcome.verdict, outcome)}")
    outcomes = {m.key: results.get(names[m.key]) for m in wanted}
    return {key: outcome for key, outcome in outcomes.items() if outcome}


def row(m: Mutant, verdict: str, outcome: Outcome) -> str:
    by = f" by {outcome.by}" if outcome.by else ""
    nth = f" (the {m.nth}. such)" if m.nth > 1 else ""
    where = f"{m.file}:{m.line} {m.function}{nth}"
    return f"{verdict}{by}, {outcome.seconds:.0f} s: {where}\n    {m.before}\n    {m.after}"


def verdict_of(m: Mutant, outcome: Outcome, known: Mapping[Key, str]) -> str:
    return EQUIVALENT if outcome.verdict == SURVIVED and m.key in known else outcome.verdict


def table(
    wanted: Sequence[Mutant], outcomes: Mapping[Key, Outcome], known: Mapping[Key, str]
) -> str:
    """Mutants by file and verdict, then the survivors."""
    counts: dict[str, Counter[str]] = {}
    for m in wanted:
        counts.setdefault(m.file, Counter())[verdict_of(m, outcomes[m.key], known)] += 1
    columns = (KILLED, TIMED_OUT, EQUIVALENT, SURVIVED)
    lines = [f"{'file':<36}" + "".join(f"{c:>12}" for c in columns)]
    for file, of_file in counts.items():
        lines.append(f"{file:<36}" + "".join(f"{of_file[c]:>12}" for c in columns))
    total = sum(counts.values(), Counter())
    lines.append(f"{'all':<36}" + "".join(f"{total[c]:>12}" for c in columns))
    for m in wanted:
        if verdict_of(m, outcomes[m.key], known) == SURVIVED:
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
    outcomes = tried(wanted, root, judge, results, jobs, say)
    say(table(wanted, outcomes, known))
    survived = [m for m in wanted if verdict_of(m, outcomes[m.key], known) == SURVIVED]
    return 1 if old or survived else 0


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="mutants.py")
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument(
        "--file", action="append", metavar="PART", help="only files with this in their name"
    )
    parser.add_argument("--sample", type=int, help="so many mutants, equally many of each file")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--quick", action="store_true", help="only the quick tests judge")
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
        jobs=given.jobs,
        say=lambda text: print(text, flush=True),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
