"""What a scope leaves no room for: which rules, outcomes and goals need which faults and sizes."""

from groupcheck.invariants.reach.classic import CANNOT, NEEDS

__all__ = ["CANNOT", "NEEDS"]
