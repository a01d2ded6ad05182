"""All rules, as those of consumer groups with what migration adds to them."""

from __future__ import annotations

import attrs

from groupcheck.model.engine import Spec, array
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.consumer import (
    anybody,
    client,
    client_faults,
    heartbeats,
    targets,
    timers,
)
from groupcheck.model.protocol.consumer.client import Client
from groupcheck.model.protocol.consumer.rules import COORDINATOR as OF_CONSUMER
from groupcheck.model.protocol.consumer.rules import spec as consumer_spec
from groupcheck.model.protocol.migration import (
    classic_group,
    classic_member,
    conversions,
    round_hooks,
    rounds,
)
from groupcheck.model.protocol.migration.anybody import anybody_asks
from groupcheck.model.protocol.migration.classic_member import ClassicMember
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

# What is executed on Kafka's own code, row by row.
ADDED = (
    conversions.upgrade_group,
    conversions.convert_member,
    conversions.convert_end,
    conversions.group_converted,
    conversions.join_timeout,
    conversions.sync_timeout,
    *CLASSIC_RULES,
)
COORDINATOR = OF_CONSUMER | {
    rule.name for rule in (*ADDED, *classic_group.HANDLERS, *classic_group.TIMERS, *rounds.RULES)
}
# There is no interval, and all topics are there.
GONE = (timers.interval_passes, timers.add_partition, heartbeats.resolve_pattern)
# Nobody has processes.
GONE_WITH_MEMBERS = (anybody.anybody_sends, timers.ghost_expires)
# What members do that is left out here, and what they do otherwise.
NOT_DONE = (
    timers.ghost_expires,
    *client.WIRE_RULES,
    client.callback_returns,
    client.hear_answer,
    client_faults.fail_append,
    client_faults.delay_heartbeat,
    client_faults.late_heartbeat,
    client_faults.change_subscription,
    client_faults.close_consumer,
    client_faults.poll_timeout,
    client_faults.poll_again,
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
    base = inserted(
        base,
        own(base, timers.move_coordinator),
        conversions.join_timeout,
        conversions.sync_timeout,
    )
    base = _with_anybody(base) if scope.requests == "anybody" else _with_members(base, scope)
    return attrs.evolve(base, name="migration")


def _with_anybody(base: Spec) -> Spec:
    changed = [
        extended(own(base, conversions.convert_member), round_hooks.member_converted),
        extended(own(base, conversions.group_converted), round_hooks.all_converted),
        outcomes_changed(own(base, timers.move_coordinator), round_hooks.moves),
        extended(own(base, timers.load_member), round_hooks.member_loaded, "link"),
    ]
    base = rebuilt(without(base, *GONE_WITH_MEMBERS), changed)
    base = inserted(base, own(base, conversions.upgrade_group), *rounds.HANDLERS, *rounds.WALK)
    asked = (*rounds.TIMERS, anybody_asks, rounds.nobody_hears_of_rounds)
    return inserted(base, own(base, anybody.nobody_hears), *asked)


def _with_members(base: Spec, scope: MigrationScope) -> Spec:
    first = own(base, client.hear_answer)
    base = inserted(
        base,
        first,
        *classic_group.TIMERS,
        *classic_member.MEMBER_RULES,
        classic_member.hear_either,
        classic_member.answer_parked_join,
        classic_member.join_is_cut_off,
        *classic_group.HANDLERS,
    )
    process = Client() if scope.restarts == "downgrade" else ClassicMember()
    clients = array(scope.members, process, of=Client | ClassicMember)
    return rebuilt(without(base, *NOT_DONE), client=clients)


def _timeout(base: Spec, rule: Rule) -> Rule:
    """A timer of the base that removes a member."""
    removes = extended(own(base, rule), conversions.removed)
    return outcomes_changed(removes, conversions.of_consumer_group)
