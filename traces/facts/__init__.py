"""Facts that hold whatever the cause is: what changed, went back, repeats, stands still, and what
several share. They follow from statements, in any format.
"""
