"""Logs of what really happened: parsers, one vocabulary of events, and the replay through the
model.
"""
