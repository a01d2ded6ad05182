"""Cooperative members whose callbacks take time: what `cooperative` and `callbacks` show together.
The feature `callbacks` itself asks whether a member is cooperative."""

from __future__ import annotations

from groupcheck.model.protocol.classic.feature import Feature

AFTER = "A cooperative member revokes once its SyncGroup is answered, not before it joins."
COMMITTED = (
    "The rows commit in every callback of onJoinComplete and say by themselves what follows. A test"
    " executes this rule beside them."
)

FEATURE = Feature(
    name="cooperative_callbacks",
    title="cooperative members that call back",
    doc="A commit in the callback is one of the new generation.",
    change=lambda spec: spec,
    over=("cooperative", "callbacks"),
    joint=True,
    shows=(
        {
            "members": 2,
            "generations": 3,
            "records": 0,
            "partitions": 1,
            "faults": {"delay_request": 1, "disconnect": 1},
        },
    ),
    unreached=dict.fromkeys(("call_back", "callback_runs:threw"), AFTER),
    conformed=(),
    member_apart={
        **dict.fromkeys(("call_back", "callback_runs:threw"), AFTER),
        "callback_runs:committed": COMMITTED,
    },
)
