"""Which rows a variant's member has: those of each kind of member, of changing topics and
subscriptions, and of the styles of commits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from groupcheck.model.engine import Spec, SpecError, UserError
from groupcheck.model.protocol.classic.client_faults import late_commit
from groupcheck.model.protocol.classic.features.full_offsets.scope import FullOffsetsScope
from groupcheck.model.protocol.classic.features.unsubscribe import UnsubscribeScope
from groupcheck.model.protocol.classic.scope import ASYNC, AUTO, COMMIT_STYLES, SYNC, Scope
from groupcheck.model.protocol.variant import Variant
from groupcheck.model.variants import load, names
from groupcheck.oracles.conform.member.application import ApplicationRows
from groupcheck.oracles.conform.member.callback_rows import CallbackRows
from groupcheck.oracles.conform.member.changing import Changing
from groupcheck.oracles.conform.member.commit_styles import StyledRows
from groupcheck.oracles.conform.member.keeping_rows import FullOffsetRows
from groupcheck.oracles.conform.member.rows import Rows
from groupcheck.oracles.conform.member.unsubscribing import UnsubscribingRows
from groupcheck.oracles.explain.subject import one_of, subject, variant_named

if TYPE_CHECKING:
    from groupcheck.model.mutations import Mutation

CHANGES = ("topics", "subscriptions")  # fields of a scope that its changing rows depend on
HOW = ("members", "partitions", "atomic_complete")  # fields that do not make another kind of member
STYLE = "commit_style"
AnyRows = Rows | Changing | StyledRows
ANY = 9  # of each fault: more than one step can spend


def every_row(
    variant: str, generations: int | None, mutation: str | None, settings: Mapping[str, str]
) -> list[AnyRows]:
    """All rows of the variant's members: with a subscription and topics that stay as they are, with
    changing ones, and those of the styles of commits; only the last if `settings` name a style.
    """
    styles = styles_of(variant, generations, mutation, settings)
    if STYLE in settings:
        return [*styles]
    changing = changing_of(variant, generations, mutation, settings)
    return [*rows_of(variant, generations, mutation, settings), *changing, *styles]


def rows_of(
    variant: str, generations: int | None, mutation: str | None, settings: Mapping[str, str]
) -> list[Rows]:
    """The rows of each kind of member that the variant has, with commits in poll and without,
    perhaps with a mutation. Raises `UserError` for settings at which no such row is executed:
    commits of a producer, no records, phases.
    """
    about = executable(variant)
    fields: dict[str, Any] = {
        "generations": about.member_generations if generations is None else generations,
        "records": 1,
        "assignor": next(iter(about.assignors)),  # no rule of the member's asks for it
    }
    if about.member_changing:
        settings = {name: text for name, text in settings.items() if name not in CHANGES}
    if settings.get("commits", "consumer") != "consumer":
        raise UserError(
            "commits in transactions are the producer's, of which no row is executed",
            where="--set commits",
            do="leave it out, or leave out --side member",
        )
    found: list[Rows] = []
    bug, shown_at = _bug(variant, mutation)
    # A setting may make two kinds the same.
    kinds = {_unset(kind, settings): None for kind in about.member_scopes}
    for kind in map(dict, kinds):
        mine = dict(_unset(fields | kind, settings))
        chosen = subject(
            variant,
            mutation=shown_at,
            faults=dict.fromkeys(about.faults, ANY),
            settings=settings,
            **mine,
        )
        scope = attrs.evolve(chosen.spec.scope, atomic_complete=False)
        if not scope.records:
            raise UserError("records is 0: the member's rows need one", where="--set")
        if scope.phases:
            raise UserError(
                "the member's rows are the same whoever answers, so they know no phases",
                where="--set phases",
                do="leave it out, or leave out --side member",
            )
        for autocommit in [scope.autocommit] if "autocommit" in settings else [True, False]:
            here = attrs.evolve(scope, autocommit=autocommit)
            spec = _mutated(about, here, bug)
            found.append(_kind_of_rows(here)(here, spec, _in_words(kind) if len(kinds) > 1 else ""))
    return found


def styles_of(
    variant: str, generations: int | None, mutation: str | None, settings: Mapping[str, str]
) -> list[StyledRows]:
    """The rows of each style of commits, for each kind of member that the variant has: one
    generation and one partition, unless more are asked for. None for a variant without styles.
    Raises `UserError` for a style that does not exist, or that no such member has.
    """
    about, asked = executable(variant), settings.get(STYLE)
    without = about.scope_type.NO_STYLES
    if asked is not None and without:
        raise UserError(f"there is no commit_style here: {without}", where=f"--set {STYLE}")
    if without:
        return []
    given = {name: text for name, text in settings.items() if name != STYLE}
    if any("partitions" in kind for kind in about.member_scopes):
        given = {"partitions": "1", **given}
    if asked is not None and asked not in COMMIT_STYLES:
        raise one_of(STYLE, asked, COMMIT_STYLES)
    found: list[StyledRows] = []
    bug, _ = _bug(variant, mutation)
    for model in rows_of(variant, generations or 1, None, given):
        faults = tuple(f for f in model.spec.scope.faults if f[0] != late_commit.name)
        for style in (AUTO,) if model.scope.autocommit else (SYNC, ASYNC):
            if asked in (None, style):
                scope = attrs.evolve(model.spec.scope, commit_style=style, faults=faults)
                try:
                    spec = _mutated(about, scope, bug)
                except SpecError:  # the style has a rule of its own there
                    if asked:
                        raise
                    continue
                found.append(StyledRows(model, spec))
    if asked and not found:
        poll = "commits" if asked == AUTO else "does not commit"
        raise UserError(
            f"commit_style {asked} {poll} in poll", where="--set autocommit", do="leave it out"
        )
    return found


def _kind_of_rows(scope: Scope) -> type[Rows]:
    if isinstance(scope, FullOffsetsScope):
        return FullOffsetRows
    if isinstance(scope, UnsubscribeScope):
        return UnsubscribingRows
    return CallbackRows if scope.callbacks else ApplicationRows


def changing_of(
    variant: str, generations: int | None, mutation: str | None, settings: Mapping[str, str]
) -> list[Changing]:
    """The rows of a member whose subscription and topics change; none if the variant has none.
    There are no commits in poll. `settings` that name topics or subscriptions replace the scopes.
    """
    about = executable(variant)
    if settings.get("autocommit") in ("yes", "true"):
        return []
    bug, shown_at = _bug(variant, mutation)
    given = {name: settings[name] for name in CHANGES if name in settings}
    found: list[Changing] = []
    for kind in about.member_changing[:1] if given else about.member_changing:
        fields = {**about.member_changing[0], **given} if given else kind
        chosen = subject(
            variant,
            mutation=shown_at,
            faults={"subscribe": ANY},
            **{
                "members": 1,
                "generations": about.member_generations if generations is None else generations,
                "records": 0,
                "autocommit": False,
                "assignor": "any",
                **fields,
            },
        )
        scope = chosen.spec.scope
        found.append(Changing(_mutated(about, scope, bug), _in_words(fields)))
    return found


def _bug(variant: str, mutation: str | None) -> tuple[Mutation | None, str | None]:
    """The mutation; and its id if its scope bounds the rows, unless that has a style."""
    kind = executable(variant).member_scopes[0]
    bug = subject(variant, mutation=mutation, **kind).mutation if mutation else None
    return bug, None if bug and STYLE in bug.scope else mutation


def _unset(kind: Mapping[str, Any], settings: Mapping[str, str]) -> tuple[tuple[str, Any], ...]:
    """The fields of a kind of member that the settings leave as they are."""
    return tuple((name, value) for name, value in kind.items() if name not in settings)


def _in_words(kind: Mapping[str, Any]) -> str:
    """`static members 1`: which of several kinds of members it is."""
    told = {name: value for name, value in kind.items() if name not in HOW}
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in told.items())


def _mutated(about: Variant, scope: Scope, mutation: Mutation | None) -> Spec:
    spec = about.spec(scope)
    if mutation is None:
        return spec
    strange = [name for name in mutation.rules if name in about.coordinator]
    if strange:
        raise UserError(
            f"mutation {mutation.id} changes the coordinator ({strange[0]}), not the member",
            do="choose one of the member's, or leave out --side member",
        )
    return mutation.apply(spec)


def executable(name: str) -> Variant:
    """The variant of this name. Raises `UserError` if no real member can be executed for it."""
    variant = variant_named(name)
    if not variant.real_member:
        raise UserError(
            f"no row executes the member of {name} on a real one: {variant.unreal_member}",
            do="choose one of " + ", ".join(n for n in names() if load(n).real_member),
        )
    return variant
