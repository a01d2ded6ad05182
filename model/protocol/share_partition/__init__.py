"""A partition of a share group, as its leader keeps it (KIP-932): what becomes of its records.

`partition` is what the leader and the persister know, `rules` what happens, `scope` the bounds.
"""
