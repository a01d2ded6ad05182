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
    classic_member,
    conversions,
    round_hooks,
    round_members,
    rounds,
)
from groupcheck.model.protocol.migration.anybody import anybody_asks
from groupcheck.model.protocol.migration.classic_member import ClassicMember
from groupcheck.model.protocol.migration.classic_requests import CLASSIC_RULES
from groupcheck.model.protocol.migration.round_walks import WALK, elect_leader
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
COORDINATOR = OF_CONSUMER | {rule.name for rule in (*ADDED, *rounds.RULES, *round_members.TIMERS)}
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


def _with_rounds(base: Spec) -> Spec:
    """The rounds of classic groups go step by step."""
    changed = [
        extended(own(base, conversions.convert_member), round_hooks.member_converted),
        extended(own(base, conversions.convert_end), round_hooks.ghosts_converted),
        extended(own(base, conversions.group_converted), round_hooks.all_converted),
        outcomes_changed(own(base, timers.move_coordinator), round_hooks.moves),
        extended(own(base, timers.load_member), round_hooks.member_loaded, "link"),
        extended(own(base, timers.load_ghosts), round_hooks.ghosts_loaded),
    ]
    base = rebuilt(base, changed)
    base = inserted(base, own(base, targets.begin_errand), elect_leader)
    return inserted(base, own(base, conversions.upgrade_group), *rounds.HANDLERS, *WALK)


def _with_anybody(base: Spec) -> Spec:
    base = _with_rounds(without(base, *GONE_WITH_MEMBERS))
    asked = (*rounds.TIMERS, anybody_asks, rounds.nobody_hears_of_rounds)
    return inserted(base, own(base, anybody.nobody_hears), *asked)


def _with_members(base: Spec, scope: MigrationScope) -> Spec:
    base = _with_rounds(base)
    base = rebuilt(base, [extended(own(base, client_faults.crash), round_hooks.dies)])
    base = inserted(
        base,
        own(base, client.hear_answer),
        *rounds.TIMERS,
        *round_members.TIMERS,
        *classic_member.MEMBER_RULES,
    )
    process = Client() if scope.restarts == "downgrade" else ClassicMember()
    clients = array(scope.members, process, of=Client | ClassicMember)
    base = rebuilt(without(base, *NOT_DONE), client=clients)
    # Urgent rules of one element that stand before all others may fire while a walk goes on.
    heard = (classic_member.hear_either, round_members.hear_parked)
    return attrs.evolve(base, rules=(*heard, *base.rules))


def _timeout(base: Spec, rule: Rule) -> Rule:
    """A timer of the base that removes a member."""
    removes = extended(own(base, rule), conversions.removed)
    return outcomes_changed(removes, conversions.of_consumer_group)
