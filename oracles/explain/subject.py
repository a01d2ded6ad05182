"""What is checked: a variant with a scope and perhaps a mutation, or the user's own spec. Also the
errors for names that do not exist.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import attrs

from groupcheck.invariants.registry import Promises, for_families
from groupcheck.model.engine import ScopeError, Spec, UserError
from groupcheck.model.engine.verdict import Path
from groupcheck.model.protocol.variant import Variant
from groupcheck.model.variants.registry import load, names
from groupcheck.oracles.printable import plain, printable

if TYPE_CHECKING:
    from groupcheck.model.mutations import Mutation
    from groupcheck.model.protocol.story import Story

__all__ = [
    "Subject",
    "every_mutation",
    "mutation_named",
    "one_of",
    "promises",
    "subject",
    "variant_named",
]

FEW = 12  # an error lists up to this many names


@attrs.frozen
class Subject:
    """A spec ready to be explored."""

    spec: Spec
    # What it came from; None for the user's own spec.
    variant: Variant | None = None
    mutation: Mutation | None = None
    # The names that the user asked for. If one of them never happens, the verdict is `unknown`.
    faults: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The name shown in the answer: `classic`, or `classic with <mutation>`."""
        return self.spec.name + (f" with {self.mutation.id}" if self.mutation else "")

    def story(self, path: Path) -> tuple[Story, str]:
        """The path as the variant explains it, or a plain account if the variant has no story; and
        the error, if the story failed.

        The story is made after the verdict, so a bug in it must not cost the verdict.
        """
        from groupcheck.oracles.explain.plain_story import plain_story

        if self.variant is None:
            return plain_story(self.spec, path), ""
        try:
            return self.variant.story(path) if self.variant.story else plain_story(
                self.spec, path, self.variant.tell
            ), ""
        except Exception as error:
            return plain_story(
                self.spec, path
            ), f"{self.variant.name} could not explain this path; please report it: {error!r}"

    def scope(self) -> dict[str, Any]:
        """The scope as plain JSON; faults as an object of name to budget."""
        scope = self.spec.scope
        if scope is None:
            return {}
        if not attrs.has(type(scope)):
            return {"scope": plain(scope)}
        document = plain(scope)
        if "faults" in document:
            document["faults"] = dict(scope.faults)
        return document  # type: ignore[no-any-return]


def one_of(kind: str, name: str, known: Iterable[str]) -> UserError:
    """The error for a name that does not exist: suggests the nearest name, or lists the names."""
    there, name = list(known), str(name)
    near = get_close_matches(name, there, 1)
    every = (
        f"choose one of {', '.join(there)}"
        if len(there) <= FEW
        else f"groupcheck list {kind}s shows all {len(there)}"
    )
    hint = f"did you mean {near[0]}?" if near else every if there else f"there are no {kind}s yet"
    return UserError(f"unknown {kind} {printable(name)[:60]!r}", do=hint)


def variant_named(name: str) -> Variant:
    """The variant with this name. Raises `UserError` with the nearest name if there is none."""
    if name not in names():
        raise one_of("variant", name, names())
    return load(name)


def every_mutation() -> tuple[Mutation, ...]:
    """All known bugs, in alphabetical order of their ids."""
    from groupcheck.model.mutations import all_mutations

    return all_mutations()


def mutation_named(name: str) -> Mutation:
    """The mutation with this id. Raises `UserError` with the nearest id if there is none."""
    every = {m.id: m for m in every_mutation()}
    if name not in every:
        raise one_of("mutation", name, every)
    return every[name]


def promises(variant: Variant) -> Promises:
    """What a variant promises: `invariants`, `goals`, `ends` and `views`."""
    return for_families(variant.families)


def subject(
    what: str | Spec,
    *,
    mutation: str | None = None,
    invariants: Sequence[str] = (),
    goals: Sequence[str] = (),
    faults: Mapping[str, int] | None = None,
    settings: Mapping[str, str] | None = None,
    **fields: Any,
) -> Subject:
    """A variant by name with a scope, or the user's own spec (which already has a scope).

    `fields` are fields of the variant's scope; None means the default. `settings` are more of them,
    as text (`--set`). `goals`, and `faults` with a budget above 0, must happen, or the verdict is
    `unknown`. A `mutation` changes the defaults to the smallest scope that shows it. Raises
    `UserError` for any name that does not exist.
    """
    _must_fit(what, mutation, invariants, goals, faults, settings)
    given = {name: value for name, value in fields.items() if value is not None}
    for name in settings or {}:
        if name in given:
            raise UserError(
                f"{name} is given twice",
                where="--set",
                do="give it once, here or by its own option",
            )
    if isinstance(what, Spec):
        extra = [
            *given,
            *(settings or {}),
            *(["faults"] if faults else []),
            *(["mutation"] if mutation is not None else []),
        ]
        if extra:
            raise UserError(
                f"a spec has its own scope: {extra[0]!r} cannot be changed here", where=what.name
            )
        return Subject(_only(what, invariants), goals=_known_goals(what, goals))
    variant = variant_named(what)
    bug = mutation_named(mutation) if mutation is not None else None
    if bug is not None and bug.family not in variant.families:
        raise UserError(f"mutation {bug.id} belongs to the {bug.family.name}, not to {what}")
    scope = _scope(variant, bug, faults, {**given, **_parsed(variant, settings or {})})
    spec = _promised(variant, variant.spec(scope))
    if bug is not None:
        spec = bug.apply(spec)
    named = tuple(name for name, count in (faults or {}).items() if count)
    return Subject(_only(spec, invariants), variant, bug, named, _known_goals(spec, goals))


def _must_fit(
    what: object,
    mutation: object,
    invariants: object,
    goals: object,
    faults: object,
    settings: object,
) -> None:
    """Raises `UserError` for an argument of the wrong type."""
    named = faults is None or (isinstance(faults, Mapping) and _texts(faults))
    told = settings is None or (
        isinstance(settings, Mapping) and _texts(settings) and _texts(settings.values())
    )
    for name, value, fits, kind in (
        ("what is checked", what, isinstance(what, str | Spec), "the name of a variant or a Spec"),
        (
            "mutation",
            mutation,
            mutation is None or isinstance(mutation, str),
            "the id of a mutation",
        ),
        ("invariants", invariants, _texts(invariants), 'a list of names, as in ["one_owner"]'),
        ("goals", goals, _texts(goals), 'a list of names, as in ["zombie_owner"]'),
        ("faults", faults, named, 'a mapping of names to numbers, as in {"crash": 1}'),
        ("settings", settings, told, "a mapping of names to texts"),
    ):
        if not fits:
            raise UserError(f"{name} is {printable(repr(value))[:60]}, not {kind}")


def _texts(value: object) -> bool:
    return (
        isinstance(value, Collection)
        and not isinstance(value, str | bytes)
        and all(isinstance(one, str) for one in value)
    )


def _scope(
    variant: Variant, bug: Mutation | None, faults: Mapping[str, int] | None, given: dict[str, Any]
) -> Any:
    fields = [f.name for f in attrs.fields(variant.scope_type)]
    for name in given:
        if name not in fields:
            raise one_of(f"scope field of {variant.name}", name, fields)
    if "assignor" in given and str(given["assignor"]) not in variant.assignors:
        raise one_of("assignor", str(given["assignor"]), variant.assignors)
    for name, count in (faults or {}).items():
        if name not in variant.faults and name not in variant.lacks:
            raise one_of("fault", name, variant.faults)
        if not isinstance(count, int) or count < 0:
            raise ScopeError(f"the budget of fault {name} is {count!r}, not 0 or more")
    start = dict(bug.scope) if bug is not None else {}
    if faults is not None:
        given["faults"] = tuple(faults.items())
    if "any_faults" in given:
        start.pop("faults", None)
    elif "faults" in given:
        start.pop("any_faults", None)
    lacking = [fault for fault in dict(start.get("faults", ())) if fault in variant.lacks]
    if bug is not None and lacking and "faults" not in given:
        raise ScopeError(
            f"the scope that shows {bug.id} has the fault {lacking[0]!r}, which {variant.name}"
            f" lacks: {variant.lacks[lacking[0]]}",
            do="name the faults of another scope, as in --fault crash=1",
        )
    return variant.scope_type(**{**start, **given})


def _parsed(variant: Variant, settings: Mapping[str, str]) -> dict[str, Any]:
    """`--set NAME=VALUE`: converts each text to the type of its field."""
    types = {f.name: str(f.type) for f in attrs.fields(variant.scope_type)}
    parsed: dict[str, Any] = {}
    for name, text in settings.items():
        kind = types.get(name)
        if kind is None:
            raise one_of(f"scope field of {variant.name}", name, types)
        words = {
            "bool": {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        }
        if "None" in kind and text.lower() == "none":
            parsed[name] = None
        elif "bool" in kind and text.lower() in words["bool"]:
            parsed[name] = words["bool"][text.lower()]
        elif "int" in kind and "tuple" not in kind and re.fullmatch(r"-?[0-9]{1,15}", text):
            parsed[name] = int(text)
        elif "str" in kind and "tuple" not in kind:
            parsed[name] = text
        else:
            raise UserError(
                f"{printable(text)[:40]!r} is not a valid value for {name}",
                where="--set",
                do=f"groupcheck list scope --variant {variant.name} says what each field takes",
            )
    return parsed


def _promised(variant: Variant, spec: Spec) -> Spec:
    """The spec with the promises of the variant."""
    more = promises(variant)
    return attrs.evolve(
        spec,
        invariants=(*spec.invariants, *more.invariants),
        goals=(*spec.goals, *more.goals),
        ends=(*spec.ends, *more.ends),
        views=(*spec.views, *more.views),
    )


def _only(spec: Spec, invariants: Sequence[str]) -> Spec:
    known = [p.name for p in spec.invariants]
    for name in invariants:
        if name not in known:
            raise one_of("invariant", name, known)
    return spec.only(invariants) if invariants else spec


def _known_goals(spec: Spec, goals: Sequence[str]) -> tuple[str, ...]:
    known = [g.name for g in spec.goals]
    for name in goals:
        if name not in known:
            raise one_of("goal", name, known)
    return tuple(goals)
