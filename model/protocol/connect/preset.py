"""A variant of Connect's workers as a preset: what both of them share stands here."""

from __future__ import annotations

from functools import partial
from typing import Any

from attrs import evolve

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.classic import rules
from groupcheck.model.protocol.classic.plain_group import BOOKKEEPING, KAFKA_COORDINATOR
from groupcheck.model.protocol.classic.rules import COORDINATOR
from groupcheck.model.protocol.classic.story import story
from groupcheck.model.protocol.connect.feature import LEADER_RULES
from groupcheck.model.protocol.connect.scope import ASSIGNORS, LACKS
from groupcheck.model.protocol.connect.words import WORDS
from groupcheck.model.protocol.covers import covers_of
from groupcheck.model.protocol.faults import CLASSIC_FAULTS, SPENT_BY
from groupcheck.model.protocol.transform import Transformation, composed
from groupcheck.model.protocol.variant import Variant

OF_LEADER = {
    name: "The leader does this, not the coordinator." for r in LEADER_RULES for name in r.names
}
# Rules of the coordinator that pass on what the workers and their leader say.
PASSED_ON = ("answer_syncs", "record_plan", "send_back", "end_walk", "join_group")
NO_REPORT = "no row has a worker's report; what decides is the rule of `classic`, which is executed"
SPENT = {
    "unreachable": ("lose_coordinator",),
    "config_update": ("update_config",),
    "config_timeout": ("sync_answer:unread",),
}


def workers(name: str, *features: Transformation, scope_type: Any, **more: Any) -> Variant:
    """The classic group with these features. `more`: the other fields of `Variant`."""

    def spec(scope: Any) -> Spec:
        """The protocol at a scope, without invariants."""
        return evolve(composed(rules.spec(scope), features), name=name)

    faults = {**CLASSIC_FAULTS, **scope_type.MORE}
    own = {f: SPENT.get(f, (f,)) for f in scope_type.MORE}
    return Variant(
        name=name,
        scope_type=scope_type,
        spec=spec,
        faults={f: doc for f, doc in faults.items() if f not in LACKS},
        assignors=ASSIGNORS,
        lacks=LACKS,
        coordinator=COORDINATOR | {r.name for r in LEADER_RULES},
        tell=WORDS.tell,
        story=partial(story, words=WORDS),
        spent_by={
            **{f: outcomes for f, outcomes in SPENT_BY.items() if f not in LACKS},
            **own,
        },
        covers=covers_of(name),
        real=KAFKA_COORDINATOR,
        unexecuted={**dict.fromkeys(PASSED_ON, NO_REPORT), **OF_LEADER},
        bookkeeping={**BOOKKEEPING, **OF_LEADER},
        unreal_member=(
            "no row carries what a worker reports; `groupcheck conform connect` compares the"
            " leader, and tests/oracles/connect/test_real_worker.py Kafka's own worker in named"
            " schedules"
        ),
        **more,
    )
