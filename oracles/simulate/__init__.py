"""Timed simulation: what a rebalance costs."""
