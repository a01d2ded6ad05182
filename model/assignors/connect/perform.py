"""One assignment by the leader of a Connect cluster, whichever protocol the group uses."""

from __future__ import annotations

from functools import lru_cache

from attrs import evolve

from groupcheck.model.assignors.connect.before_3_4 import incremental_before_3_4
from groupcheck.model.assignors.connect.eager import eager
from groupcheck.model.assignors.connect.incremental import incremental
from groupcheck.model.assignors.connect.order import listed
from groupcheck.model.assignors.connect.releases import CURRENT, Release
from groupcheck.model.assignors.connect.values import (
    NOTHING,
    Answer,
    Assigned,
    AssignmentError,
    Config,
    ConnectProtocol,
    Memory,
    Round,
    work,
)


def leader_config(round_: Round) -> tuple[int, Config | None]:
    """The offset for the answers and the configurations for the assignment; None if the leader is
    behind a worker and cannot catch up (ensureLeaderConfig).

    An offset that all have is the greatest one that a worker reports, even if the leader has read
    further since it joined.
    """
    newest = max(worker.offset for worker in round_.workers)
    if round_.config.offset >= newest:
        return newest, round_.config
    if round_.fresh is None or round_.fresh.offset < newest:
        return newest, None
    return round_.fresh.offset, round_.fresh


@lru_cache(maxsize=1 << 16)
def perform_assignment(memory: Memory, round_: Round, release: Release = CURRENT) -> Assigned:
    """The leader's answer to each worker, and its memory afterwards
    (ConnectAssignor.performAssignment).

    Pure: equal arguments give an equal result, which is kept.
    """
    offset, config = leader_config(round_)
    if config is None:
        mismatch = Answer(round_.leader, offset, AssignmentError.CONFIG_MISMATCH)
        answers = tuple((worker.id, mismatch) for worker in round_.workers)
        return Assigned(answers, memory, round_.config)
    names = tuple(worker.id for worker in round_.workers)
    if round_.protocol is ConnectProtocol.EAGER:
        given = eager(config, names)
        answers = tuple(
            (name, Answer(round_.leader, offset, assigned=listed(given[name]))) for name in names
        )
        owners = {name: work(has.connectors, has.tasks) for name, has in given.items() if has}
    else:
        assignor = incremental if release.backs_off else incremental_before_3_4
        change, memory = assignor(memory, evolve(round_, config=config), release)
        answers = tuple(
            (
                name,
                Answer(
                    round_.leader,
                    offset,
                    assigned=listed(change.assigned[name]),
                    revoked=change.revoked.get(name, NOTHING),
                    delay=memory.delay,
                ),
            )
            for name in names
        )
        owners = dict(change.owners)
    return Assigned(answers, memory, config, tuple(sorted(owners.items())))
