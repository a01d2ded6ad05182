"""A feature of the classic group: what makes a group rebalance although nobody comes or goes
(protocol.md 2.7; `feature.triggers` puts the parts together).
"""
