"""The uses of simulations: curves that answer a question about settings."""

from groupcheck.oracles.simulate.uses.curves import (
    QUESTIONS,
    Curve,
    CurveResult,
    answered,
    question,
)

__all__ = ["QUESTIONS", "Curve", "CurveResult", "answered", "question"]
