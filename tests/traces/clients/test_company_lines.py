"""Lines that an application of the sources prints are read as far as they tell something."""

from __future__ import annotations

import pytest

from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.facts.steps import steps_told

LINE = "2022-03-01 15:45:12,950 INFO KafkaRebalanceCostListener - rebalance cost:{}ms, assign:[{}]"


@pytest.mark.parametrize(("cost", "words"), [("2836", "2,836 ms"), ("18", "18 ms")])
def test_a_listener_that_measures_a_rebalance_is_read(cost: str, words: str) -> None:
    (said,) = ClientLog().statements([(1, LINE.format(cost, "t-0, t-1"))])
    assert (said.kind, said.fields["cost"]) == ("assigned", int(cost))
    (told,) = steps_told([said], True)
    assert f"is given its partitions: t-0, t-1, after {words} by the clock" in told.text


def test_a_listener_without_partitions_is_read_too() -> None:
    (said,) = ClientLog().statements([(1, LINE.format("3", ""))])
    assert (said.kind, said.fields["partitions"]) == ("assigned", "[]")
