"""The model's coordinator against Apache Kafka's own, row by row: every reachable (memory, input)
is executed on the real one and compared.
"""
