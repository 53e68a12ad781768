"""Slurm's own scheduler: its accounts, its priorities, and both of its passes on nodes that have names."""

from fedsched.io.slurm_files.slurm_conf import SlurmConf as SlurmConf
from fedsched.slurm.conf.policy import Slurm as Slurm
from fedsched.slurm.result.clocks import Clocks as Clocks
from fedsched.slurm.result.schedule import SlurmSchedule as SlurmSchedule
