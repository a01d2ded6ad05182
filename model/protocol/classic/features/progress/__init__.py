"""The classic group as `--progress` checks it: what has to happen in the end, without a bound on
generations (`feature.progress` puts the parts together).

It is a feature that is applied after a mutation, so that ordinary checks keep their counts. Weak
fairness of single rules at single members suffices; a test takes out one assumption after the
other.
"""
