"""What really happened: parsers of logs, one vocabulary of events, and the replay of logs through
the model.
"""
