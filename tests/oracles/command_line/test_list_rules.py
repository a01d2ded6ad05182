"""`list rules` of a variant has the rules of all its scopes, so every rule that a bug changes."""

from __future__ import annotations

import pytest

from groupcheck.model.mutations import all_mutations
from groupcheck.model.variants import load
from groupcheck.oracles.command_line.listing import listing


@pytest.mark.parametrize("variant", ["consumer", "classic"])
def test_every_rule_that_a_bug_changes_is_listed(variant: str) -> None:
    rules = [row["name"] for row in listing("rules", variant)]
    assert len(rules) == len({*rules})
    bugs = [bug for bug in all_mutations() if bug.concerns(load(variant))]
    assert bugs and not {name for bug in bugs for name in bug.rules} - {*rules}
