"""The combinations of features of the classic group that have a name of their own: name, title,
features and what they are together. Any other combination has the name `classic+static+triggers`.
"""

from __future__ import annotations

from functools import cache

from attrs import evolve, frozen

from groupcheck.model.protocol.classic.composition import selected, variant
from groupcheck.model.protocol.classic.plain_group import BASE
from groupcheck.model.protocol.variant import Variant

PLUS = "+"  # between the features in the name of a combination


@frozen
class Preset:
    """A combination with a name."""

    name: str
    title: str
    features: tuple[str, ...]
    # What the features say of themselves is not enough; empty: it is.
    doc: str = ""


PRESETS = (
    Preset("classic", "Classic group, eager assignor", ()),
    Preset("cooperative", "Classic group, cooperative rebalancing", ("cooperative",)),
    Preset("static_membership", "Classic group, static members", ("static",)),
    Preset(
        "cooperative_static",
        "Classic group, static members and cooperative rebalancing",
        ("static", "cooperative"),
        "Members keep their partitions while they join, and a process that comes back to a Stable"
        " group takes over its share without a round (KIP-345, KIP-429).",
    ),
    Preset("mixed_membership", "Classic group, static and dynamic members", ("mixed",)),
    Preset(
        "cooperative_mixed",
        "Classic group, static and dynamic members and cooperative rebalancing",
        ("mixed", "cooperative"),
        "Members keep their partitions while they join. Some processes have a group.instance.id and"
        " come back without a round, the others have none (KIP-345, KIP-429).",
    ),
    Preset("twins", "Classic group, two static members with one instance id", ("twins",)),
    Preset(
        "callbacks",
        "Classic group, eager, whose applications commit in their callbacks",
        ("callbacks",),
        "The classic group in which onPartitionsRevoked takes time: the application commits in it,"
        " it throws, or it outlasts a timeout (ConsumerRebalanceListener).",
    ),
    Preset(
        "cooperative_callbacks",
        "Cooperative group whose applications commit in their callbacks",
        ("cooperative", "callbacks"),
        "The cooperative group in which onPartitionsRevoked takes time. It runs once SyncGroup is"
        " answered, so a commit in it is one of the new generation (ConsumerRebalanceListener).",
    ),
    Preset(
        "triggers",
        "Classic group whose topics, subscriptions and settings change",
        ("triggers",),
    ),
    Preset(
        "static_triggers",
        "Classic group, static members, topics and subscriptions change",
        ("static", "triggers"),
        "Every process has a group.instance.id, topics and subscriptions change. A member that"
        " comes back to a Stable group keeps its share, whatever it subscribes to now; a leader"
        " that comes back is told the topics of the group and makes no plan (KIP-345, KIP-814).",
    ),
    Preset(
        "cooperative_triggers",
        "Classic group, cooperative rebalancing, topics and subscriptions change",
        ("cooperative", "triggers"),
        "Members keep their partitions while they join, except those of topics that they have"
        " dropped, which they revoke before. The leader withholds what another member still owns"
        " (KIP-429).",
    ),
    Preset("offsets", "Classic group, offsets in full", ("offsets",)),
    Preset("upgrade", "Classic group, from eager to cooperative rebalancing", ("upgrade",)),
    Preset(
        "cooperative_rounds",
        "Classic group, cooperative rebalancing, rounds counted",
        ("round_count",),
    ),
)


@cache
def named(name: str) -> Variant | None:
    """The variant of this name, which a preset has or which lists features behind a preset's with
    `+` between them; None for a name of any other kind. Raises `UserError` for features that there
    are not, or that no group has together.
    """
    first, *more = name.split(PLUS)
    preset = next((p for p in PRESETS if p.name == first), None)
    if preset is None:
        return None
    chosen = selected((*preset.features, *more))
    there = {f.name for f in chosen}
    for one in PRESETS:
        if {f.name for f in selected(one.features)} == there:
            doc = one.doc or " ".join(f.doc for f in chosen[-1:] or (BASE,))
            return variant(one.name, one.title, doc, chosen)
    asked = [f for f in chosen if not f.joint]
    name = PLUS.join((BASE.name, *(f.name for f in asked)))
    title = f"Classic group: {', '.join(f.title for f in asked)}"
    made = variant(name, title, " ".join(f.doc for f in asked), chosen)
    if len(asked) < 2:
        return made
    why = f"members with {' and '.join(f.name for f in asked)} were executed apart"
    return evolve(made, real_member="", unreal_member=why, member_apart={})
