"""All rules, as those of consumer groups with what migration adds to them."""

from __future__ import annotations

import attrs

from groupcheck.model.engine import Spec
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.consumer import anybody, heartbeats, targets, timers
from groupcheck.model.protocol.consumer.rules import COORDINATOR as OF_CONSUMER
from groupcheck.model.protocol.consumer.rules import spec as consumer_spec
from groupcheck.model.protocol.migration import conversions
from groupcheck.model.protocol.migration.anybody import anybody_asks
from groupcheck.model.protocol.migration.classic_requests import CLASSIC_RULES
from groupcheck.model.protocol.migration.scope import MigrationScope
from groupcheck.model.protocol.transform import (
    extended,
    inserted,
    outcomes_changed,
    own,
    rebuilt,
    without,
)

ADDED = (
    conversions.upgrade_group,
    conversions.convert_member,
    conversions.convert_end,
    conversions.group_converted,
    conversions.join_timeout,
    conversions.sync_timeout,
    *CLASSIC_RULES,
)
COORDINATOR = OF_CONSUMER | {rule.name for rule in ADDED}
# Nobody has processes, there is no interval, and all topics are there.
GONE = (
    anybody.anybody_sends,
    timers.ghost_expires,
    timers.interval_passes,
    timers.add_partition,
    heartbeats.resolve_pattern,
)


def spec(scope: MigrationScope) -> Spec:
    """The protocol at a scope, without invariants."""
    base = without(consumer_spec(scope), *GONE)
    changed = [
        extended(own(base, heartbeats.consumer_heartbeat), conversions.uses_heartbeats),
        extended(own(base, heartbeats.reconcile_member), conversions.told),
        extended(own(base, heartbeats.leave_consumer_group), conversions.removed),
        _timeout(base, timers.session_timeout),
        _timeout(base, timers.rebalance_timeout),
        extended(own(base, timers.move_coordinator), conversions.moved),
        extended(own(base, timers.load_member), conversions.loaded),
        extended(own(base, targets.target_written), conversions.round_ends),
    ]
    base = rebuilt(base, changed)
    base = inserted(base, own(base, targets.read_member), *ADDED[1:4])
    base = inserted(base, own(base, heartbeats.consumer_heartbeat), ADDED[0], *CLASSIC_RULES)
    ordinary = (
        conversions.join_timeout,
        conversions.sync_timeout,
        conversions.complete_round,
        conversions.park_join,
        anybody_asks,
    )
    base = inserted(base, own(base, anybody.nobody_hears), *ordinary)
    return attrs.evolve(base, name="online_migration")


def _timeout(base: Spec, rule: Rule) -> Rule:
    """A timer of the base that removes a member."""
    removes = extended(own(base, rule), conversions.removed)
    return outcomes_changed(removes, conversions.of_consumer_group)
