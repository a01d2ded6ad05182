"""What `--progress` changes in a group of the classic family, put together, and which rules are
fair.
"""

from __future__ import annotations

import attrs

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.classic.progress.generations import relative_generations
from groupcheck.model.protocol.classic.progress.processes import processes_told_apart
from groupcheck.model.protocol.classic.progress.timers import timers_split
from groupcheck.model.protocol.feature import composed


def progress(spec: Spec) -> Spec:
    """The feature: the group goes on for ever, and what has to happen in it is fair."""
    endless = attrs.evolve(spec, scope=attrs.evolve(spec.scope, generations=None), ends=())
    return composed(endless, [processes_told_apart, timers_split, relative_generations])
