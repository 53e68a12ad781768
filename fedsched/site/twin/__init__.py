"""The twin of a cluster simulates the jobs that its Slurm recorded, and finds a cause for each start that differs."""

from typing import TYPE_CHECKING

from fedsched.core.moved import former_names
from fedsched.site.twin.causes import Explained as Explained
from fedsched.site.twin.causes import explain as explain
from fedsched.site.twin.commands import Command as Command
from fedsched.site.twin.commands import commands_of as commands_of
from fedsched.site.twin.commands import script as script
from fedsched.site.twin.dumping import dump as dump
from fedsched.site.twin.folder import Dump as Dump
from fedsched.site.twin.made import made_dump as made_dump
from fedsched.site.twin.replay_facts import REPLAY_FACTS as REPLAY_FACTS
from fedsched.site.twin.replaying import Replayed as Replayed
from fedsched.site.twin.replaying import replay as replay
from fedsched.site.twin.site import Site as Site
from fedsched.site.twin.site import read_site as read_site

if not TYPE_CHECKING:
    __getattr__ = former_names(__name__, {"GIVENS": "REPLAY_FACTS"})
