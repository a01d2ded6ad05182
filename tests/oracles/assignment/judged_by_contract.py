"""How the contract judges an assignor, without looking for the smallest group; and the whole gate
with the default number of examples and three seeds, which `make nightly` runs.

usage: judged_by_contract.py
"""

from __future__ import annotations

import sys
from itertools import product

from wrong_assignors import WRONG

from groupcheck.oracles.assignment.against.groups import drawn
from groupcheck.oracles.assignment.against.libraries import callables
from groupcheck.oracles.assignment.against.promise_questions import AGAIN, Answers, asked_of
from groupcheck.oracles.assignment.against.searches import EXAMPLES
from groupcheck.oracles.assignment.promises import ASSIGNORS, variants

SEEDS = (0, 1, 2)


def breaches(assignor, like, *, examples=EXAMPLES, seed=0):
    """For each promise the first group in which an assignor breaks it, and Kafka's own does not."""
    mine, own = (
        Answers(callables.library("tests:assignor", one, like).assignors[0])
        for one in (assignor, ASSIGNORS[like])
    )
    for asked in asked_of(mine.offered):
        for kind in asked.kinds(like) if asked is not AGAIN else ():
            for group in drawn(kind, asked.count(kind, examples), seed):
                if mine.broken(asked, group) and not any(
                    own.broken(asked, one) for one in variants(group)
                ):
                    yield asked.promise, group
                    break


def main():
    """Prints each wrong assignor that survives, and each of Kafka's own that fails."""
    wrong = 0
    for seed, (name, (like, assignor)) in product(SEEDS, WRONG.items()):
        if next(breaches(assignor, like, seed=seed), None) is None:
            print(f"seed {seed}: nobody notices {name}")
            wrong += 1
    for seed, (like, assignor) in product(SEEDS, ASSIGNORS.items()):
        for promise, group in breaches(assignor, like, seed=seed):
            print(f"seed {seed}: {like} seems to break {promise} in {group}")
            wrong += 1
    print(f"{len(WRONG)} wrong assignors, {len(ASSIGNORS)} right ones, {len(SEEDS)} seeds")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
