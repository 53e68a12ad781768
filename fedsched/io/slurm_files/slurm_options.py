"""Tables of sbatch's options and sacct's fields: modelled, assumed, ignored, or counted as not modelled.

Every name of Slurm 22.05 and of the newest version is in one of the groups. The options are those of sbatch, srun and
salloc; an option with = after its name takes a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Options that are modelled, with the fields of sacct that give their values; if a dump has none of these fields, the
# option is counted as not read. Options without fields are read from the command line, or are given by the job's size,
# which every dump has.
MODELLED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("array=", "begin=", "dependency=", "exclusive", "licenses=", "nice", "nodes="), ()),
    **dict.fromkeys(("cpus-per-task=", "ntasks="), ()),
    "account=": ("account",),
    "constraint=": ("constraints",),
    **dict.fromkeys(("gpus=", "gpus-per-node=", "gpus-per-socket=", "gpus-per-task=", "gres="),
                    ("reqtres", "alloctres", "reqgres", "allocgres")),
    **dict.fromkeys(("tres-per-job=", "tres-per-node=", "tres-per-socket=", "tres-per-task="),
                    ("reqtres", "alloctres")),
    **dict.fromkeys(("mem=", "mem-per-cpu=", "mem-per-gpu="), ("reqtres", "alloctres", "reqmem")),
    "partition=": ("partition",),
    "qos=": ("qos",),
    "reservation=": ("reservation",),
    "uid=": ("user", "uid"),
}  # fmt: skip
# Options that are assumed, and how.
ASSUMED = {
    "hold": "the job is taken as submitted, or eligible, when it was released",
    "job-name=": "it matters to singletons alone, which are counted where a dump tells no names",
    "time=": "without Timelimit the run time is taken, which cleaning says",
}
# Options that do not affect schedules here, by the reason.
IGNORED = {
    "what a job reads, writes and is told, and how it is billed by name": """
        acctg-freq= chdir= comment= container= container-id= environment= error= export= export-file= get-user-env
        gid= input= mail-type= mail-user= open-mode= output= profile= propagate runtime= stepmgr wckey= workdir=
        wrap=""",
    "what the command prints, how long it stays, and of what a job is warned": """
        argv= autocomplete= bell bell-after= debugger-test help no-bell parsable quiet signal= usage verbose version
        wait wait-all-nodes=""",
    "how a job's steps are started, and where its tasks stand inside of nodes": """
        accel-bind= async bcast bcast-exclude= compress context= cpu-bind= cpu_bind= disable-status distribution=
        epilog= exact external external-launcher gpu-bind= ignore-signals= interactive join jobid= kill-command
        kill-on-bad-exit label label-file= mem-bind= mem_bind= mpi= msg-timeout= multi-prog network-wait oom-kill-step=
        overlap preserve-env prolog= pty quit-on-interrupt relative= resv-ports resv-ports-count= send-libs
        send-libs-to= slurmd-debug= task-epilog= task-prolog= threads= tree-width= treewidth= tres-bind= unbuffered
        wait-for-children whole x11""",
    "how fast a job runs, which its run time tells": "cpu-freq= gpu-freq=",
    "whether a run is repeated, which is on record as a run of its own": "no-requeue requeue",
    "what no job of a dump came of, or what scripts alone hold": "ignore-pbs no-allocate no-shell test-only",
}
# Options that affect when or where a job runs and are not modelled: each is counted by its name.
UNMODELLED = """
    batch= bb= bbf= burst-buffer= cluster= cluster-constraint= clusters= consolidate-segments contiguous core-spec=
    cores-per-socket= cpus-per-gpu= deadline= delay-boot= exclude= extra= extra-node-info= gres-flags= het-group= hint=
    immediate kill-on-invalid-dep= mcs-label= mem-update= mincpus= network= no-kill nodefile= nodelist=
    ntasks-per-core= ntasks-per-gpu= ntasks-per-node= ntasks-per-socket= ntasks-per-tres= overcommit oversubscribe
    pack-group= power= prefer= priority= reboot resources= resv= segment= share sockets-per-node= spread-job
    spread-segments switches= tasks-per-node= thread-spec= threads-per-core= time-min= tmp= use-min-nodes"""


def _bare(names: Mapping[str, object] | list[str]) -> frozenset[str]:
    return frozenset(name.removesuffix("=") for name in names)


_GROUPS = [*MODELLED, *ASSUMED, *" ".join(IGNORED.values()).split(), *UNMODELLED.split()]
OPTIONS = _bare(_GROUPS)
WITH_A_WORD = _bare([name for name in _GROUPS if name.endswith("=")])
SILENT = _bare(" ".join(IGNORED.values()).split())
COUNTED = _bare(UNMODELLED.split())
TOLD_BY = {name.removesuffix("="): fields for name, fields in MODELLED.items() if fields}
# The options that letters stand for; the last two lines are for srun only.
LETTERS = {
    "A": "account", "a": "array", "b": "begin", "B": "extra-node-info", "c": "cpus-per-task", "C": "constraint",
    "d": "dependency", "D": "chdir", "e": "error", "F": "nodefile", "G": "gpus", "h": "help", "H": "hold",
    "i": "input", "J": "job-name", "k": "no-kill", "L": "licenses", "m": "distribution", "M": "clusters", "n": "ntasks",
    "N": "nodes", "o": "output", "O": "overcommit", "p": "partition", "q": "qos", "Q": "quiet", "s": "oversubscribe",
    "S": "core-spec", "t": "time", "v": "verbose", "V": "version", "w": "nodelist", "W": "wait", "x": "exclude",
    "E": "preserve-env", "I": "immediate", "K": "kill-on-bad-exit", "l": "label", "r": "relative", "T": "threads",
    "u": "unbuffered", "X": "quit-on-interrupt", "Z": "no-allocate",
}  # fmt: skip


RANGE_OF_NODES = "--nodes with a range"


def _unless(option: str, *nothing: str) -> Callable[[str], str]:
    return lambda text: "" if text.lower() in nothing else option


# Fields of sacct for options that are not modelled, with a function from the text to the option; "" if there is none.
OF_FIELDS: dict[str, Callable[[str], str]] = {
    "exclusive": lambda text: "" if text.lower() in ("no", "node") else f"--exclusive={text.lower()}",
    "extra": _unless("--extra"),
    "oversubscribe": _unless("--oversubscribe", "no"),
    "qosreq": lambda text: several_names("qos", text),
    "reqreservation": lambda text: several_names("reservation", text),
    "segmentsize": _unless("--segment", "0"),
}


def several_names(option: str, text: str) -> str:
    """Return "--OPTION with several names", under which such an option is counted, if `text` has commas; else ""."""
    return f"--{option} with several names" if "," in text else ""


def example_of(name: str) -> str:
    """Return an example of an option with a plain value, such as "--qos=a,b" for "--qos with several names"."""
    option, _, much = name.partition(" with ")
    if much:
        return f"{option}={'1-2' if name == RANGE_OF_NODES else 'a,b'}"
    return f"{option}=1" if option.removeprefix("--") in WITH_A_WORD else option


# Fields of sacct that are read.
FIELDS_MODELLED = """
    Account AllocCPUS AllocGRES AllocNodes AllocTRES Cluster Constraints ConsumedEnergyRaw Elapsed ElapsedRaw Eligible
    End Exclusive Flags GID JobID JobIDRaw JobName Licenses NCPUS NNodes NodeList Partition Priority QOS Reason ReqCPUS
    ReqGRES ReqMem ReqNodes ReqTRES Reservation Restarts Start State Submit SubmitLine Suspended Timelimit TimelimitRaw
    UID User"""
# Fields of sacct that do not affect schedules here, by the reason.
FIELDS_IGNORED = {
    "a field that is read says the same": """
        ConsumedEnergy CPUTime CPUTimeRAW Group Planned PlannedCPU PlannedCPURAW QOSRAW Reserved ReservationId ResvCPU
        ResvCPURAW""",
    "what came of a run, measured": """
        AveCPU AveCPUFreq AveDiskRead AveDiskWrite AvePages AveRSS AveVMSize DerivedExitCode ExitCode FailedNode
        MaxDiskRead MaxDiskReadNode MaxDiskReadTask MaxDiskWrite MaxDiskWriteNode MaxDiskWriteTask MaxPages MaxPagesNode
        MaxPagesTask MaxRSS MaxRSSNode MaxRSSTask MaxVMSize MaxVMSizeNode MaxVMSizeTask MinCPU MinCPUNode MinCPUTask
        SystemCPU TotalCPU TRESUsageInAve TRESUsageInMax TRESUsageInMaxNode TRESUsageInMaxTask TRESUsageInMin
        TRESUsageInMinNode TRESUsageInMinTask TRESUsageInTot TRESUsageOutAve TRESUsageOutMax TRESUsageOutMaxNode
        TRESUsageOutMaxTask TRESUsageOutMin TRESUsageOutMinNode TRESUsageOutMinTask TRESUsageOutTot UserCPU""",
    "how a run was placed inside of its nodes, or how fast they were": """
        BlockID Layout NTasks ReqCPUFreq ReqCPUFreqGov ReqCPUFreqMax ReqCPUFreqMin""",
    "names and words that no decision goes by": """
        AdminComment AssocID Comment Container DBIndex OriginalSLUID SLUID StdErr StdIn StdOut SystemComment WCKey
        WCKeyID WorkDir""",
    "it matters beside --exclusive=mcs alone, which is counted": "McsLabel",
}
