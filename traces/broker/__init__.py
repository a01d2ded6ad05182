"""The coordinator's log: its lines as events, and the worlds of the group that explain them."""
