"""What a server of processes reads before it forks drivers: so they have all that is compiled, and begin at once."""

from slurm.driver import AIMS

from fedsched.site.steer import plan, read_queue
from fedsched.site.steer.runners import RecordedRunner

plan(read_queue(RecordedRunner("sample")), AIMS)
