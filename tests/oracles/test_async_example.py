"""The picture of the source's example in docs/async_server.md is what the model does, and the page
names every reading.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any

import attrs

import groupcheck
from groupcheck.model.engine.step import Semantics
from groupcheck.model.engine.verdict import Path
from groupcheck.model.mutations.async_server import READINGS
from groupcheck.model.protocol.async_server.scope import AsyncScope
from groupcheck.model.variants import load
from groupcheck.oracles.show.html import image

ROOT = FilePath(__file__).parents[2]
PAGE = (ROOT / "docs" / "async_server.md").read_text("utf-8")
SCOPE = {"members": 3, "partitions": 5, "generations": 2}
Test = Callable[[dict[str, Any]], bool]

# Rule, member, and which of its outcomes. The source's partitions 1 to 5 are p0 to p4.
STEPS: list[tuple[str, int | None, Test | None]] = [
    ("send_join", 0, None),
    ("send_join", 0, None),
    ("send_join", 1, None),
    ("send_join", 1, None),
    ("initial_delay", None, lambda s: [c.owned for c in s["client"]] == [0b01101, 0b10010, 0]),
    ("send_join", 2, None),
    ("send_join", 2, None),
    ("send_heartbeat", 0, None),
    ("send_heartbeat", 1, lambda s: s["seats"][2][0].share == 0b01000),
    ("send_heartbeat", 1, None),
    ("send_heartbeat", 0, None),
    ("send_join", 0, None),
]


def example() -> tuple[Semantics, Path]:
    variant = load("async_server")
    see = Semantics(variant.spec(variant.scope_type(**SCOPE)))
    ((settled, _, state),) = see.starts()
    path = Path(see.places, state, tuple(settled), ())
    for name, me, wanted in STEPS:
        (step,) = [
            step
            for step, _ in see.steps(state)
            if (step.firing.name, step.firing.me) == (name, me)
            and (wanted is None or wanted(see.named(step.state)))
        ]
        path, state = attrs.evolve(path, steps=(*path.steps, step)), step.state
    return see, path


def test_the_page_names_the_key_of_the_example() -> None:
    see, path = example()
    assert f"explain async_server {see.key(path)} " in PAGE


def test_the_picture_is_what_the_model_does() -> None:
    see, path = example()
    followed = groupcheck.follow("async_server", see.key(path), **SCOPE)
    drawn = image(followed.explanations[0])
    assert drawn == (ROOT / "docs" / "async_server.svg").read_text("utf-8")


def test_member_two_of_the_example_stays_in_its_generation() -> None:
    see, path = example()
    states = [see.named(state)["client"][1] for state in path.states[5:]]
    assert len({(c.state, c.owned, c.generation, c.rejoin) for c in states}) == 1


def test_the_page_tells_every_unsafe_reading_with_its_mutation() -> None:
    for bug in READINGS:
        assert f"`{bug.id}`" in PAGE
    for field in attrs.fields(AsyncScope):
        for value in field.metadata.get("others", ()):
            assert f"`{field.name}={value}`" in PAGE
