"""A group that the coordinator rebalances while its members go on (see `scope` and `rounds`)."""
