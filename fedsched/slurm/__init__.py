"""A simulation of Slurm's own scheduler: accounts, priorities, and its main and backfill passes on named nodes."""

from fedsched.io.slurm_files.slurm_conf import SlurmConf as SlurmConf
from fedsched.slurm.conf.policy import Slurm as Slurm
from fedsched.slurm.priority.associations import Associations as Associations
from fedsched.slurm.priority.priority_parameters import PriorityParameters as PriorityParameters
from fedsched.slurm.priority.sprio import weigh as weigh
from fedsched.slurm.result.clocks import Clocks as Clocks
from fedsched.slurm.result.queue_dump import read_queue as read_queue
from fedsched.slurm.result.schedule import SlurmSchedule as SlurmSchedule
