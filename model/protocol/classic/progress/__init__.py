"""The classic group as `--progress` checks it: what has to happen in the end, without a bound on
generations (`feature.progress` puts the parts together).
"""
