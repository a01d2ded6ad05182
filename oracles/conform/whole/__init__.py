"""Model and reality of a whole group: real members on a real coordinator, joined by connections
that can break, beside the model's whole spec, step by step on random schedules.
"""
