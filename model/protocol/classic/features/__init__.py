"""The features of the classic group, each in one file or one folder: what a group can do beyond the
base. `FEATURE` says all of it (`groupcheck.model.protocol.classic.feature`).
"""
