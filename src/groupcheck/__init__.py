"""groupcheck: a model checker and test oracle for Kafka consumer-group protocols."""

__version__ = "0.1.0"
