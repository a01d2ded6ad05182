"""How long the rules about clients take for a long run."""

from __future__ import annotations

from typing import Any

from test_client_rules import BOTH, Run

from groupcheck.oracles.judge.client.record import Record
from groupcheck.oracles.judge.client.rules import RULES
from groupcheck.oracles.judge.client.rules.rule import seen


def test_rules_take_time_that_grows_with_the_run_and_not_with_its_square() -> None:
    """Counts the looks at events."""
    looks = []
    for length in (200, 400):
        run = Run().member()
        for _ in range(length):
            run.wait(0.01).beat().fetch(BOTH).commit(BOTH)
        record = Record(tuple(run.events), {"t": 2}, 3000, 2000)
        counting = Counting(seen(record).events)
        for rule in RULES:
            list(rule.judge(type(seen(record))(record, counting)))
        looks.append(counting.looks)
    assert looks[1] < 2.2 * looks[0]


class Counting(tuple[Any, ...]):
    """A sequence that counts how often it gives an element."""

    looks = 0

    def __iter__(self) -> Any:
        for one in super().__iter__():
            self.looks += 1
            yield one

    def __getitem__(self, at: Any) -> Any:
        self.looks += 1
        return super().__getitem__(at)
