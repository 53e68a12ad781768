"""The options that several or all commands have: one name, one meaning, one help text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from fedsched.core import names

# Groups of options, in the order in which --help-all and the reference show them; groups of one command are 1 to 9.
OWN = Group("Options", sort_key=0)
LOG = Group("Log", sort_key=11)
MACHINE = Group("Machine", sort_key=12)
CALENDAR = Group("Calendar of downtimes", sort_key=13)
SIGNALS = Group("Signals, power and delays", sort_key=14)
POLICY = Group("Policy", sort_key=15)
SLURM = Group("Slurm's scheduler", sort_key=16)
READING = Group("What plans know, and how the machine behaves", sort_key=17)
SEARCH = Group("Search", sort_key=18)
OUTPUT = Group("Output", sort_key=19)
EVERYWHERE = Group("Everywhere", sort_key=20)

LOG_FILES = ", or a shipped log's name (`sample`, …). Files: .swf, .csv, .sacct or .json, also .gz, .xz, .bz2."
FEDERATION_NAMES = (
    "A federation's file, or a shipped name (example, …). Files: .toml, .xml, .sacct, .conf. Shipped: example, "
    "figure-1-5, …"
)
CHOICE = "`knee` (the compromise), or an objective's name (the plan that is best in it)."

STDIN = "`-` reads the standard input; it needs --from."
REPEATABLE = "May be repeated."
FORMAT_NAMES = "swf, csv, sacct, batsim, openb or events"
From = Annotated[
    str | None,
    Parameter(group=LOG, name="--from", help=f"The log's format, if its name does not tell it: {FORMAT_NAMES}."),
]

# What to work on. The type is a path, so that a shell completes file names; a shipped name passes unchanged.
CSV_COLUMNS = (
    "A .csv has the columns submit, tasks (nodes) and runtime; it may have estimate (the request), id, user, "
    "label.partition and others. Times are in seconds."
)
Trace = Annotated[Path | None, Parameter(help=f"A workload file{LOG_FILES} {STDIN} {CSV_COLUMNS}")]
MoreTraces = Annotated[Path, Parameter(name="MORE")]
Traces = Annotated[
    Path,
    Parameter(
        help=f"Workload files{LOG_FILES} {STDIN} {CSV_COLUMNS} `gang` compares that command's experiments, "
        "`market` its methods.",
    ),
]
Scenario = Annotated[
    Path | None,
    Parameter(
        group=LOG,
        help="A scenario's file. It describes jobs, machine, policy and reading; options override what it says.",
    ),
]
Federation = Annotated[Path | None, Parameter(group=MACHINE, help=f"{FEDERATION_NAMES}.")]
Nodes = Annotated[
    int | None,
    Parameter(
        group=MACHINE,
        help="One cluster with this number of equal nodes. It replaces a federation. Default: the log's machine.",
    ),
]
Uplink = Annotated[
    tuple[str, ...],
    Parameter(
        group=MACHINE,
        help="The bandwidth of every cluster's uplink in bytes a second, e.g. 1.25G, or of one cluster: NAME=1.25G. "
        f"{REPEATABLE}"
    ),
]
Pool = Annotated[
    tuple[str, ...],
    Parameter(
        group=MACHINE,
        help="A pool that jobs share in addition to nodes, e.g. licences: NAME=AMOUNT, or NAME@CLUSTER=AMOUNT for a "
        f"pool of one cluster. {REPEATABLE}"
    ),
]
Partitions = Annotated[
    Path | None,
    Parameter(
        group=MACHINE,
        help="A TOML file of [[partition]] tables: the nodes that jobs may use, by the partition that they request.",
    ),
]
Calendar = Annotated[
    Path | None,
    Parameter(
        group=CALENDAR,
        help="The downtimes, when some nodes are closed to jobs. A CSV file, a TOML file of [[downtime]] tables, the "
        "output of `scontrol show res`, `sacctmgr -P show events` or `sacctmgr -P show reservations`, the folder of a "
        "dump with all three, or Batsim's external events."
    ),
]
Hosts = Annotated[
    Path | None,
    Parameter(
        group=CALENDAR,
        help="A file that says which nodes the hosts named in --calendar or in a log are: the output of `scontrol show "
        "node -o` or `sinfo -N`, a slurm.conf, or lines `CLUSTER = cn[001-064]`. Without it, a calendar's hosts are "
        "only counted."
    ),
]
CalendarOrigin = Annotated[
    str | None,
    Parameter(
        group=CALENDAR,
        help="The time of day and date at second 0 of the jobs, e.g. 2027-01-12T08:00:00, by the calendar's clock. "
        "Default: the log header's."
    ),
]
CalendarUntil = Annotated[
    str | None,
    Parameter(
        group=CALENDAR,
        help="The end of recurring reservations, as a date or a second of the jobs. Default: 30 days after the last "
        "submit."
    ),
]
CalendarOnRunning = Annotated[
    Literal["wait", "requeue", "kill"] | None,
    Parameter(
        group=CALENDAR,
        help="What happens to running jobs that an outage hits, in Slurm's or Batsim's events: the outage waits for "
        "them (wait, the default), or they are requeued or killed."
    ),
]
CalendarVictims = Annotated[
    Literal["latest", "random", "recorded"] | None,
    Parameter(
        group=CALENDAR,
        help="Which running jobs an outage hits: those that started last (latest, the default), random ones, or all "
        "jobs on the outage's own nodes (recorded; needs --hosts). With recorded, exactly the named nodes are closed."
    ),
]
_SIGNAL = f"A CSV file of times and values for all clusters, or NAME=FILE for one cluster. {REPEATABLE}"
Tariff = Annotated[
    tuple[str, ...], Parameter(group=SIGNALS, help=f"The price of a MWh over time. {_SIGNAL}")
]
Carbon = Annotated[
    tuple[str, ...], Parameter(group=SIGNALS, help=f"The carbon intensity over time, in grams of CO2 a kWh. {_SIGNAL}")
]
_FORECAST = f"{_SIGNAL} Results count the actual values. Default: plans know these."
TariffForecast = Annotated[
    tuple[str, ...], Parameter(group=SIGNALS, help=f"The forecast of --tariff that plans use. {_FORECAST}")
]
CarbonForecast = Annotated[
    tuple[str, ...], Parameter(group=SIGNALS, help=f"The forecast of --carbon that plans use. {_FORECAST}")
]
Cap = Annotated[
    tuple[str, ...],
    Parameter(
        group=SIGNALS,
        help="A power cap, which replaces the federation's. 80% (of the power of all nodes when busy), 50kW, a CSV "
        f"file of times and watts, NAME=50kW for one cluster, or none. {REPEATABLE}"
    ),
]
CapAt = Annotated[
    Literal["run", "now"] | None,
    Parameter(
        group=SIGNALS,
        help="When a job's power must fit under the cap: throughout its planned run (run, the default), or at its "
        "start only (now)."
    ),
]
Beyond = Annotated[
    Literal["refuse", "repeat", "last"] | None,
    Parameter(
        group=SIGNALS,
        help="If a file of --tariff, --carbon or --cap ends before the schedule: raise an error (refuse, the default), "
        "repeat it, or keep its last value (last)."
    ),
]
SignalOrigin = Annotated[
    str | None,
    Parameter(
        group=SIGNALS,
        help="The time of day and date at second 0 of the jobs, by the clock of --tariff, --carbon and --cap. Default: "
        "the log header's."
    ),
]
SignalZone = Annotated[
    str | None,
    Parameter(
        group=SIGNALS,
        help="The time zone of the files of --tariff, --carbon and --cap: UTC (default), another zone's name, or local "
        "(the log's own zone)."
    ),
]
Power = Annotated[
    str | None,
    Parameter(
        group=SIGNALS,
        help="When idle nodes are switched off. always: they stay on. timeout:10m: after 10 idle minutes. "
        "timeout:10m:4: the same, but 4 idle nodes of each group stay on. timeout:10m:suspend=20:resume=30: the same, "
        "but at most 20 nodes of a cluster go off and 30 boot per minute. reserve:4: 4 idle nodes of each group are "
        "kept on for the next jobs. planned: if the gap to the next job is long enough to save energy. Default: the "
        "federation's, or always. A federation's file gives boot times and power (boot_seconds, off_watts, …)."
    ),
]
Communication = Annotated[
    str | None,
    Parameter(
        group=LOG,
        help="Draw the jobs' communication at random, because logs do not record it: the median of a task's rate in "
        "bytes a second, e.g. 10M."
    ),
]
Head = Annotated[int | None, Parameter(group=LOG, help="Use only this many first jobs of each log.")]
Sample = Annotated[int | None, Parameter(group=LOG, help="Use only this many jobs of each log, drawn at random.")]
Sites = Annotated[
    Literal["auto", "partition", "none"] | None,
    Parameter(
        group=LOG,
        help="What becomes the sites of a log's jobs: its partitions or clusters, if it has any (auto, the default), "
        "its partitions (partition), or nothing (none)."
    ),
]
Queues = Annotated[
    Literal["auto", "partition", "none"] | None,
    Parameter(
        group=LOG,
        help="Whether the queue of a job in an SWF log is the partition that it requests (partition), or not (none). "
        "auto, the default: only if fedsched wrote the log so."
    ),
]
Descriptor = Annotated[
    str | None,
    Parameter(
        group=LOG,
        help="The names of an SWF log's fields after the 18th: with commas, as host,queue, or metacentrum. Default: "
        "the names in the log's header, else numbers."
    ),
]
Unit = Annotated[
    Literal["cpus", "nodes"] | None,
    Parameter(group=LOG, help="Whether a task is a CPU (cpus, the default) or a node (nodes) of Slurm's jobs."),
]
OverRequest = Annotated[
    Literal["raise", "cap", "keep"] | None,
    Parameter(
        group=LOG,
        help="For a log's job that ran longer than its requested time: raise the request (raise, the default), cut the "
        "run time (cap), or keep both (keep)."
    ),
]
Cancelled = Annotated[
    Literal["drop", "keep"] | None,
    Parameter(
        group=LOG,
        help="For a log's job that was cancelled while it waited: leave it out (drop, the default), or keep it (keep). "
        "A kept job leaves the queue at the recorded time; if it starts before, it runs for its requested time."
    ),
]
Feedback = Annotated[
    str | None,
    Parameter(
        group=LOG,
        help="Submit jobs a think time after earlier jobs have ended. swf: as fields 17 and 18 of the log say. "
        "sessions[:GAP]: by sessions of users; a session ends after GAP seconds without a submit (default: 3600)."
    ),
]
TasksPerNode = Annotated[
    int | None,
    Parameter(
        group=LOG,
        help="The number of tasks that a job places on each of its nodes. Default: each task has its own node.",
    ),
]
OnError = Annotated[
    Literal["raise", "skip"] | None,
    Parameter(
        group=LOG,
        help="For a malformed line in a log: raise an error (raise, the default), or skip and count it (skip).",
    ),
]
Submits = Annotated[
    names.Submits,
    Parameter(
        group=READING,
        help="Submit jobs at once (now) or at their times (keep). now: all jobs at the first job's submit time.",
    ),
]
_PUT_OFF = (
    "How long plans may delay each job, e.g. 4h or 90m. Delays move jobs to cheaper or cleaner hours. Default: the "
    "log's column slack"
)
PutOff = Annotated[str | None, Parameter(group=SIGNALS, help=f"{_PUT_OFF}; 0 ignores that column.")]
PutOffs = Annotated[tuple[str, ...], Parameter(group=SIGNALS, help=f"{_PUT_OFF}. {REPEATABLE}")]
Gear = Annotated[
    int | None,
    Parameter(
        group=SIGNALS,
        help="Run all jobs in this gear of their nodes: 0 is full speed; 1, 2, … are the slower gears in the "
        "federation's file, which draw less power."
    ),
]
Gears = Annotated[
    bool,
    Parameter(
        group=SIGNALS,
        help="Let plans choose the gear in which each job runs: full speed, or a slower one that draws less power.",
    ),
]
EndBy = Annotated[
    str | None,
    Parameter(
        group=SIGNALS,
        help="The time by which all jobs should have ended: a time after the first submit (18h, 1.5d), or a date by "
        "the log's clock (2027-01-12T12:00). Jobs without slack may be delayed as far as this allows."
    ),
]
Sharing = Annotated[
    Literal["first", "best", "least_loaded", "pack", "spread", "block"] | None,
    Parameter(
        group=MACHINE,
        help="Let jobs share nodes; the value says which nodes tasks take first. Default: each task has its own node.",
    ),
]
NoSharing = Annotated[str | None, Parameter(show=False)]  # where jobs have whole nodes: refused, with advice
Reservation = Annotated[
    Literal["resources", "nodes"] | None,
    Parameter(
        group=MACHINE,
        help="With --sharing: EASY's reservation counts what each running job frees (resources, the default), or a "
        "node only when its last job ends (nodes)."
    ),
]

# What is known and how the machine behaves.
SameTime = Annotated[
    names.SameTime | None,
    Parameter(
        group=READING,
        help="Events at the same time: all first, then one scheduling pass (batch, the default), or a pass after each "
        "(sequential)."
    ),
]
Knowledge = Annotated[
    names.Knowledge | None,
    Parameter(
        group=READING,
        help="What plans know of run times: estimate or runtime. estimate: the users' estimates; runtime: the true run "
        "times. Default: estimate for simulate, report and tune, else runtime.",
    ),
]
Saturation = Annotated[
    names.Saturation | None,
    Parameter(
        group=READING,
        help="Communication over saturated uplinks: a job's rate follows their load (dynamic, the default), stays as "
        "at its start (static), or is its max-min fair share (fair)."
    ),
]
SlurmConf = Annotated[
    Path | None,
    Parameter(
        group=SLURM,
        help="A slurm.conf, or the folder of a dump. --policy slurm also takes the machine from it, if none is given.",
    ),
]
SlurmVersion = Annotated[
    str | None,
    Parameter(
        group=SLURM,
        help="slurm: the conf's Slurm version, e.g. 22.05. It sets the defaults of SelectType and PriorityType. "
        "Default: the newest."
    ),
]
SlurmAccounts = Annotated[
    tuple[Path, ...],
    Parameter(
        group=SLURM,
        consume_multiple=True,
        help="Slurm's accounts and QOS. Files with the output of `sacctmgr dump CLUSTER`, `sacctmgr -P show assoc "
        "tree` or `sacctmgr -P show qos`.",
    ),
]
Completing = Annotated[
    int | None, Parameter(group=SLURM, help="slurm: the seconds that nodes stay busy after a job's end. Default: 0.")
]
Alternatives = Annotated[
    names.Alternatives | None,
    Parameter(
        group=READING,
        help="The shape of jobs that have several: the recorded one (fixed, the default), the one of the least tasks × "
        "planned time (smallest_area), the one that is planned to end first when the job joins the queue "
        "(earliest_finish), or the one that a plan chooses (free)."
    ),
]
KillAtEstimate = Annotated[bool | None, Parameter(group=READING, help="Kill jobs at their estimate.")]

# Budgets, workers and random seeds.
Objectives = Annotated[
    tuple[str, ...],
    Parameter(
        group=SEARCH,
        help="A metric to minimise. As makespan, energy, mean_wait. Several give a Pareto front.",
    ),
]
Seconds = Annotated[float | None, Parameter(group=SEARCH, help="The search's budget, in seconds.")]
Evaluations = Annotated[
    int | None,
    Parameter(
        group=SEARCH,
        help="The search's budget, in simulated plans. optimize without a budget takes 30,000,000 / jobs.",
    ),
]
Workers = Annotated[
    int,
    Parameter(
        group=SEARCH,
        help="The number of processes that work in parallel: on runs (compare, bench) or islands (optimize).",
    ),
]
Executor = Annotated[
    str | None,
    Parameter(
        group=SEARCH,
        help="Where workers run: threads, processes, dask:ADDRESS (a Dask scheduler or its file) or mpi.",
    ),
]
Seed = Annotated[
    int | None,
    Parameter(
        group=SEARCH,
        help="The random seed. The same seed gives the same result on any number of threads, unless --seconds limits "
        "the search. Default: 0."
    ),
]
Choose = Annotated[str, Parameter(group=OUTPUT, help=f"Which plan of a front to write or draw. {CHOICE}")]

# Outputs.
OutPlan = Annotated[
    Path | None, Parameter(group=OUTPUT, help="Write the schedule: .csv, .swf (both also .gz) or .json.")
]
Gantt = Annotated[Path | None, Parameter(group=OUTPUT, help="Draw the schedule: .svg, .png or .pdf.")]
Json = Annotated[bool, Parameter(group=OUTPUT, help="Print one JSON document instead of text.")]

# Options of every command.
Config = Annotated[
    Path | None,
    Parameter(
        help="Read options from this file; it has a table for each command. Default: fedsched.toml, if it exists.",
        group=EVERYWHERE,
    ),
]
Debug = Annotated[
    bool, Parameter(help="Show the traceback behind an error.", group=EVERYWHERE, negative=(), show_default=False)
]
Rest = Annotated[str, Parameter(show=False, allow_leading_hyphen=True)]
