"""Follows each member that a client's log shows with the model's own member."""
