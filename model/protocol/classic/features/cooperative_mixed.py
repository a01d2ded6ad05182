"""Static and dynamic members of a cooperative group: what Kafka's code executes of both."""

from __future__ import annotations

from groupcheck.model.protocol.classic.feature import Feature
from groupcheck.model.protocol.classic.features import mixed
from groupcheck.model.protocol.classic.plain_group import ROWS_IN_PHASES

FEATURE = Feature(
    name="cooperative_mixed",
    title="static and dynamic members that cooperate",
    doc="Rows of a static member beside a dynamic one.",
    change=lambda spec: spec,
    over=("mixed", "cooperative"),
    after=("cooperative_static",),
    joint=True,
    executed=mixed.FEATURE.executed,
    conformed=(ROWS_IN_PHASES,),
)
