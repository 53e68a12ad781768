"""The independent check behind `Schedule.verify()`: one file per rule, and none uses the engine.

A schedule comes in. An error that names the job and the rule goes out, or nothing.
"""
