"""The uses of simulations: curves that answer a question about settings."""

from groupcheck.oracles.simulate.uses.curves import QUESTIONS, Answered, Curve, answered, question

__all__ = ["QUESTIONS", "Answered", "Curve", "answered", "question"]
