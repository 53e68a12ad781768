"""Slurm's own scheduler: its accounts, its priorities, and both of its passes on nodes that have names."""

from fedsched.io.slurm_conf import SlurmConf as SlurmConf
from fedsched.slurm.clocks import Clocks as Clocks
from fedsched.slurm.noun import Slurm as Slurm
from fedsched.slurm.result import SlurmSchedule as SlurmSchedule
