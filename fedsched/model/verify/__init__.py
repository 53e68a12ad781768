"""The independent check behind `Schedule.verify()`: one file for each rule, none of which uses the engine.

A schedule comes in. An error that names the job and the rule goes out, or nothing.
"""
