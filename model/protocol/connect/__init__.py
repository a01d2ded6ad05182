"""Kafka Connect's workers: the classic group's coordinator with other members (KIP-415).

`worker` says what a worker does beyond a member, `leader` has survey, plan and deal, `memory` what
the leader remembers, `plans` the assignor with the model's values, `feature` puts them together;
`versions` has eager workers among them, `backoff` workers that cannot read their configurations,
`preset` what both variants share.
"""
