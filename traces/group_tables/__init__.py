"""The tables that kafka-consumer-groups.sh prints, and what one of them shows or two of them show
together.
"""
