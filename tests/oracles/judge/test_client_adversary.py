"""What the adversary puts in place of the model's answers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from groupcheck.oracles.coordinator.served import Coordinator
from groupcheck.oracles.judge.client.adversary import Adversary, Aim
from groupcheck.oracles.judge.client.moves import Move
from groupcheck.oracles.judge.client.watching import Watch

MODEL = "the model's"


@pytest.mark.parametrize(
    ("times", "answers"), [(3, [27, 27, 27, MODEL, MODEL]), (0, [27, 27, 27, 27, 27])]
)
def test_a_code_is_put_for_as_many_requests_as_the_move_says_or_for_good(
    times: int, answers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []
    monkeypatch.setattr(Coordinator, "handle", lambda self, request: told.append(MODEL))
    adversary = Adversary(Watch(3000, 5000))
    adversary.aim = Aim(Move("Heartbeat", code=27, put=True, times=times), ())
    request: Any = SimpleNamespace(
        api=SimpleNamespace(name="Heartbeat"),
        client="c",
        node=3,
        values={},
        answer=lambda values: told.append(values["errorCode"]),
    )
    for _ in answers:
        adversary.handle(request)
    assert told == answers
