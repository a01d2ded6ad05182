"""Logs that the model writes: runs of the classic group printed as brokers print them, with the
truth about what happened.
"""
