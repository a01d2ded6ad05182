"""Holds what clients' logs say against what the coordinator's log says of the same group."""
