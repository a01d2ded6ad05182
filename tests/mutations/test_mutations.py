"""Each known bug falls to the promise that it names, alone, and at a pinned depth; the healthy
model keeps all promises in the same scopes.
"""

from __future__ import annotations

from functools import cache

import attrs
import pytest

from groupcheck.invariants.registry import for_families
from groupcheck.model.engine import Spec, SpecError, UserError, reference
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.verdict import HOLDS, UNKNOWN, VIOLATED
from groupcheck.model.mutations import Mutation, all_mutations, mutation
from groupcheck.model.mutations.mutation import seeded
from groupcheck.model.protocol.classic import coordinator
from groupcheck.model.protocol.transform import rebuilt, rewritten
from groupcheck.model.variants import load, names

DEPTHS = {
    "aborted_offset_counts": 10,
    "absent_dynamic_member_kept": 5,
    "absent_static_member_removed": 4,
    "answer_to_an_earlier_subscription": 6,
    "answered_joins_still_counted": 3,
    "application_not_told_of_loss": 9,
    "autocommit_beside_transactions": 8,
    "backs_off_for_the_whole_delay": 18,
    "batch_taken_early": 8,
    "batches_counted_for_bytes": 4,
    "callback_commits_in_old_generation": 14,
    "change_during_round_forgotten": 7,
    "claims_lost_partitions": 12,
    "claims_nothing": 15,
    "claims_of_another": 12,
    "closes_without_commit": 8,
    "commit_ahead_of_processing": 7,
    "commit_by_id_alone": 10,
    "commit_ignores_generation": 12,
    "commit_sync_gives_up": 10,
    "commit_while_syncing": 12,
    "commits_instead_of_joining": 11,
    "completes_after_leaving": 6,
    "conflicting_claims_kept": 20,
    "deleted_group_keeps_transactions": 10,
    "deletion_fails_as_a_whole": 3,
    "dropped_topic_stays_owned": 7,
    "eager_in_a_cooperative_group": 9,
    "eager_member_keeps": 9,
    "expelled_still_counted": 4,
    "expired_id_still_counted": 2,
    "expiry_ignores_transactions": 10,
    "expiry_leaves_round_waiting": 6,
    "expiry_of_a_live_group": 9,
    "expiry_while_rebalancing": 11,
    "fetch_error_skips_records": 6,
    "first_assignor_decides": 16,
    "first_candidate_takes_all": 20,
    "first_round_without_delay": 1,
    "generation_moves_with_mark": 7,
    "generation_of_the_group": 7,
    "generation_without_leader": 3,
    "heartbeat_hides_the_round": 7,
    "heartbeat_ignores_generation": 10,
    "heartbeats_fail_while_loading": 6,
    "id_forgotten_on_disconnect": 3,
    "id_without_timer": 1,
    "instance_joins_twice": 3,
    "joined_twice_counted_twice": 4,
    "joins_again_for_nothing": 9,
    "joins_while_committing": 12,
    "joins_while_revoking": 12,
    "keeps_partitions_on_rejoin": 14,
    "keeps_partitions_when_lost": 13,
    "late_claims_ignored": 16,
    "late_rejoin_believed": 8,
    "leader_forgotten": 5,
    "leader_ignores_new_partitions": 7,
    "leader_not_loaded": 5,
    "leave_leaves_round_waiting": 7,
    "leaves_open_batch": 3,
    "loaded_as_expired": 9,
    "logged_members_without_generations": 10,
    "logged_plan_trusted": 8,
    "mark_told_once": 7,
    "lost_without_delay_for_ever": 11,
    "marker_order_wins": 12,
    "member_without_id": 1,
    "memory_kept_after_unload": 2,
    "moves_in_one_round": 9,
    "newcomer_stays_idle": 16,
    "newcomer_timer_kept": 3,
    "newcomer_without_timer": 3,
    "no_sync_deadline": 3,
    "old_client_counts_as_idle": 6,
    "old_client_goes_by_the_log": 9,
    "old_partition_stays_sticky": 4,
    "old_report_believed": 15,
    "old_delay_counts": 15,
    "oldest_claim_wins": 20,
    "one_bounce_let_in": 15,
    "outsider_overwrites_members": 3,
    "over_sized_group_stays": 7,
    "parked_sync_forgotten": 5,
    "plan_by_any_assignor": 5,
    "plan_ignores_reports": 9,
    "plan_ignores_static_subscriptions": 5,
    "plan_ignores_subscriptions": 7,
    "plan_leaves_partition_out": 5,
    "plan_refused_by_its_leader": 15,
    "plan_taken_for_owned": 9,
    "plans_while_behind": 6,
    "processing_after_last_commit": 12,
    "reason_to_join_forgotten": 8,
    "record_ignored_on_load": 5,
    "records_go_anywhere": 3,
    "records_of_a_stay_forgotten": 4,
    "refused_commit_ignored": 9,
    "refused_commit_stays_pending": 9,
    "refused_reset_written": 3,
    "rejoin_answers_nobody": 8,
    "rejoin_forgotten_before_sync": 5,
    "rejoin_is_no_report": 7,
    "replaced_id_unknown": 6,
    "replaced_request_left_waiting": 3,
    "replaced_twin_waits_on": 2,
    "restart_starts_a_round": 6,
    "restarted_leader_follows": 8,
    "restarted_leader_forgotten": 6,
    "returned_work_runs_twice": 14,
    "revocation_overtaken": 26,
    "revokes_and_waits": 11,
    "revokes_without_joining_again": 11,
    "round_ends_without_the_others": 5,
    "round_forgets_parked_joins": 5,
    "round_of_nobody_keeps_all": 6,
    "round_resets_late_member": 6,
    "runs_on_when_cut_off": 6,
    "same_id_after_restart": 6,
    "served_before_loaded": 2,
    "share_before_revocation": 6,
    "share_never_sent": 5,
    "share_of_the_dead_lost": 7,
    "shares_not_loaded": 6,
    "size_cap_off_by_one": 5,
    "stale_claims_assigned": 7,
    "static_member_asked_twice": 1,
    "stopped_work_stays_stopped": 9,
    "stops_to_join": 9,
    "stored_offset_outlives_revocation": 10,
    "subscription_change_unheard": 6,
    "superseded_join_answered": 5,
    "sync_ignores_generation": 6,
    "synced_still_awaited": 4,
    "synced_without_generation": 6,
    "takeover_misses_the_plan": 4,
    "takeover_not_logged": 7,
    "throwing_callback_keeps_partitions": 12,
    "told_before_logged": 5,
    "told_before_plan_is_logged": 4,
    "transaction_validated_too_early": 9,
    "transaction_without_generation": 18,
    "transfer_in_one_round": 16,
    "twin_joins_beside": 2,
    "unloading_forgets_members": 3,
    "unstable_offset_told": 10,
    "waits_for_nobody": 7,
    "written_without_epoch": 9,
}
EVERY = all_mutations()


def promised(bug: Mutation, scope: dict[str, object]) -> Spec:
    found = load(bug.family.base)
    spec = found.spec(found.scope_type(**scope))
    promises = for_families(found.families_at(spec.scope))
    return attrs.evolve(spec, invariants=promises.invariants, views=promises.views)


def named(found: Mutation) -> str:
    return found.id


@pytest.mark.parametrize("bug", EVERY, ids=named)
def test_a_mutation_falls_to_the_invariant_that_it_names_and_to_no_other(bug: Mutation) -> None:
    verdict = explore(bug.apply(promised(bug, dict(bug.scope))))
    assert verdict.verdict == VIOLATED
    assert [(v.invariant, v.depth) for v in verdict.violations] == [(bug.invariant, DEPTHS[bug.id])]


@pytest.mark.parametrize(
    "id",
    [
        "keeps_partitions_when_lost",
        "leader_forgotten",
        "size_cap_off_by_one",
        "record_ignored_on_load",
        "no_sync_deadline",
    ],
)
def test_both_engines_tell_the_same_of_a_bug(id: str) -> None:
    bug = mutation(id)
    spec = bug.apply(promised(bug, dict(bug.scope)))
    fast, plain = explore(spec), reference.explore(spec)
    assert (fast.states, fast.transitions, fast.rules) == (
        plain.states,
        plain.transitions,
        plain.rules,
    )
    assert [(v.invariant, v.depth) for v in fast.violations] == [
        (v.invariant, v.depth) for v in plain.violations
    ]


@pytest.mark.parametrize(
    "bug",
    {(m.family.base, repr(sorted(m.scope.items(), key=str))): m for m in EVERY}.values(),
    ids=lambda bug: f"{bug.family.base}-{bug.scope}",
)
def test_the_healthy_model_keeps_all_promises_where_a_mutation_breaks_one(bug: Mutation) -> None:
    verdict = explore(promised(bug, dict(bug.scope)))
    assert (verdict.verdict, verdict.violations) in ((HOLDS, ()), (UNKNOWN, ()))
    assert not verdict.reason.startswith("stopped")


def test_every_promise_that_a_bug_names_exists_and_every_bug_has_a_pinned_depth() -> None:
    for bug in EVERY:
        families = load(bug.family.base).every_family
        assert bug.invariant in {p.name for p in for_families(families).invariants}
    assert sorted(DEPTHS) == [m.id for m in EVERY]


@pytest.mark.parametrize("name", names())
def test_every_promise_is_shown_to_be_breakable(name: str) -> None:
    """In the variant itself, or, where a feature has another form of the rule that the bug changes,
    in the base of its families.
    """
    for family in load(name).every_family:
        promised = {p.name for p in for_families((family,)).invariants}
        assert promised <= broken_in(family.base)


@cache
def broken_in(base: str) -> set[str]:
    """The promises that some bug of this variant breaks."""
    return {m.invariant for m in EVERY if m.concerns(load(base))}


def test_an_unknown_mutation_is_named_with_the_nearest_one() -> None:
    with pytest.raises(UserError, match="did you mean heartbeat_ignores_generation"):
        mutation("heartbeat_ignores_generations")
    assert mutation("size_cap_off_by_one").ticket == "KAFKA-9885"


def test_a_seeded_rule_keeps_the_name_the_slots_and_the_labels_of_the_healthy_one() -> None:
    for bug in EVERY:
        spec = promised(bug, dict(bug.scope))
        healthy = {r.name: r for r in spec.rules}
        for rule in (r for r in bug.apply(spec).rules if r.name in bug.rules):
            same = healthy[rule.name]
            assert (rule.slots, rule.labels, rule.urgent, rule.takes_me) == (
                same.slots,
                same.labels,
                same.urgent,
                same.takes_me,
            )


def test_a_seeded_rule_with_other_parameters_is_refused() -> None:
    with pytest.raises(AssertionError, match="heartbeat"):
        seeded(coordinator.heartbeat)(lambda core, seats: iter(()))


def test_a_bug_of_a_rule_that_a_feature_has_changed_is_refused() -> None:
    bug = mutation("member_without_id")
    base = load(bug.family.base)
    (rule,) = (seed.rule for seed in bug.seeds)

    def featured(scope: object) -> Spec:
        (healthy,) = (r for r in base.spec(scope).rules if r.name == rule.name)
        return rebuilt(base.spec(scope), [rewritten(healthy, lambda *slots: healthy.call(*slots))])

    variant = attrs.evolve(base, spec=featured)
    assert bug.concerns(base) and not bug.concerns(variant)
    with pytest.raises(SpecError, match="member_without_id changes the rule join_group"):
        bug.apply(featured(base.scope_type()))
