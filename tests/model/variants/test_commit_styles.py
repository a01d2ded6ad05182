"""The three ways in which applications commit: how large each is, what can break with each, and
that a group without a style allows all that they do. The comparison with Kafka's client is in
`tests/oracles/conform/test_conform_commit_styles.py`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import attrs
import pytest
from all_states import explore_all
from views import beliefs

from groupcheck.model.engine import ScopeError, Spec, reference, settles
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.verdict import HOLDS, Verdict
from groupcheck.model.protocol.classic.client import Client
from groupcheck.model.protocol.classic.features.commit_styles import FAMILY as STYLES
from groupcheck.model.protocol.classic.offsets import Offsets
from groupcheck.model.protocol.classic.scope import ASYNC, AUTO, COMMIT_STYLES, SYNC, Scope
from groupcheck.model.variants import load, names
from groupcheck.oracles.explain.subject import subject

COMPOSED = [name for name in names() if "commit_style" in load(name).switched]
OTHERS = [
    name
    for name in names()
    if name not in COMPOSED and hasattr(load(name).scope_type(), "commit_style")
]
TWO = {"members": 2, "generations": 2, "records": 2}


def spec(style: str, variant: str = "classic", **fields: Any) -> Spec:
    settings = {"commit_style": style}
    if fields.pop("phases", False):
        settings["phases"] = "yes"
    return subject(variant, settings=settings, **fields).spec


@cache
def explored(style: str, *faults: str, phases: bool = False) -> Verdict:
    return explore(spec(style, **TWO, faults=dict.fromkeys(faults, 1), phases=phases))


@pytest.mark.parametrize(
    ("style", "faults", "states", "transitions"),
    [
        (AUTO, (), 220, 550),
        (SYNC, (), 196, 472),
        (ASYNC, (), 276, 656),
        (AUTO, ("close",), 2_183, 5_409),
        (SYNC, ("delay_request",), 4_570, 12_566),
        (ASYNC, ("delay_request",), 6_146, 16_802),
    ],
)
def test_the_size_of_the_model(
    style: str, faults: tuple[str, ...], states: int, transitions: int
) -> None:
    verdict = explored(style, *faults)
    assert (verdict.verdict, verdict.states, verdict.transitions) == (HOLDS, states, transitions)
    if not faults:
        slow = reference.explore(spec(style, **TWO))
        assert (slow.verdict, slow.states, slow.transitions) == (HOLDS, states, transitions)


# Faults -> with which styles a record may be processed twice, and with which the committed offset
# may stay behind although the member is at rest.
BREAKS: dict[tuple[str, ...], tuple[str, str]] = {
    (): ("", ""),
    ("lose_request",): ("auto async", "async"),
    ("lose_response",): ("async", "async"),
    ("close",): ("sync async", ""),
    ("fail_over", "phases"): ("async", "async"),
    ("delay_request",): ("auto sync async", "auto sync async"),
    ("session_timeout",): ("auto sync async", ""),
}


@pytest.mark.parametrize("faults", BREAKS, ids=lambda faults: "+".join(faults) or "none")
def test_what_can_break_depends_on_the_style(faults: tuple[str, ...]) -> None:
    phases = "phases" in faults
    named = tuple(fault for fault in faults if fault != "phases")
    verdicts = {style: explored(style, *named, phases=phases) for style in COMMIT_STYLES}
    assert {verdict.verdict for verdict in verdicts.values()} == {HOLDS}
    goals = {style: verdict.goals for style, verdict in verdicts.items()}
    assert BREAKS[faults] == tuple(
        " ".join(style for style in COMMIT_STYLES if goals[style][goal] is not None)
        for goal in ("processed_twice", "behind_for_good")
    )


@pytest.mark.parametrize("style", COMMIT_STYLES)
def test_offsets_go_back_with_every_style_and_only_if_a_commit_is_held_up(style: str) -> None:
    one = {"members": 1, "generations": 1, "records": 2}
    back = explore(spec(style, **one, faults={"delay_request": 1})).rules
    assert back["store_offset:backwards"] > 0
    assert (
        explore(spec(style, **one, faults={"lose_response": 1})).rules["store_offset:backwards"]
        == 0
    )


def test_a_commit_of_a_member_that_closes_is_sent_again_while_the_next_coordinator_loads() -> None:
    faults = {"close": 1, "fail_over": 1}
    verdict = explore(spec(AUTO, members=1, generations=1, faults=faults, phases=True))
    assert verdict.verdict == HOLDS and verdict.rules["leave:again"] > 0


@pytest.mark.parametrize("style", COMMIT_STYLES)
@pytest.mark.parametrize(
    ("variant", "fault"),
    [
        ("classic", "crash"),
        ("classic", "lose_response"),
        ("cooperative", "close"),
        ("static_membership", "close"),
    ],
)
def test_a_group_without_a_style_allows_all_that_each_of_them_does(
    variant: str, fault: str, style: str
) -> None:
    group, autocommit = load(variant), style == AUTO
    scope = group.scope_type(
        members=2, generations=2, records=2, faults={fault: 1}, autocommit=autocommit
    )
    styled = attrs.evolve(scope, commit_style=style)
    free, bound = (beliefs(explore_all(group.spec(s))) for s in (scope, styled))
    assert bound and bound <= free


# States at two members, two generations, two records and any one fault: auto, sync, async.
COMPOSITIONS = {
    "cooperative": (15_686, 15_070, 19_060),
    "static_membership": (9_159, 8_539, 11_719),
    "cooperative_static": (14_839, 14_473, 18_333),
    "mixed_membership": (9_421, 8_679, 11_930),
    "cooperative_mixed": (15_316, 14_837, 18_761),
    "twins": (9_922, 11_325, 16_475),
    "upgrade": (10_387, 9_389, 13_109),
    "triggers": (29_961, 27_715, 35_065),
    "static_triggers": (25_905, 24_157, 30_735),
}


# Each feature with one style; two features and a style are a combination of three.
BY_DAY = (
    ("cooperative", SYNC),
    ("static_membership", AUTO),
    ("mixed_membership", ASYNC),
    ("upgrade", ASYNC),
    ("triggers", SYNC),
)


@pytest.mark.parametrize(
    ("variant", "style"),
    [
        pytest.param(v, style, marks=[pytest.mark.night] * ((v, style) not in BY_DAY))
        for v in COMPOSITIONS
        for style in COMMIT_STYLES
    ],
)
def test_styles_compose_with_every_other_feature(variant: str, style: str) -> None:
    verdict = explore(spec(style, variant, **TWO, any_faults=1))
    states = dict(zip(COMMIT_STYLES, COMPOSITIONS[variant], strict=True))
    assert (verdict.verdict, verdict.states) == (HOLDS, states[style])


def test_a_static_member_that_closes_commits_and_sends_no_leave_group() -> None:
    verdict = explore(spec(AUTO, "static_membership", **TWO, faults={"close": 1}))
    assert verdict.rules["close:committed_first"] and verdict.rules["leave:silent"]
    assert not any(name in verdict.rules for name in ("leave:heard", "close:heard"))


@settles
def arrives(offsets: Offsets, client: Client) -> bool:
    """What a member that goes on has processed is committed in the end, whatever its style is."""
    return bool(client.failed) or not client.owned or client.position == offsets.committed


def progress(style: str, **faults: int) -> dict[str, str]:
    settings = {"commit_style": style}
    given = subject("classic", progress=True, settings=settings, members=1, faults=faults).spec
    asked = attrs.evolve(given, progress=[*given.progress, arrives])
    return dict(reference.explore(asked, liveness=True).progress)


def test_what_is_processed_is_committed_in_the_end_unless_nobody_repeats_a_lost_commit() -> None:
    for style in (AUTO, SYNC):
        found = progress(style, lose_response=1, lose_request=1)
        assert set(found.values()) == {HOLDS}
    found = progress(ASYNC, lose_request=1)
    assert {name for name, what in found.items() if what != HOLDS} == {"arrives"}


@pytest.mark.parametrize("name", OTHERS)
def test_a_variant_that_was_not_composed_with_styles_refuses_them(name: str) -> None:
    with pytest.raises(ScopeError, match="there is no commit_style here"):
        load(name).scope_type(members=2, commit_style=SYNC)


@pytest.mark.parametrize("name", COMPOSED)
def test_without_a_style_a_group_has_none_of_its_rules_and_promises(name: str) -> None:
    variant = load(name)
    usual = variant.scope_type()
    assert STYLES not in variant.families_at(usual)
    for style in COMMIT_STYLES:
        styled = attrs.evolve(usual, commit_style=style)
        more = {r.name for r in variant.spec(styled).rules} - {
            r.name for r in variant.spec(usual).rules
        }
        assert more == {AUTO: {"leave"}, SYNC: {"commit_throws"}, ASYNC: set()}[style]
        assert STYLES in variant.families_at(styled)


def test_a_style_that_contradicts_the_scope_is_refused() -> None:
    with pytest.raises(ScopeError, match="auto commits by itself"):
        Scope(commit_style=AUTO, autocommit=False)
    with pytest.raises(ScopeError, match="late_commit is a mistake"):
        Scope(commit_style=SYNC, faults={"late_commit": 1})
    with pytest.raises(ScopeError, match="one of auto, sync, async"):
        Scope(commit_style="often")
