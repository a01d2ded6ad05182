"""The subject of a check: a variant with a scope and perhaps a mutation, or the user's own spec.
Also the errors for names that do not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from groupcheck.invariants.registry import Promises, for_families
from groupcheck.model.engine import (
    Predicate,
    Refinement,
    Rule,
    ScopeError,
    Spec,
    StepInvariant,
    UserError,
)
from groupcheck.model.engine.verdict import Path
from groupcheck.model.protocol.classic.presets import PLUS
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.variant import Variant
from groupcheck.model.variants.registry import load, names
from groupcheck.oracles.explain import own
from groupcheck.oracles.explain.given import must_fit
from groupcheck.oracles.explain.unknown import one_of
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

OWN = (Spec, Variant, Callable)  # what FILE.py:NAME may be
WANTED = "a Spec, a function or a Variant"
Promise = Predicate | StepInvariant


@attrs.frozen
class Subject:
    """A spec ready to be explored."""

    spec: Spec
    # What it came from; None for the user's own spec.
    variant: Variant | None = None
    # FILE.py:NAME if the user's own spec was named so, and the arguments that made it.
    origin: str = ""
    arguments: Mapping[str, Any] = attrs.field(factory=dict)
    # The names of the invariants that were asked for, if one of them is the user's own
    # (FILE.py:NAME) or one that the protocol is known to break: neither is judged unasked.
    asked_invariants: tuple[str, ...] = ()
    # The goals of the user's own that were asked for, as FILE.py:NAME.
    asked_goals: tuple[str, ...] = ()
    # A deadlock is no violation, although it would be one of the spec.
    ignores_deadlock: bool = False
    mutation: Mutation | None = None
    # The names that the user asked for. If one of them never happens, the verdict is `unknown`.
    faults: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    # Are the promises about progress judged?
    progress: bool = False

    @property
    def not_promised(self) -> tuple[Promise, ...]:
        """Invariants that the protocol is known to break; none where progress is judged."""
        variant = None if self.progress else self.variant
        return promises(variant).not_promised if variant else ()

    @property
    def not_judged(self) -> tuple[str, ...]:
        """The promises about progress that a check leaves aside, and that `--progress` judges."""
        can_be = self.variant is None or self.variant.progress is not None
        return tuple(p.name for p in self.spec.progress if can_be and not self.progress)

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
        if self.arguments and not attrs.has(type(scope)):
            return {name: plain(value) for name, value in self.arguments.items()}
        if scope is None:
            return {}
        if not attrs.has(type(scope)):
            return {"scope": plain(scope)}
        document = plain(scope)
        if "faults" in document:
            document["faults"] = dict(scope.faults)
        return document  # type: ignore[no-any-return]


def variant_named(name: str) -> Variant:
    """The variant with this name. Raises `UserError` with the nearest name if there is none."""
    if str(name).endswith((".py", ".py:")):
        file = printable(name).removesuffix(":")[:60]
        raise UserError("does not say what to check", where=file, do=f"name it: {file}:NAME")
    if name not in names() and PLUS not in name:
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


def _variant(name: str) -> Variant:
    if own.is_own(name):
        found: Variant = own.named(name, (Variant,), "a Variant")
        return attrs.evolve(found, name=name)
    return variant_named(name)


def _mutation(name: str, variant: Variant) -> Mutation:
    """A known bug, or what FILE.py:NAME stands for: a `Mutation`, or a rule that takes the place of
    the variant's rule of the same name.
    """
    if not own.is_own(name):
        return mutation_named(name)
    from groupcheck.model.mutations import Mutation

    found = own.named(name, (Mutation, Rule), "a rule with a bug, or a Mutation")
    if isinstance(found, Mutation):
        return found
    return _another(name, found, variant.spec(variant.scope_type()), variant.families[0])


def _another(name: str, found: Rule, healthy: Spec, family: Family) -> Mutation:
    """The bug of a rule that takes the place of the healthy rule of its name. Raises `UserError` if
    there is none.
    """
    from groupcheck.model.mutations import SEEDED, Mutation
    from groupcheck.model.protocol.mutation import MutatedRule

    rules = {r.name: r for r in healthy.rules}
    if found.name not in rules:
        raise one_of("rule", found.name, rules)
    return Mutation(
        id=name,
        ticket=SEEDED,
        title=f"another {found.name}",
        family=family,
        invariant="",
        doc=found.doc,
        scope={},
        seeds=(MutatedRule(found, rules[found.name]),),
    )


def promises(variant: Variant) -> Promises:
    """The promises of a variant: `invariants`, `goals`, `ends` and `views`."""
    return for_families(variant.every_family)


def subject(
    what: str | Spec,
    *,
    mutation: str | None = None,
    invariants: Sequence[str | Promise] = (),
    goals: Sequence[str | Predicate] = (),
    constraints: Sequence[str | Predicate] = (),
    deadlock: bool = True,
    progress: bool = False,
    refines: Sequence[Refinement] | Refinement = (),
    faults: Mapping[str, int] | None = None,
    settings: Mapping[str, str] | None = None,
    **fields: Any,
) -> Subject:
    """A variant by name with a scope, or the user's own spec.

    `what` is the name of a variant, a `Spec`, or FILE.py:NAME: a `Spec`, a function that makes one,
    or a `Variant` in a file of the user's. `fields` are fields of the variant's scope, or arguments
    of the function; None means the default. `settings` are more of them, as text (`--set`).
    `invariants` and `goals` are names, the user's own promises, or FILE.py:NAME of one. `goals`,
    and `faults` with a budget above 0, must happen, or the verdict is `unknown`. `constraints` are
    the user's own or FILE.py:NAME, beside those of the spec, as `refines` is. `deadlock`: is one a
    violation? `progress`: are the promises about progress judged? (Of a variant they alone are, and
    `invariants` may name some of them.) A
    `mutation` changes the defaults to the smallest scope that shows it; of the user's own spec it
    is FILE.py:NAME of a rule. Raises `UserError` for any
    name that does not exist.
    """
    smaller = (refines,) if isinstance(refines, Refinement) else refines
    promises = (invariants, goals, constraints, deadlock, smaller, progress)
    must_fit(what, mutation, *promises, faults, settings)
    given = {name: value for name, value in fields.items() if value is not None}
    for name in settings or {}:
        if name in given:
            raise UserError(
                f"{name} is given twice",
                where="--set",
                do="give it once, here or by its own option",
            )
    found = own.named(str(what), OWN, WANTED) if own.is_own(what) else what
    if isinstance(found, Variant | str):
        about = _of_variant(_variant(str(what)), mutation, faults, given, settings or {}, progress)
    else:
        bug = mutation if own.is_own(mutation) else None
        more = {"faults": faults or None, "mutation": None if bug else mutation}
        given |= {name: value for name, value in more.items() if value is not None}
        about = _of_spec(what, found, given, settings or {})
        about = about if bug is None else _seeded(about, bug)
    if progress and not about.spec.progress:
        raise UserError(
            f"{about.spec.name} promises nothing about progress",
            where="--progress",
            do="give its Spec progress=[...], see groupcheck.model.engine.progress",
        )
    ignores = about.spec.deadlock and not deadlock
    spec = _bounded(about.spec, constraints, deadlock, smaller)
    about = attrs.evolve(about, spec=spec, progress=progress, ignores_deadlock=ignores)
    return _asked(about, invariants, goals)


def _bounded(
    spec: Spec,
    constraints: Sequence[str | Predicate],
    deadlock: bool,
    smaller: Sequence[Refinement],
) -> Spec:
    """The spec with these constraints and refinements, too, and perhaps without looking for
    deadlocks.
    """
    given = [_promise(c, (Predicate,), "a constraint") for c in constraints]
    for name in given:
        if isinstance(name, str):
            what = f"{printable(name)[:60]!r} is not a constraint of your own"
            raise UserError(what, where="--constraint", do="name it FILE.py:NAME")
    more = tuple(_added(given, spec.constraints))
    return attrs.evolve(
        spec,
        constraints=(*spec.constraints, *more),
        deadlock=spec.deadlock and deadlock,
        refinements=(*spec.refinements, *smaller),
    )


def _of_spec(
    what: str | Spec, found: Any, given: Mapping[str, Any], settings: Mapping[str, str]
) -> Subject:
    """The user's own spec, or the one that the user's function makes."""
    origin = what if isinstance(what, str) else ""
    if not isinstance(found, Spec):
        made, arguments = own.spec_of(origin, found, given, settings)
        return Subject(made, origin=origin, arguments=arguments)
    if given or settings:
        extra = [*given, *settings][0]
        raise UserError(
            f"a spec has its own scope: {extra!r} cannot be changed here", where=found.name
        )
    return Subject(found, origin=origin)


def _seeded(about: Subject, name: str) -> Subject:
    """The user's own spec with the rule that FILE.py:NAME stands for in the place of its own."""
    found = own.named(name, (Rule,), "a rule with a bug")
    bug = _another(name, found, about.spec, Family(about.spec.name, base=about.spec.name))
    return attrs.evolve(about, spec=bug.apply(about.spec), mutation=bug)


def _of_variant(
    variant: Variant,
    mutation: str | None,
    faults: Mapping[str, int] | None,
    given: dict[str, Any],
    settings: Mapping[str, str],
    progress: bool,
) -> Subject:
    if progress:
        variant = _for_progress(variant, {*given, *settings})
    bug = _mutation(mutation, variant) if mutation is not None else None
    if bug is not None and bug.family not in variant.every_family:
        raise UserError(
            f"mutation {bug.id} belongs to the {bug.family.name}, not to {variant.name}"
        )
    if bug is not None and (why := [bug.apart[f] for f in variant.families if f in bug.apart]):
        raise UserError(f"mutation {bug.id} cannot be put into {variant.name}: {why[0]}")
    if progress and bug is not None and bug.progress:
        bug = attrs.evolve(bug, scope=bug.progress_scope)
    scope = _scope(variant, bug, faults, {**given, **_parsed(variant, settings)})
    spec = _promised(variant, variant.spec(scope))
    if bug is not None:
        spec = bug.apply(spec)
    if progress and variant.progress is not None:
        spec = variant.progress(spec)
    named = tuple(name for name, count in (faults or {}).items() if count)
    return Subject(spec, variant, mutation=bug, faults=named)


def _for_progress(variant: Variant, given: Collection[str]) -> Variant:
    """The variant as `--progress` checks it. `given`: fields of the scope that the user sets."""
    if variant.progress is None:
        raise UserError(
            f"{variant.name} does not say which of its steps are fair, so --progress cannot check"
            " it",
            do="take one of " + ", ".join(n for n in names() if load(n).progress is not None),
        )
    if "generations" in given:
        raise UserError(
            "--progress has no bound on generations: they are relative to one another",
            do="leave out --generations",
        )
    return variant.for_progress


def _asked(
    about: Subject,
    invariants: Sequence[str | Promise],
    goals: Sequence[str | Predicate],
) -> Subject:
    """The subject with these invariants alone, if any, and these goals; one's own are added."""
    mine = [_promise(p, (Predicate, StepInvariant), "an invariant") for p in invariants]
    wanted = [_promise(p, (Predicate,), "a goal") for p in goals]
    spec = about.spec
    names = [p if isinstance(p, str) else p.name for p in mine]
    asked = [p for p in about.not_promised if p.name in names]
    spec = attrs.evolve(
        spec,
        invariants=(*spec.invariants, *_added([*mine, *asked], spec.invariants)),
        goals=(*spec.goals, *_added(wanted, spec.goals)),
    )
    known = _known_goals(spec, [p if isinstance(p, str) else p.name for p in wanted])
    named = tuple(p for p in invariants if isinstance(p, str))
    adds = bool(asked) or any(map(own.is_own, named))
    runs = spec.progress if about.progress else ()
    there = [p.name for p in (*spec.invariants, *spec.refinements, *about.not_promised, *runs)]
    return attrs.evolve(
        about,
        spec=_only(spec, names, there),
        goals=known,
        asked_invariants=named if adds else (),
        asked_goals=tuple(g for g in goals if isinstance(g, str) and own.is_own(g)),
    )


def _promise(given: Any, kinds: tuple[type, ...], what: str) -> Any:
    """A name, or a promise of the user's own. Raises `UserError` for one of another kind."""
    found = own.named(given, kinds, what) if own.is_own(given) else given
    kind = what.split()[-1]
    if isinstance(found, Predicate) and found.kind != kind:
        raise UserError(f"{found.name} is decorated with @{found.kind}, not with @{kind}")
    return found


def _added(given: Sequence[Any], there: Sequence[Any]) -> list[Any]:
    """The promises among these that the spec does not have yet."""
    return [p for p in given if not isinstance(p, str) and p not in there]


def _scope(
    variant: Variant, bug: Mutation | None, faults: Mapping[str, int] | None, given: dict[str, Any]
) -> Any:
    fields = [f.name for f in attrs.fields(variant.scope_type)]
    for name in given:
        if name not in fields:
            raise _unknown_field(variant, name, fields)
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


def _unknown_field(variant: Variant, name: str, known: Iterable[str]) -> UserError:
    return one_of(f"scope field of {variant.name}", name, known, f"scope --variant {variant.name}")


def _parsed(variant: Variant, settings: Mapping[str, str]) -> dict[str, Any]:
    """`--set NAME=VALUE`: converts each text to the type of its field."""
    types = {f.name: str(f.type) for f in attrs.fields(variant.scope_type)}
    for name in settings:
        if name not in types:
            raise _unknown_field(variant, name, types)
    do = f"groupcheck list scope --variant {variant.name} says what each field takes"
    return {
        name: own.parsed(name, text, types[name], "--set", do) for name, text in settings.items()
    }


def _promised(variant: Variant, spec: Spec) -> Spec:
    """The spec with what the variant promises at its scope."""
    more = promises(attrs.evolve(variant, families=variant.families_at(spec.scope), switched={}))
    return attrs.evolve(
        spec,
        invariants=(*spec.invariants, *more.invariants),
        goals=(*spec.goals, *more.goals),
        progress=(*spec.progress, *more.progress),
        ends=(*spec.ends, *more.ends),
        views=(*spec.views, *more.views),
    )


def _only(spec: Spec, invariants: Sequence[str], known: Sequence[str]) -> Spec:
    for name in invariants:
        if name not in known:
            if known and not spec.invariants:
                what = f"--progress judges {', '.join(known)}, and no invariants"
                raise UserError(what, do=f"leave out {printable(name)[:60]}, or --progress")
            raise one_of("invariant", name, known)
    return spec.only(invariants) if invariants else spec


def _known_goals(spec: Spec, goals: Sequence[str]) -> tuple[str, ...]:
    known = [g.name for g in spec.goals]
    for name in goals:
        if name not in known:
            raise one_of("goal", name, known)
    return tuple(dict.fromkeys(goals))
