"""Logs that the model writes: runs of the classic group, or of one of KIP-848 (`consumer`), printed
as brokers print them, with the truth about what happened.

`walk` runs the model, `broker_lines` and `request_lines` print, `lives` joins runs, `files` writes
logs and truth.
"""
