"""The twin of a cluster: what its Slurm tells, simulated anew, and a cause for each start that differs."""

from fedsched.twin.causes import Explained as Explained
from fedsched.twin.causes import explain as explain
from fedsched.twin.commands import Command as Command
from fedsched.twin.commands import commands_of as commands_of
from fedsched.twin.commands import script as script
from fedsched.twin.dumping import dump as dump
from fedsched.twin.folder import Dump as Dump
from fedsched.twin.givens import GIVENS as GIVENS
from fedsched.twin.made import made_dump as made_dump
from fedsched.twin.replaying import Replayed as Replayed
from fedsched.twin.replaying import replay as replay
from fedsched.twin.site import Site as Site
from fedsched.twin.site import read_site as read_site
