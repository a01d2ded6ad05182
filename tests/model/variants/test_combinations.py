"""Any features of the classic group compose, or say why they do not: each pair, in a small scope.
`all_combinations.py` explores larger scopes, triples and their known bugs at night.
"""

from __future__ import annotations

import re

import pytest
from combinations import broken, refused, shown, together, told, travels

from groupcheck.model.engine import UserError
from groupcheck.model.protocol.classic.composition import every_feature, selected
from groupcheck.model.variants import load

REFUSED = {name: why for name in together(2) if (why := refused(name))}


@pytest.mark.parametrize("name", [name for name in together(2) if name not in REFUSED])
def test_two_features_keep_the_promises_of_both_and_have_words_for_each_step(name: str) -> None:
    variant = load(name)
    for feature in name.split("+")[1:]:
        scope, own = shown(feature, 2 if "twins" in name else 1)
        assert broken(variant, **scope) == []
        assert all(told(variant, own, **scope).values())
    assert travels(variant)
    families = {f for n in name.split("+")[1:] for f in load(f"classic+{n}").families}
    owed = {f for feature in every_feature().values() for f in feature.not_owed}
    assert families - owed <= {*variant.families}


def test_a_pair_that_no_group_has_is_refused_with_the_reason() -> None:
    assert len(REFUSED) < len(together(2)) / 3
    for why in REFUSED.values():
        assert re.search(r"no group has \w+ and \w+: .{20,} \(leave one of them out\)", why)


def test_a_combination_with_a_name_has_it_however_it_is_asked_for() -> None:
    for name in (
        "cooperative+static",
        "classic+static+cooperative",
        "static_membership+cooperative",
    ):
        assert load(name).name == "cooperative_static"
        assert load(name).scope_type is load("cooperative_static").scope_type
    assert load("classic+mixed").name == load("mixed_membership+static").name == "mixed_membership"
    assert load("classic+callbacks+static").name == "classic+static+callbacks"
    assert len({load(f"{name}+static").name for name in ("classic", "static_membership")}) == 1


def test_a_feature_brings_those_that_it_needs_and_what_both_need_of_each_other() -> None:
    chosen = [feature.name for feature in selected(["triggers", "mixed"])]
    assert chosen == ["static", "mixed", "triggers", "static_topics"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("classic+statc", "there is no feature 'statc' (did you mean static?)"),
        ("classic+static_topics", "there is no feature 'static_topics'"),
        ("classic+", "there is no feature ''"),
        ("connect+static", "connect takes no features"),
        ("clasic+static", "there is no variant 'clasic+static'"),
    ],
)
def test_what_is_no_combination_is_refused(name: str, told: str) -> None:
    with pytest.raises(UserError, match=re.escape(told)):
        load(name)
