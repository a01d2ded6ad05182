"""Apache Kafka's own group coordinator and assignors, driven in a JVM: what the model is measured
against.
"""
