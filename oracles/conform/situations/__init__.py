"""Situations of the classic coordinator that no row of the model reaches: schedules as data, each
with the answers, the memory and the records that the protocol's documents promise.
"""
