"""The parts that the protocols of consumer groups share: coordinator, client, link, offsets,
faults.
"""
