"""The classic group with any features: which there are, in which order they come, and the variant
that they make.

Features are found: every module of `features` that holds a `FEATURE`, and those that other
installed packages offer. A package offers one with an entry point: in its pyproject.toml,

    [project.entry-points."groupcheck.features"]
    my_feature = "my_package.my_module:FEATURE"
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache, partial, reduce
from graphlib import TopologicalSorter
from importlib.metadata import entry_points
from operator import or_
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine import Spec, UserError
from groupcheck.model.protocol.classic import features, rules
from groupcheck.model.protocol.classic.feature import Feature
from groupcheck.model.protocol.classic.features.commit_styles import STYLED, commit_styles
from groupcheck.model.protocol.classic.features.failover_phases import (
    PHASES,
    SWITCHED,
    failover_phases,
)
from groupcheck.model.protocol.classic.features.progress.feature import progress
from groupcheck.model.protocol.classic.plain_group import BASE, KAFKA_MEMBER
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.classic.story import story
from groupcheck.model.protocol.covers import covers_of, each_once
from groupcheck.model.protocol.faults import CLASSIC_FAULTS, PROGRESS_FAULTS
from groupcheck.model.protocol.transform import Transformation, composed
from groupcheck.model.protocol.variant import Variant

GROUP = "groupcheck.features"
SCOPE = "Scope"  # what the name of a scope type begins with that several features make


# -- Which features there are, and their order


@cache
def every_feature() -> Mapping[str, Feature]:
    """Name -> feature, in the order in which they are applied. A name of our own stays ours."""
    found: dict[str, Feature] = {}
    for module in pkgutil.iter_modules(features.__path__):
        name = f"{features.__name__}.{module.name}" + (".feature" if module.ispkg else "")
        feature = getattr(importlib.import_module(name), "FEATURE", None)
        if feature is not None:
            found[feature.name] = feature
    for offered in _offered().values():
        if isinstance(offered, Feature):
            found.setdefault(offered.name, offered)
    before = {name: {*f.over, *f.after} & found.keys() for name, f in sorted(found.items())}
    return {name: found[name] for name in TopologicalSorter(before).static_order()}


@cache
def _offered() -> Mapping[str, Feature | UserError]:
    """Entry point -> the feature of another package, or why it is none. That is said only to who
    asks for it.
    """
    found: dict[str, Feature | UserError] = {}
    for offered in entry_points(group=GROUP):
        where = f"feature {offered.name}, which the entry point {offered.value} offers"
        try:
            feature = offered.load()
        except (Exception, SystemExit) as error:  # whatever somebody's module raises
            why = f"cannot be imported: {type(error).__name__}: {error}"
            found[offered.name] = UserError(why, where=where)
            continue
        is_one = isinstance(feature, Feature)
        wrong = UserError(f"is of type {type(feature).__name__}, not Feature", where=where)
        found[offered.name] = feature if is_one else wrong
    return found


def selected(asked: Iterable[str]) -> tuple[Feature, ...]:
    """The features of these names, with those that they need and those that several of them need
    of each other, in their order. Raises `UserError` for a name that is none, and for features
    that no group has together, with the reason.
    """
    every = every_feature()
    names: set[str] = set()
    for name in asked:
        names |= {name, *_needed(name)}
    joints = {n for n, f in every.items() if f.joint and names.issuperset(f.over)}
    chosen = tuple(f for name, f in every.items() if name in names | joints)
    for feature in chosen:
        for other, why in feature.refuses.items():
            if other in names:
                asked = feature.over if feature.joint else (feature.name,)
                *first, last = (other, *(n for n in asked if n not in _needed(other)))
                raise UserError(
                    f"no group has {', '.join(first)} and {last}: {why}",
                    where="--with",
                    do="leave one of them out",
                )
    return chosen


def _needed(name: str) -> set[str]:
    """The features without which one cannot be, all the way down."""
    every = every_feature()
    askable = [n for n, f in every.items() if not f.joint]
    if name not in askable:
        if isinstance(wrong := _offered().get(name), UserError):
            raise wrong
        near = get_close_matches(name, askable, 1)
        raise UserError(
            f"there is no feature {name!r}",
            where="--with",
            do=f"did you mean {near[0]}?" if near else "one of " + ", ".join(sorted(askable)),
        )
    return {more for over in every[name].over for more in (over, *_needed(over))}


# -- The scope of several


def scope_type(chosen: tuple[Feature, ...]) -> type[Scope]:
    """The scope of a group with these features: the fields, bounds and faults of all of them."""
    return _scope_type(tuple(f.name for f in chosen))


@cache
def _scope_type(names: tuple[str, ...]) -> type[Scope]:
    every = every_feature()
    types = [t for name in names if (t := every[name].scope_type)]
    bases = [t for t in types if not any(t is not u and issubclass(u, t) for u in types)]
    if len(bases) < 2:
        return bases[0] if bases else Scope
    merged: dict[str, Any] = {
        what: {k: v for t in bases for k, v in getattr(t, what).items()}
        for what in ("LACKS", "MORE")
    }
    shown = {
        "__doc__": "What bounds a run of a group with several features.",
        # Where pickle finds it, also in another process.
        "__module__": __name__,
        "__qualname__": "__".join((SCOPE, *names)),
    }
    made = type(shown["__qualname__"], tuple(reversed(bases)), {**merged, **shown})
    return frozen(slots=False)(made)


def __getattr__(name: str) -> type[Scope]:
    """The scope type of this name, for pickle."""
    first, *names = name.split("__")
    if first != SCOPE or not names or not every_feature().keys() >= {*names}:
        raise AttributeError(name)
    return _scope_type(tuple(names))


# -- The variant


def variant(name: str, title: str, doc: str, chosen: tuple[Feature, ...]) -> Variant:
    """The classic group with these features (`selected`). What several features say of the same
    name, the last of them says.

    The styles of commits and the phases of a fail-over come last, where the scope asks for them.
    """
    of = scope_type(chosen)
    layers = (BASE, *chosen)
    styled = not of.NO_STYLES
    styles = [f.styles for f in chosen if f.styles]
    changes = [f.change for f in chosen]
    if styled:
        changes += [commit_styles, *styles]
    changes.append(failover_phases)

    def every(what: str) -> dict[str, Any]:
        return {key: value for layer in layers for key, value in getattr(layer, what).items()}

    def last(what: str) -> Any:
        return next(v for layer in reversed(layers) if (v := getattr(layer, what)) is not None)

    def reasons(what: str) -> list[tuple[str, str]]:
        return [(outcome, why) for outcome, why in every(what).items() if why]

    covers = covers_of(name)
    reached = {outcome for cover in covers for outcome in cover.reaches}
    faults = {**CLASSIC_FAULTS, **of.MORE}
    spent_by = {**{fault: (fault,) for fault in of.MORE}, **every("spent_by")}
    words = reduce(or_, (layer.words for layer in layers))
    judged = _progress(chosen)
    switched = {**SWITCHED, **(STYLED if styled else {})}
    # Those that switch something on come last, so that they only list what needs it.
    shows = each_once(fields for layer in layers for fields in layer.shows)
    not_owed = {family for feature in chosen for family in feature.not_owed}
    return Variant(
        name=name,
        title=title,
        doc=doc,
        scope_type=of,
        spec=partial(_spec, name=name, changes=tuple(changes)),
        faults={fault: told for fault, told in faults.items() if fault not in of.LACKS},
        lacks=of.LACKS,
        assignors=of.ASSIGNORS,
        progress=judged,
        progress_faults=PROGRESS_FAULTS if judged else {},
        families=tuple(f for layer in layers for f in layer.families if f not in not_owed),
        switched=switched,
        coordinator=rules.COORDINATOR | PHASES | {r.name for f in layers for r in f.coordinator},
        tell=words.tell,
        story=partial(story, words=words),
        spent_by={fault: by for fault, by in spent_by.items() if fault not in of.LACKS},
        shows=tuple(sorted(shows, key=lambda fields: bool(fields.keys() & switched.keys()))),
        covers=covers,
        unreached={what: why for what, why in reasons("unreached") if what not in reached},
        real=last("real"),
        unreal=last("unreal"),
        asked=last("asked"),
        executed=last("executed"),
        conformed=last("conformed"),
        bookkeeping=dict(reasons("bookkeeping")),
        real_member=KAFKA_MEMBER,
        member_generations=last("member_generations"),
        member_scopes=last("member_scopes"),
        member_changing=last("member_changing"),
        member_apart=dict(reasons("member_apart")),
    )


def _spec(scope: Any, name: str, changes: tuple[Transformation, ...]) -> Spec:
    """The protocol at a scope, without invariants."""
    return attrs.evolve(composed(rules.spec(scope), changes), name=name)


def _progress(chosen: tuple[Feature, ...]) -> Transformation | None:
    """The changes of a check with --progress; None where a feature has none."""
    if any(f.no_progress for f in chosen):
        return None
    return partial(_going_on, more=tuple(f.progress for f in chosen if f.progress))


def _going_on(spec: Spec, more: tuple[Transformation, ...]) -> Spec:
    return composed(progress(spec), more)
