"""The demands on an assignment: valid, complete, balanced, sticky, and safe to hand over; each told
in words where it is not.
"""

from groupcheck.oracles.assignment.balance import (
    balanced,
    balanced_in_topics,
    level,
    locally_balanced,
)
from groupcheck.oracles.assignment.handover import handed_over, moves
from groupcheck.oracles.assignment.validity import Violation, complete, valid

__all__ = [
    "Violation",
    "balanced",
    "balanced_in_topics",
    "complete",
    "handed_over",
    "level",
    "locally_balanced",
    "moves",
    "valid",
]
