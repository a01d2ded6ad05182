"""The pool that plays trials side by side loses none of them."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterable
from typing import Any

import pytest
from attrs import evolve

from groupcheck.oracles.judge.client.moves import FOLLOWS, Move
from groupcheck.oracles.judge.client.record import Record
from groupcheck.oracles.judge.client.session import Command
from groupcheck.oracles.judge.client.targets import Target
from groupcheck.oracles.judge.client.trying import Pool, Run, Trial

RUN = Run(FOLLOWS, (), Record((), {}, 3000, 5000), True)
TWO = (Target(FOLLOWS, Move("JoinGroup")), Target(FOLLOWS, Move("Heartbeat")))
TRIAL = Trial(FOLLOWS, TWO, Command((), {}))


class Late(queue.SimpleQueue[Any]):
    """Takes its time, longer than the one who waits looks at it."""

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        time.sleep(0.3)
        super().put(item, block, timeout)


def test_a_run_that_has_just_ended_is_heard_and_so_is_the_rest_of_its_trial(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Pool, "_one", lambda self, trial: (RUN, trial.targets[1:]))
    pool = Pool(1, time.monotonic() + 60)
    monkeypatch.setattr(pool, "_done", Late())
    heard: list[Trial] = []

    def hear(trial: Trial, run: Run) -> Iterable[Trial]:
        heard.append(trial)
        return ()

    pool.play([TRIAL], hear)
    assert heard == [TRIAL, evolve(TRIAL, targets=TWO[1:])]


def test_what_a_run_raises_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Pool, trial: Trial) -> Any:
        raise OSError("no more processes")

    monkeypatch.setattr(Pool, "_one", fails)
    with pytest.raises(OSError, match="no more processes"):
        Pool(1, time.monotonic() + 60).play([TRIAL], lambda trial, run: ())
