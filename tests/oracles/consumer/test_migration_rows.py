"""Migration between classic and consumer groups: the model's rows on Kafka's own coordinator."""

from __future__ import annotations

import pytest

from groupcheck.oracles.consumer.exploring import explore
from groupcheck.oracles.consumer.migration import EVERY, MigrationRows, spec_of
from groupcheck.oracles.kafka.driver import Driver

BIDIRECTIONAL = EVERY[0]


@pytest.mark.night
def test_the_first_rows_of_migration_both_ways_agree_with_kafka() -> None:
    rows = MigrationRows(spec_of(BIDIRECTIONAL, "4.3.1"))
    with Driver("4.3.1", long_run=True) as driver:
        executed = [*explore(rows, driver, 700)]
    assert len(executed) == 700
    assert [row.shown for row in executed if row.differs] == []
