"""The story of a group, whatever log tells it: events, moments, rounds, timeline."""
