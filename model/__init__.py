"""The protocols as state machines: an engine that knows nothing of Kafka, what protocols share,
variants, mutations.
"""
