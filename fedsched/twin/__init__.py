"""The twin of a cluster: what its Slurm tells, simulated anew, and a cause for each start that differs."""

from fedsched.twin.commands import Command as Command
from fedsched.twin.commands import commands_of as commands_of
from fedsched.twin.commands import script as script
from fedsched.twin.dumping import dump as dump
