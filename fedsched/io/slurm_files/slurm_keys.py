"""A table of every key of slurm.conf from Slurm 22.05 to 26.11: modelled, assumed, ignored, or not modelled.

Readers of files take their notes from this table, and a test compares it with Slurm's own lists of names.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.errors import nearest
from fedsched.io.slurm_files.slurm_values import NOTHING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

GLOBAL = "slurm.conf"  # the keys outside of the sections below
# Kinds of lines that begin with this key and have keys of their own.
SECTIONS = ("NodeName", "PartitionName", "NodeSet", "DownNodes", "FrontendName", "PowerAction")
FIRST, LAST = "22.05", "26.11"


class Treatment(StrEnum):
    """How the simulation treats a key of slurm.conf."""

    MODELLED = "modelled"
    ASSUMED = "assumed"  # as `how` says, with a note if it occurs
    IGNORED = "ignored"  # it affects no start: paths, ports, logs, accounting of the past
    NOT_MODELLED = "not modelled"  # with a note if it occurs
    BY_WORD = "by word"  # a list; each of its words has a standing of its own


class Key(NamedTuple):
    """A key of slurm.conf, or a word in the list of such a key: its name as Slurm spells it, and its treatment."""

    name: str
    standing: Treatment
    usual: tuple[str, ...] = ()  # values without effect, in lower case
    how: str = ""  # what is assumed

    def says(self, value: str) -> bool:
        """Return whether a value of the key has an effect: it is neither empty nor one of the `usual` ones."""
        return value.lower() not in (*NOTHING, *self.usual)


def _all(standing: Treatment, names: str, *usual: str, how: str = "") -> dict[str, Key]:
    return {name.lower(): Key(name, standing, usual, how) for name in names.split()}


def _modelled(names: str) -> dict[str, Key]:
    return _all(Treatment.MODELLED, names)


def _ignored(names: str) -> dict[str, Key]:
    return _all(Treatment.IGNORED, names)


def _said(names: str, *usual: str) -> dict[str, Key]:
    return _all(Treatment.NOT_MODELLED, names, *usual)


def _assumed(names: str, how: str, *usual: str) -> dict[str, Key]:
    return _all(Treatment.ASSUMED, names, *usual, how=how)


OF_MEMORY = "DefMemPerCPU DefMemPerNode MaxMemPerCPU MaxMemPerNode"  # read if jobs share nodes
OF_SLURM_ALONE = ("Priority", "TRESBillingWeights", *OF_MEMORY.split())  # partition keys that only policy slurm models
UP = "taken as up"
AT_ONCE = "nodes are free as soon as a job ends; completing= says how long they are not"

_OF_THE_CLUSTER = (
    _all(
        Treatment.BY_WORD,
        "AccountingStorageEnforce DependencyParameters PriorityFlags SchedulerParameters SelectTypeParameters "
        "SlurmctldParameters TopologyParam",
    )
    | _modelled(
        "NodeName PartitionName NodeSet ClusterName SelectType SchedulerType PriorityType KillWait OverTimeLimit "
        "PriorityCalcPeriod PriorityDecayHalfLife PriorityFavorSmall PriorityMaxAge PriorityUsageResetPeriod "
        "PriorityWeightAge PriorityWeightAssoc PriorityWeightFairshare PriorityWeightJobSize PriorityWeightPartition "
        "PriorityWeightQOS PriorityWeightTRES FairShareDampeningFactor SLURM_VERSION"
    )
    | _all(Treatment.MODELLED, OF_MEMORY, "0", "unlimited")
    | _assumed("DownNodes", UP)
    | _assumed("Epilog EpilogSlurmctld", AT_ONCE)
    | _assumed("EpilogMsgTime", AT_ONCE, "0", "2000")
    | _said("CompleteWait", "0")
    | _said("PreemptType", "preempt/none")
    | _said("PreemptMode", "off")
    | _said("PreemptExemptTime", "-1", "0", "00:00:00")
    | _said("TopologyPlugin", "topology/none", "topology/default", "topology/flat")
    | _said("EnforcePartLimits", "no")
    | _said("ResvOverRun", "0")
    | _said("BurstBufferType", "burst_buffer/none")
    | _said("SchedulerTimeSlice", "30")
    | _said("MCSPlugin", "mcs/none")
    | _said("PowerPlugin", "power/none")
    | _said("MaxJobCount", "10000")
    | _said("MaxTasksPerNode", "512")
    | _said("PrioritySiteFactorPlugin", "site_factor/none")
    | _said("AllowSpecResourcesUsage DisableRootJobs", "no", "0")
    | _said("DefMemPerGPU DefCpuPerGPU", "0", "unlimited")
    | _said(
        "CliFilterPlugins FederationParameters JobDefaults JobSubmitPlugins Licenses MaxArraySize MCSParameters "
        "NodeFeaturesPlugins PowerParameters PreemptParameters PriorityParameters SuspendProgram"
    )
    | _ignored(
        # Accounting, and records of past jobs.
        "AccountingStorageBackupHost AccountingStorageExternalHost AccountingStorageHost AccountingStorageLoc "
        "AccountingStorageParameters AccountingStoragePass AccountingStoragePort AccountingStorageTRES "
        "AccountingStorageType AccountingStorageUser AccountingStoreFlags AccountingStoreJobComment "
        "AcctGatherEnergyType AcctGatherFilesystemType AcctGatherInfinibandType AcctGatherInterconnectType "
        "AcctGatherNodeFreq AcctGatherProfileType ExtSensorsFreq ExtSensorsType JobAcctGatherFrequency "
        "JobAcctGatherParams JobAcctGatherType JobCompHost JobCompLoc JobCompParams JobCompPass JobCompPassScript "
        "JobCompPort JobCompType JobCompUser MaxDBDMsgs TrackWCKey "
        # Authentication, access rights and metrics.
        "AuthAltParameters AuthAltTypes AuthInfo AuthType CertgenParameters CertgenType CertmgrParameters CertmgrType "
        "CredType CryptoType HashPlugin HttpParserType JobCredentialPrivateKey JobCredentialPublicCertificate "
        "MetricsAuthUsers MetricsParameters MetricsType PrivateData SchedulerAuth SlurmctldHttpAuthParameters "
        "SlurmdHttpAuthParameters SlurmrestdHttpAuthParameters TLSParameters TLSType UrlParserType UsePAM "
        # Hosts, ports, paths, logs, and how long daemons wait for each other.
        "BackupAddr BackupController BatchStartTimeout CommunicationParameters ControlAddr ControlMachine "
        "DataParserParameters DebugFlags EioTimeout FrontendName GetEnvTimeout GroupUpdateForce GroupUpdateTime "
        "InactiveLimit KeepAliveTime LogTimeFormat MailDomain MailProg MessageTimeout PluginDir PlugStackConfig "
        "ReconfigFlags ReturnToService RoutePlugin SerializerParameters SerializerPlugins SlurmctldAddr "
        "SlurmctldDebug SlurmctldHost SlurmctldLogFile SlurmctldPidFile SlurmctldPlugstack SlurmctldPort "
        "SlurmctldPrimaryOffProg SlurmctldPrimaryOnProg SlurmctldSyslogDebug SlurmctldTimeout SlurmdDebug "
        "SlurmdLogFile SlurmdParameters SlurmdPidFile SlurmdPort SlurmdSpoolDir SlurmdSyslogDebug SlurmdTimeout "
        "SlurmdUser SlurmrestdParameters SlurmSchedLogFile SlurmSchedLogLevel SlurmstepdParameters SlurmUser "
        "StateSaveLocation TCPTimeout TmpFS TreeWidth "
        # Steps, tasks and programs within a job, or alongside it.
        "BcastExclude BcastParameters CliFilterParameters CoreSpecPlugin CpuFreqDef CpuFreqGovernors DefRuntimePlugin "
        "GpuFreqDef InteractiveStepOptions JobContainerType JobFileAppend KillOnBadExit LaunchParameters LaunchType "
        "MaxStepCount MpiDefault MpiParams NamespaceType PrEpParameters PrEpPlugins ProctrackType "
        "PropagatePrioProcess PropagateResourceLimits PropagateResourceLimitsExcept SallocDefaultCommand "
        "SbcastParameters ScronParameters SrunEpilog SrunPortRange SrunProlog SwitchParameters SwitchType TaskEpilog "
        "TaskPlugin TaskPluginParam TaskProlog UnkillableStepProgram UnkillableStepTimeout VSizeFactor WaitTime "
        "X11Parameters "
        # Run times include the prolog; requeued runs are jobs of their own, and failing nodes are in the calendar.
        "EpilogTimeout HealthCheckInterval HealthCheckNodeState HealthCheckProgram HealthCheckTimeout JobRequeue "
        "MaxBatchRequeue Prolog PrologEpilogTimeout PrologFlags PrologSlurmctld PrologTimeout RequeueExit "
        "RequeueExitHold ResvEpilog ResvProlog "
        # Details of other keys: devices, licences, ids, forgotten jobs, nodes that have not joined.
        "BurstBufferParameters FastSchedule FirstJobId GresTypes LicenseParameters MaxJobId MaxNodeCount MinJobAge "
        "PrioritySiteFactorParameters "
        # How nodes are switched off; whether they are is decided by SuspendProgram.
        "PowerAction RebootProgram ResumeFailProgram ResumeProgram ResumeRate ResumeTimeout SuspendExcNodes "
        "SuspendExcParts SuspendExcStates SuspendRate SuspendTime SuspendTimeout"
    )
)
_OF_NODES = (
    _modelled(
        "NodeName CPUs Procs Boards SocketsPerBoard Sockets CoresPerSocket ThreadsPerCore RealMemory MemSpecLimit Gres "
        "Feature Features Weight"
    )
    | _assumed("State", UP, "unknown", "idle")
    | _said("CoreSpecCount RestrictedCoresPerGPU", "0")
    | _said("CpuSpecList Topology")  # no usual values: "0" of CpuSpecList is CPU 0
    # TmpDisk only matters to jobs that request some, for which their own note says so.
    | _ignored(
        "BcastAddr CpuBind GresConf NodeAddr NodeHostname Parameters Port Reason SuspendTime TmpDisk TRESWeights"
    )
)
_OF_PARTITIONS = (
    _modelled(
        "PartitionName Nodes Default PriorityTier PriorityJobFactor TRESBillingWeights MaxTime DefaultTime MinNodes "
        "MaxNodes AllowAccounts AllowQos"
    )
    | _all(Treatment.MODELLED, "Priority", "1")
    | _all(Treatment.MODELLED, OF_MEMORY, "0", "unlimited")
    | _assumed("State", UP, "up")
    | _said("AllowGroups AllocNodes", "all")
    | _said("DenyAccounts DenyQos QOS OverTimeLimit Alternate Topology")
    | _said("MaxCPUsPerNode MaxCPUsPerSocket", "unlimited")
    | _said("ExclusiveUser ExclusiveTopo RootOnly DisableRootJobs ReqResv LLN", "no")
    | _said("JobDefaults SelectTypeParameters")
    | _said("DefMemPerGPU DefCpuPerGPU", "0", "unlimited")
    | _said("OverSubscribe Shared", "no", "exclusive")
    | _said("Exclusive", "no", "node")
    | _said("PreemptMode", "off")
    | _said("GraceTime", "0")
    | _ignored("CpuBind Hidden PowerDownOnIdle ResumeTimeout SuspendTime SuspendTimeout")
)
_OF_SCHEDULERS = (
    _modelled(
        "assoc_limit_stop batch_sched_delay bf_interval bf_job_part_count_reserve bf_max_job_array_resv "
        "bf_max_job_assoc bf_max_job_part bf_max_job_start bf_max_job_test bf_max_job_user bf_max_job_user_part "
        "bf_max_time bf_min_age_reserve bf_min_prio_reserve bf_resolution bf_window bf_window_linear "
        "default_queue_depth partition_job_depth sched_interval sched_max_job_start"
    )
    # A pass here never yields, so no change can end it.
    | _ignored("bf_continue bf_yield_interval bf_yield_rpc_cnt bf_yield_sleep")
    # Limits on scripts, steps and backup controllers.
    | _ignored(
        "disable_hetjob_steps enable_hetjob_steps max_script_size max_submit_line_size no_backup_scheduling "
        "no_env_cache step_retry_count step_retry_time"
    )
    | _said(
        "allow_zero_lic bb_array_stage_cnt bf_allow_magnetic_slot bf_busy_nodes bf_hetjob_immediate bf_hetjob_prio "
        "bf_licenses bf_node_space_size bf_one_resv_per_job bf_running_job_reserve bf_topopt_enable "
        "bf_topopt_iterations build_queue_timeout correspond_after_task_cnt defer defer_batch delay_boot "
        "disable_job_shrink enable_job_state_cache enable_user_top extra_constraints ignore_constraint_validation "
        "Ignore_NUMA ignore_prefer_validation max_array_tasks max_rpc_cnt max_sched_time max_switch_wait "
        "nohold_on_prolog_fail pack_serial_at_end preempt_reorder_count preempt_send_user_signal preempt_strict_order "
        "preempt_youngest_first reduce_completing_frag requeue_delay requeue_on_resume_failure "
        "requeue_setup_env_fail salloc_wait_nodes sbatch_wait_nodes sched_min_interval spec_cores_first "
        "time_min_as_soft_limit whole_hetjob whole_pack"
    )
)
KEYS: Mapping[str, Mapping[str, Key]] = {
    GLOBAL: _OF_THE_CLUSTER,
    "NodeName": _OF_NODES,
    "PartitionName": _OF_PARTITIONS,
    "NodeSet": _modelled("NodeSet Nodes Feature"),
    "DownNodes": _assumed("DownNodes State Reason", UP),
    "FrontendName": _ignored("FrontendName AllowGroups AllowUsers DenyGroups DenyUsers FrontendAddr Port Reason State"),
    "PowerAction": _ignored("PowerAction Feature Location Nodes Program"),
    "SchedulerParameters": _OF_SCHEDULERS,
    "PriorityFlags": _modelled(
        "NO_FAIR_TREE FAIR_TREE MAX_TRES NO_NORMAL_ALL NO_NORMAL_ASSOC NO_NORMAL_PART NO_NORMAL_QOS NO_NORMAL_TRES "
        "SMALL_RELATIVE_TO_TIME INCR_ONLY"
    )
    | _said("ACCRUE_ALWAYS CALCULATE_RUNNING DEPTH_OBLIVIOUS MAX_TRES_GRES"),
    # Those two are modelled if jobs share nodes.
    "SelectTypeParameters": _modelled("CR_Core_Memory CR_CPU_Memory")
    | _said(
        "CR_Core CR_CORE_DEFAULT_DIST_BLOCK CR_CPU CR_LLN CR_Memory CR_NO_DIST_TOPO_BLOCK CR_ONE_TASK_PER_CORE "
        "CR_Pack_Nodes CR_Socket CR_Socket_Memory ENFORCE_BINDING_GRES "
        "LL_SHARED_GRES MULTIPLE_SHARING_GRES_PJ ONE_TASK_PER_SHARING_GRES OTHER_CONS_RES OTHER_CONS_TRES"
    ),
    # Permission to submit is decided before jobs are in a log.
    "AccountingStorageEnforce": _modelled("limits safe all 1") | _ignored("associations nojobs nosteps qos wckeys 0"),
    "DependencyParameters": _said("kill_invalid_depend") | _ignored("disable_remote_singleton max_depend_depth"),
    "SlurmctldParameters": _said("max_powered_nodes preempt_send_user_signal")
    | _ignored(
        "allow_user_triggers cloud_dns cloud_reg_addrs conmgr_connect_timeout conmgr_max_connections "
        "conmgr_quiesce_timeout conmgr_read_timeout conmgr_threads conmgr_use_poll conmgr_wait_write_delay "
        "conmgr_write_timeout disable_triggers enable_configless enable_expedited_requeue enable_job_state_cache "
        "enable_rpc_queue enable_stepmgr idle_on_node_suspend max_dbd_msg_action no_quick_restart node_reg_mem_percent "
        "power_save_interval power_save_min_interval reboot_from_controller reconfig_on_restart rl_bucket_size "
        "rl_enable rl_log_freq rl_refill_period rl_refill_rate rl_table_size threadpool threadpool_preallocate "
        "threadpool_preserve user_resv_delete validate_nodeaddr_threads workerpool_threads"
    ),
    "TopologyParam": _said("BlockAsNodeRank Dragonfly SwitchAsNodeRank TopoMaxSizeUnroll TopoOptional")
    | _ignored("NoCtldInAddrAny NoInAddrAny RoutePart RouteTree"),
}
SECTION_OF = {section.lower(): section for section in SECTIONS}


def keys_of(section: str, *standings: Treatment) -> list[Key]:
    """Return those keys of a section, or words of a key with a list of words, that are treated in one of these ways."""
    return [key for key in KEYS[section].values() if key.standing in standings]


def names_of(section: str, *standings: Treatment) -> tuple[str, ...]:
    """Return the names of those keys of a section that are treated in one of these ways."""
    return tuple(key.name for key in keys_of(section, *standings))


def words_of(section: str, text: str) -> Iterator[tuple[str, str]]:
    """Give each word of a text with commas, as written, and its name: the part before =, in lower case."""
    for part in text.strip('"').split(","):
        if word := part.strip():
            name = word.partition("=")[0].strip().lower()
            yield (word, name)


def not_modelled_of(section: str, said: Mapping[str, str]) -> Iterator[tuple[Key, str]]:
    """Give the keys of a section that are set to an effect that is not modelled, with their values, for notes.

    `said` has the values by name in lower case. Of a list of words, only those that are not modelled are given.
    """
    for small, key in KEYS[section].items():
        value = said.get(small, "")
        if key.standing is Treatment.NOT_MODELLED and key.says(value):
            yield key, value
        elif key.standing is Treatment.BY_WORD and key.says(value):
            kept = [word_in_note(key.name, word) for word, name in words_of(key.name, value) if counts(key.name, name)]
            if kept:
                yield key, ",".join(kept)


def counts(section: str, name: str) -> bool:
    """Return whether a word in the list of the key `section` needs a note: it is not modelled, or not Slurm's."""
    key = KEYS[section].get(name)
    return (key is None or key.standing is Treatment.NOT_MODELLED) and name not in NOTHING


def word_in_note(section: str, word: str) -> str:
    """Return a word in the list of a key as text for a note; if Slurm has no such word, with the most similar one."""
    name = word.partition("=")[0].strip()
    return word if name.lower() in KEYS[section] else f"{word}{_like(section, name)}"


def unknown_keys_of(section: str, names: Iterable[str]) -> list[str]:
    """Return the names that are no keys of this section in Slurm, each with the most similar one in parentheses."""
    return [f"{name}{_like(section, name)}" for name in names if name.lower() not in KEYS[section]]


def _like(section: str, name: str) -> str:
    like = nearest(name, (key.name for key in KEYS[section].values()))
    return f" (no word of Slurm's; did you mean {like}?)" if like else " (no word of Slurm's)"
