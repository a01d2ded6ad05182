"""Situations of the classic coordinator that no row of the model reaches: schedules as data, each
with the answers, the memory and the records that the protocol's documents promise.

The model has no malformed requests, no transactions, no expiry of offsets: situations stand for
these. They name no model, so they hold for every variant. An expectation that the real coordinator
does not meet is corrected there and written up in FINDINGS.md.
"""
