"""The options that several or all commands have: one name, one meaning, one help text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from fedsched.model import reading

LOG_FILES = "(.swf, .csv, .sacct or .json, also .gz, .xz, .bz2), or the name of a shipped one (`sample`, …)."
FEDERATION_NAMES = "A federation (.toml, .xml, .sacct, .conf), or the name of a shipped one (example, figure-1-5, …)"
CHOICE = "knee, or an objective's name for the best by it."

STDIN = "Or `-` for the standard input, with --from."
FORMAT_NAMES = "swf, csv, sacct, batsim, openb or events"
From = Annotated[
    str | None, Parameter(name="--from", help=f"The log's format, where its name does not tell: {FORMAT_NAMES}.")
]

# What to work on. The type is a path, so that a shell completes file names; a shipped name passes unchanged.
Trace = Annotated[Path | None, Parameter(help=f"A workload file {LOG_FILES} {STDIN}")]
MoreTraces = Annotated[Path, Parameter(name="MORE")]
Traces = Annotated[
    Path,
    Parameter(
        help=f"Workload files {LOG_FILES} {STDIN} `gang`: that command's scenarios are compared; `market`: its methods."
    ),
]
Scenario = Annotated[
    Path | None,
    Parameter(
        help="A file that says which jobs, on what machine, under which policy and reading; options overrule it."
    ),
]
Federation = Annotated[Path | None, Parameter(help=f"{FEDERATION_NAMES}.")]
Nodes = Annotated[
    int | None,
    Parameter(help="Instead of a federation: one cluster of so many equal nodes. Default: the log's machine."),
]
Uplink = Annotated[
    tuple[str, ...],
    Parameter(help="Bytes a second of every cluster's uplink, e.g. 1.25G, or of one: NAME=1.25G. May be given again."),
]
Pool = Annotated[
    tuple[str, ...],
    Parameter(
        help="What jobs share beside nodes, e.g. licences: NAME=AMOUNT, or of one cluster: NAME@CLUSTER=AMOUNT. May be "
        "given again."
    ),
]
Partitions = Annotated[
    Path | None,
    Parameter(help="A TOML file of [[partition]] tables: which nodes jobs may have by the partition that they name."),
]
Calendar = Annotated[
    Path | None,
    Parameter(
        help="When which nodes are closed to jobs: a CSV file of downtimes, a TOML file of [[downtime]] tables, what "
        "`scontrol show res` or `sacctmgr -P show events` prints, or Batsim's external events."
    ),
]
Hosts = Annotated[
    Path | None,
    Parameter(
        help="Which nodes the hosts in a calendar's file, or in a log, are: what `scontrol show node -o` or `sinfo -N` "
        "prints, a slurm.conf, or lines `CLUSTER = cn[001-064]`. Without it those of a calendar are counted."
    ),
]
CalendarOrigin = Annotated[
    str | None,
    Parameter(
        help="The time at second 0 of the jobs, as 2027-01-12T08:00:00, in place of what the log's header tells."
    ),
]
CalendarUntil = Annotated[
    str | None,
    Parameter(
        help="Up to when reservations that come again do so, a time or a second of the jobs. Default: 30 days beyond "
        "the last submit."
    ),
]
CalendarOnRunning = Annotated[
    Literal["wait", "requeue", "kill"] | None,
    Parameter(help="What becomes of jobs in the way of outages, of Slurm's or Batsim's events. Default: outages wait."),
]
CalendarVictims = Annotated[
    Literal["latest", "random", "recorded"] | None,
    Parameter(
        help="Which jobs those are: the latest, some at random, or as recorded all that are on the very nodes, which "
        "--hosts names. Default: latest."
    ),
]
_SIGNAL = "a CSV file of times and values, for all clusters, or NAME=FILE for one. May be given again."
Tariff = Annotated[tuple[str, ...], Parameter(help=f"What a MWh costs as time goes by: {_SIGNAL}")]
Carbon = Annotated[tuple[str, ...], Parameter(help=f"Grams of CO2 a kWh as time goes by: {_SIGNAL}")]
_FORECAST = "in such a file, when it is not known beforehand; figures are of what came."
TariffForecast = Annotated[tuple[str, ...], Parameter(help=f"What plans take the price for, {_FORECAST}")]
CarbonForecast = Annotated[tuple[str, ...], Parameter(help=f"What plans take the carbon for, {_FORECAST}")]
Cap = Annotated[
    tuple[str, ...],
    Parameter(
        help="A cap on power, in place of the federation's: 80% of what all nodes draw when busy, 50kW, a CSV file of "
        "times and watts, or NAME=50kW for one cluster; none. May be given again."
    ),
]
CapAt = Annotated[
    Literal["run", "now"] | None,
    Parameter(help="What must leave room under a cap: a job's whole planned run (when not given), or its start."),
]
Beyond = Annotated[
    Literal["refuse", "repeat", "last"] | None,
    Parameter(help="What holds where such a signal ends before the schedule: nothing, it again, or its last value."),
]
SignalOrigin = Annotated[
    str | None,
    Parameter(help="The time at second 0 of the jobs by the signals' clock, in place of what the log's header tells."),
]
SignalZone = Annotated[
    str | None, Parameter(help="The zone of the signals' times: UTC (when not given), another, or local, the log's.")
]
Power = Annotated[
    str | None,
    Parameter(
        help="Whether idle nodes go off: always (when not given), timeout:10m (after so long; timeout:10m:4 keeps 4 "
        "of each group on; timeout:10m:suspend=20:resume=30: only 20 nodes of a cluster go off a minute, and 30 boot), "
        "reserve:4 (4 of each group are kept ready, others boot for jobs to come), planned (where a gap in the "
        "schedule saves energy). Groups say off_watts, boot_seconds, …"
    ),
]
Communication = Annotated[
    str | None,
    Parameter(help="Draw what jobs send, which logs do not tell: a task's median bytes a second, e.g. 10M."),
]
Head = Annotated[int | None, Parameter(help="Only the first so many jobs of each log.")]
Sample = Annotated[int | None, Parameter(help="Only so many jobs of each log, drawn at random.")]
Sites = Annotated[
    Literal["auto", "partition", "none"] | None,
    Parameter(help="What a log's sites are: its partitions or clusters as it has them (auto), partitions, or none."),
]
Queues = Annotated[
    Literal["auto", "partition", "none"] | None,
    Parameter(
        help="Whether the queues of an SWF log are the partitions that jobs ask for (partition) or not (none); not "
        "given they are where fedsched wrote it so."
    ),
]
Descriptor = Annotated[
    str | None,
    Parameter(
        help="What the fields beyond the 18th of an SWF log are: names, as host,queue, or metacentrum. Not given they "
        "are kept by their places."
    ),
]
Unit = Annotated[
    Literal["cpus", "nodes"] | None,
    Parameter(help="Whether tasks are the cpus (when not given) or the nodes of Slurm's jobs."),
]
OverRequest = Annotated[
    Literal["raise", "cap", "keep"] | None,
    Parameter(
        help="What a log's job that ran past its request gets: the request raised (when not given), the run cut, or "
        "both kept."
    ),
]
Cancelled = Annotated[
    Literal["drop", "keep"] | None,
    Parameter(
        help="What a log's job that was cancelled in the queue is: none (when not given), or one that leaves the queue "
        "when it did then, unless it starts before, and runs for as long as it asked."
    ),
]
Feedback = Annotated[
    str | None,
    Parameter(
        help="Jobs are submitted when others have ended and their users have thought: swf (fields 17 and 18 of the "
        "log) or sessions[:GAP] (of users, ended by GAP seconds without a submit; 3600 when not given)."
    ),
]
TasksPerNode = Annotated[
    int | None,
    Parameter(help="So many tasks of a job stand on each of its nodes. Without it a task has a node of its own."),
]
OnError = Annotated[
    Literal["raise", "skip"] | None,
    Parameter(help="Whether a log's malformed line is an error (when not given), or skipped and counted."),
]
Submits = Annotated[
    reading.Submits,
    Parameter(help="Whether all jobs wait already when the first is submitted, or keep their submit times."),
]
_PUT_OFF = (
    "By how long plans may put off each job, to cheaper or cleaner hours: 4h, 90m; in place of the log's column slack"
)
PutOff = Annotated[str | None, Parameter(help=f"{_PUT_OFF}, which 0 takes away.")]
PutOffs = Annotated[tuple[str, ...], Parameter(help=f"{_PUT_OFF}. May be given again.")]
Gear = Annotated[
    int | None,
    Parameter(help="Run all jobs in this gear of their nodes, a slower one that draws less (NodeGroup gears)."),
]
Gears = Annotated[
    bool,
    Parameter(help="Let plans choose in which gear of its nodes each job runs: as --alternatives free does of shapes."),
]
EndBy = Annotated[
    str | None,
    Parameter(
        help="When all jobs are to have ended: a time after the first submit (18h, 1.5d) or a date by the log's clock "
        "(2027-01-12T12:00). Jobs that say no slack may be put off as far as that leaves."
    ),
]
Sharing = Annotated[
    Literal["first", "best", "least_loaded", "pack", "spread", "block"] | None,
    Parameter(help="Jobs share nodes: which ones tasks take first. Without it a task has a node of its own."),
]
NoSharing = Annotated[str | None, Parameter(show=False)]  # where jobs have whole nodes: refused, with advice
Reservation = Annotated[
    Literal["resources", "nodes"] | None,
    Parameter(help="sharing: easy sees what each job frees (when not given), or nodes as their last job ends."),
]

# What is known and how the machine behaves.
SameTime = Annotated[
    reading.SameTime | None, Parameter(help="How events of one instant are read: batch when not given.")
]
Knowledge = Annotated[
    reading.Knowledge | None,
    Parameter(
        help="Whether plans see the users' estimates (simulate, report, when not given) or the true run times (else)."
    ),
]
Saturation = Annotated[
    reading.Saturation | None,
    Parameter(
        help="Whether rates follow the uplinks' load (when not given), stay as at the start, or are fair shares."
    ),
]
SlurmConf = Annotated[
    Path | None,
    Parameter(
        help="The slurm.conf, or the folder of a dump; --policy slurm takes it for the machine too, if none is given."
    ),
]
SlurmVersion = Annotated[
    str | None,
    Parameter(
        help="slurm: of which Slurm the conf is (22.05): SelectType and PriorityType that it does not name have "
        "the defaults of that one, or of the newest."
    ),
]
SlurmAccounts = Annotated[
    tuple[Path, ...],
    Parameter(
        consume_multiple=True,
        help="Slurm's accounts and QOS: what `sacctmgr dump CLUSTER`, `sacctmgr -P show assoc tree`, "
        "`sacctmgr -P show qos` print.",
    ),
]
Completing = Annotated[
    int | None, Parameter(help="slurm: for how many seconds nodes stay busy after a job's end. Default: 0.")
]
Alternatives = Annotated[
    reading.Choice | None,
    Parameter(
        help="Which shape jobs have that may have several: the recorded one (fixed, when not given), that of the least "
        "tasks × planned time (smallest_area), that which is planned to end first as a job joins the queue "
        "(earliest_finish), or whichever a plan chooses (free)."
    ),
]
KillAtEstimate = Annotated[bool | None, Parameter(help="Jobs end at their estimate.")]

# Budgets, workers and random seeds.
Objectives = Annotated[
    tuple[str, ...],
    Parameter(help="A metric to minimise, e.g. makespan, energy, bounded_slowdown; several make a front."),
]
Seconds = Annotated[float | None, Parameter(help="Search for so many seconds.")]
Evaluations = Annotated[
    int | None, Parameter(help="Search so many plans (optimize without any budget: 30,000,000 / jobs).")
]
Workers = Annotated[int, Parameter(help="So many processes at the same time: compare's runs, optimize's islands.")]
Executor = Annotated[
    str | None, Parameter(help="Where they work: threads, processes, dask:ADDRESS (a scheduler or its file) or mpi.")
]
Seed = Annotated[
    int | None,
    Parameter(
        help="0 when not given. Same seed, same answer: on any number of threads, and where no --seconds are given."
    ),
]
Choose = Annotated[str, Parameter(help=f"Which plan of a front is written or drawn: {CHOICE}")]

# Outputs.
OutPlan = Annotated[Path | None, Parameter(help="Write the schedule: .csv, .swf (both also .gz) or .json.")]
Gantt = Annotated[Path | None, Parameter(help="Draw the schedule: .svg, .png or .pdf.")]
Json = Annotated[bool, Parameter(help="Print one JSON document instead of text.")]

# Options of every command.
EVERYWHERE = "Everywhere"
Config = Annotated[
    Path | None,
    Parameter(
        help="Take options from this file, a table for each command. Default: fedsched.toml, where there is one.",
        group=EVERYWHERE,
    ),
]
Debug = Annotated[
    bool, Parameter(help="Show the traceback behind an error.", group=EVERYWHERE, negative=(), show_default=False)
]
Rest = Annotated[str, Parameter(show=False, allow_leading_hyphen=True)]
