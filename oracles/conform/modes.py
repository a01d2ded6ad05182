"""The features of a variant that `--live` and `--whole` follow. Everything else is refused in
words: to agree would be a claim about what was never executed, and to differ would be nobody's
mistake.

A mode follows features (`Feature.followed`). What it knows are the rules of the bases of their
families and the fields of their scopes, so a variant with anything else is refused until somebody
has made the mode follow it.

The rules of a variant are compared with those of the bases as values. So rules that a feature makes
anew for each spec have to be cached, or its variant is unlike itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import fields_dict, frozen

from groupcheck.model.engine import UserError
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic.composition import every_feature
from groupcheck.model.protocol.classic.feature import Followed
from groupcheck.model.protocol.classic.plain_group import BASE
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.variant import Variant
from groupcheck.model.variants import load
from groupcheck.oracles.conform.conformance import executable
from groupcheck.traces.phrases import some_of

NAMED = 5  # rules that a refusal names


@frozen
class Mode:
    """The features that a mode of `conform` follows."""

    option: str
    # How a feature names it (`Feature.followed`).
    name: Followed
    # What it says before the names of rules that it does not know.
    lacks: str
    # The fields of the scope that `--set` may give.
    settings: frozenset[str]
    # Does it execute the coordinator alone?
    coordinator: bool

    @property
    def families(self) -> frozenset[Family]:
        """The families that it follows."""
        there = [f for f in (BASE, *every_feature().values()) if self.name in f.followed]
        return frozenset(family for feature in there for family in feature.families)

    def followed(self, name: str, settings: Iterable[str] = ()) -> Variant:
        """The variant of this name. `settings`: the fields that `--set` gives. Raises `UserError`
        for what cannot be compared with real code, and for what the mode does not follow.
        """
        variant = executable(name)
        if strange := self._strange(variant):
            raise UserError(
                f"{name} is not followed there: {'; '.join(strange)}",
                where=self.option,
                do=f"leave out {self.option}: {self._instead(variant)}",
            )
        fields = fields_dict(variant.scope_type)
        for field in settings:
            if field in fields and field not in self.settings:
                raise UserError(
                    f"{self.option} does not follow {field}",
                    where="--set",
                    do=f"leave it out, or {self.option}; it follows"
                    f" {', '.join(sorted(self.settings & fields.keys()))}",
                )
        return variant

    def _strange(self, variant: Variant) -> list[str]:
        """The features of a variant that the mode does not know, in words."""
        found = []
        bases = [load(base) for base in sorted({family.base for family in self.families})]
        more = [f.name for f in variant.families if f not in self.families]
        if more:
            found.append(f"it adds {', '.join(more)}")
        known = {r for base in bases for r in _rules(base)}
        names = {r.name for r in known}
        strange = [r.name for r in _rules(variant) if r not in known]
        if new := [name for name in strange if name not in names]:
            found.append(f"{self.lacks} {some_of(new, NAMED)}")
        elif strange:
            found.append(f"it has rules of its own for {some_of(strange, NAMED)}")
        fields = {field for base in bases for field in fields_dict(base.scope_type)}
        settings = [f for f in fields_dict(variant.scope_type) if f not in fields]
        if settings:
            found.append(f"nothing there carries out {', '.join(settings)}")
        return found

    def _instead(self, variant: Variant) -> str:
        """The modes that answer."""
        ways = []
        if variant.executed:
            ways.append(f"`conform {variant.name}` executes the rows of its coordinator")
        if variant.real_member:
            ways.append(f"`conform {variant.name} --side member` those of its member")
        mine = [r for r in _rules(variant) if r.name in variant.coordinator]
        bases = [load(f.base) for f in variant.families if f in self.families]
        alike = [base for base in bases if all(r in _rules(base) for r in mine)]
        if self.coordinator and alike:
            ways.append(f"`conform {alike[0].name} {self.option}` has the same coordinator")
        return ", ".join(ways)


def _rules(variant: Variant) -> tuple[Rule, ...]:
    return variant.spec(variant.scope_type()).rules


LIVE = Mode(
    option="--live",
    name="live",
    lacks="no request there leads to",
    settings=frozenset({"max_size", "partitions", "protocols", "static_members", "two_step"}),
    coordinator=True,
)
WHOLE = Mode(
    option="--whole",
    name="whole",
    lacks="no step there is",
    settings=frozenset(),
    coordinator=False,
)
