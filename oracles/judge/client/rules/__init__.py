"""What must hold of every client, whatever its library: each rule with its source."""

from groupcheck.oracles.judge.client.rules.every import RULES
from groupcheck.oracles.judge.client.rules.rule import Case, Rule

__all__ = ["RULES", "Case", "Rule"]
