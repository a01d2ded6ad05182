"""All changes that `--progress` makes in a group of the classic family, and the rules that are
fair.
"""

from __future__ import annotations

import attrs

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.classic.features.progress.fairness import FAIR
from groupcheck.model.protocol.classic.features.progress.generations import relative_generations
from groupcheck.model.protocol.classic.features.progress.processes import processes_told_apart
from groupcheck.model.protocol.classic.features.progress.timers import timers_split
from groupcheck.model.protocol.transform import composed


def progress(spec: Spec) -> Spec:
    """The feature: the group goes on for ever, and what has to happen in it is fair.

    Only the promises about progress are judged. Invariants are the business of an ordinary check,
    and would end the search before a loop is found; a state from which nothing leads on is the
    simplest loop.
    """
    endless = attrs.evolve(
        spec,
        scope=attrs.evolve(spec.scope, generations=None),
        invariants=(),
        ends=(),
        deadlock=False,
    )
    spec = composed(endless, [processes_told_apart, timers_split, relative_generations])
    outcomes = {name for r in spec.rules for name in (r.name, *r.names)}
    return attrs.evolve(spec, fair=[f for f in FAIR if outcomes.issuperset(f.names)])
