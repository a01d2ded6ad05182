"""Static members of a cooperative group: what the features `static` and `cooperative` need of each
other, and what is promised of both together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupcheck.model.protocol.classic.feature import Feature
from groupcheck.model.protocol.classic.features import static
from groupcheck.model.protocol.classic.plain_group import ROWS_IN_PHASES
from groupcheck.model.protocol.family import Family

FAMILY = Family("static members of a cooperative group", base="cooperative_static")

# Arguments of `conform`: 18,086 rows, which take about 35 s.
USER_DATA: Mapping[str, Any] = {
    "members": 1,
    "generations": 2,
    "faults": {"fail_over": 1},
    "settings": {"user_data": "yes"},
}

FEATURE = Feature(
    name="cooperative_static",
    title="static members that cooperate",
    doc="A process that comes back takes over its share, and keeps it while it joins.",
    change=lambda spec: spec,
    over=("static", "cooperative"),
    joint=True,
    families=(FAMILY,),
    followed=("live", "whole"),
    executed=static.FEATURE.executed,
    conformed=(ROWS_IN_PHASES, USER_DATA),
)
