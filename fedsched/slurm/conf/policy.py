"""The policy `Slurm`: the scheduler of a site, as its slurm.conf configures it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from fedsched.core.errors import FederationError, unknown_name
from fedsched.core.text import one_line
from fedsched.core.values import is_number, whole
from fedsched.io.slurm_files.slurm_conf import SlurmConf, read_slurm_conf
from fedsched.io.slurm_files.slurm_keys import AT_ONCE, GLOBAL, Treatment, keys_of
from fedsched.slurm.conf.parameters import VERSION_KEY, Parameters, assumption_note, parameters_of, with_version
from fedsched.slurm.passes.limits_of_accounts import unmodelled_limits
from fedsched.slurm.priority.associations import Associations
from fedsched.slurm.priority.priority_parameters import PriorityParameters
from fedsched.slurm.result.clocks import Clocks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from os import PathLike

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation

PASSES = ("instant", "timed")
TESTS_A_SECOND = 1000


@dataclass(frozen=True, slots=True)
class Slurm:
    r"""The policy of Slurm's main and backfill schedulers, as a slurm.conf configures them.

    `simulate` runs it in an event loop of its own.

    Parameters
    ----------
    conf
        A slurm.conf, or its path.
    slurm_version
        Slurm's version, as "22.05": parameters that the conf does not set have the defaults of this version. None: the
        version in the conf, if it is the output of `scontrol show config`; else the newest.
    assoc
        The accounts: the output of `sacctmgr dump` or `sacctmgr -P show assoc,qos`, as `Associations`, a path, or
        several paths. Fair share needs them.
    clocks
        A recording's clocks, or the path of their file: backfill passes then begin at the recorded times. None: passes
        begin at the intervals of the conf.
    passes
        "instant": a pass takes no time. "timed": a pass takes as long as its tests, and the next one begins that much
        later; after bf_max_time a pass looks at no more jobs.
    rate
        Tests per second of a timed pass.
    completing
        Seconds for which nodes stay busy after a job's end: one number, or one by job id.
    phase
        Seconds from the first submission to the first backfill pass.
    epoch
        Seconds since 1970 at second 0 of the jobs: passes round times by it. None: that of the clocks, else that of the
        log's header, else 0.
    aged
        Seconds for which jobs were eligible before they appear here, by id; None: 0 for all.
    cpus
        CPUs that jobs count for in limits and priorities, by id; other jobs count for the CPUs of their nodes.
    admitted
        Ids of jobs that a real Slurm accepted. A job that alone is over a limit is an error; if its id is listed here,
        that limit does not bind it.
    ensemble
        The number of runs. The first one has the given clocks. The others draw when passes and ticks begin, and how
        long passes and the clearing of nodes take. The schedule is that of the first run; its `interval_of` and
        `spread_of` cover all runs.

    Examples
    --------
    >>> from pathlib import Path
    >>> text = "NodeName=n[1-4] CPUs=1\nPartitionName=p Nodes=ALL Default=YES"
    >>> written = Path("slurm.conf").write_text(text)
    >>> jobs = fs.Workload(submit=[0, 0], tasks=[4, 4], runtime=[600, 900])
    >>> fs.simulate(jobs, fs.read_federation("slurm.conf"), fs.policies.Slurm("slurm.conf")).complete
    True
    """

    conf: SlurmConf
    assoc: Associations | None = field(default=None, kw_only=True)
    clocks: Clocks | None = field(default=None, kw_only=True)
    passes: str = field(default="instant", kw_only=True)
    rate: int = field(default=TESTS_A_SECOND, kw_only=True)
    completing: int | Mapping[int, int] = field(default=0, kw_only=True)
    phase: int = field(default=0, kw_only=True)
    epoch: int | None = field(default=None, kw_only=True)
    aged: Mapping[int, float] | None = field(default=None, kw_only=True)
    cpus: Mapping[int, int] | None = field(default=None, kw_only=True)
    admitted: frozenset[int] = field(default=frozenset(), kw_only=True)
    ensemble: int = field(default=1, kw_only=True)
    parameters: Parameters = field(init=False, repr=False, compare=False)
    priority: PriorityParameters = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        conf: SlurmConf | str | PathLike[str],
        *,
        slurm_version: str | None = None,
        assoc: Associations | str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
        clocks: Clocks | str | PathLike[str] | None = None,
        passes: str = "instant",
        rate: int = TESTS_A_SECOND,
        completing: int | Mapping[int, int] = 0,
        phase: int = 0,
        epoch: int | None = None,
        aged: Mapping[int, float] | None = None,
        cpus: Mapping[int, int] | None = None,
        admitted: Collection[int] = (),
        ensemble: int = 1,
    ) -> None:
        if passes not in PASSES:
            raise unknown_name("passes", passes, PASSES)
        read = with_version(conf if isinstance(conf, SlurmConf) else read_slurm_conf(Path(conf)), slurm_version)
        known = clocks if clocks is None or isinstance(clocks, Clocks) else Clocks.read(clocks)
        for seconds in (completing,) if isinstance(completing, int) else completing.values():
            whole("Slurm", "completing", seconds, least=0)
        for job, age in ({} if aged is None else aged).items():
            if not (is_number(age) and age >= 0.0):
                raise ValueError(f"Slurm: aged={age!r} of job {job} must be finite seconds, at least 0.")
        for job, number in ({} if cpus is None else cpus).items():
            whole(f"Slurm: job {job}", "cpus", number, least=1)
        given = {
            "cpus": cpus, "admitted": frozenset(admitted),
            "conf": read, "clocks": known, "passes": passes, "rate": whole("Slurm", "rate", rate, least=1),
            "completing": completing, "phase": whole("Slurm", "phase", phase, least=0),
            "epoch": None if epoch is None else whole("Slurm", "epoch", epoch), "parameters": parameters_of(read),
            "priority": PriorityParameters.of(read), "assoc": _accounts(assoc),
            "ensemble": whole("Slurm", "ensemble", ensemble, least=1), "aged": aged,
        }  # fmt: skip
        for name, value in given.items():
            object.__setattr__(self, name, value)
        if self.ensemble > 1 and known is not None and (known.passes is not None or known.full is not None):
            raise ValueError(
                f"Slurm: ensemble={self.ensemble} draws the times of passes, and clocks= fixes them; leave one out."
            )
        if self.parameters.multifactor and self.priority.fairshare and self.assoc is None:
            raise FederationError(
                f"{read.path}: PriorityWeightFairshare={self.priority.fairshare} needs accounts; give assoc= "
                "(fedsched: --assoc), what `sacctmgr dump CLUSTER` prints, or set the weight to 0."
            )

    def on_another(self, conf: SlurmConf) -> Slurm:
        """Return this policy with another conf, without recorded clocks and with a single run.

        If that conf does not name Slurm's version, the version of the present conf is kept.
        """
        mine = None if VERSION_KEY in conf.parameters else self.conf.parameters.get(VERSION_KEY)
        return replace(self, conf=with_version(conf, mine), clocks=None, ensemble=1)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what is assumed, and which settings are not modelled, a line each, if nodes are allocated whole."""
        return self.notes_on(shared=False)

    def notes_on(self, *, shared: bool) -> tuple[str, ...]:
        """Return what is assumed, and which settings are not modelled, a line each.

        `shared` says whether jobs share nodes, or nodes are allocated whole.
        """
        facts = (*self.parameters.not_modelled_on(shared=shared), *self.priority.left_out)
        said = list(filter(None, [assumption_note(self.conf)]))
        said += [f"assumed of {self.conf.path}: {one}" for one in self._assumed()]
        said += [f"not modelled of {self.conf.path}: {', '.join(facts)}"] if facts else []
        if strange := self.conf.strange.get(GLOBAL):
            said.append(f"not read of {self.conf.path}: {', '.join(strange)}")
        if self.priority.charges_ends and self.assoc is None:
            said.append(
                f"not modelled of {self.conf.path}: AccountingStorageEnforce asks for limits, and no accounts "
                "are given, so none is kept; give assoc= (fedsched: --assoc)"
            )
        if limits := [*unmodelled_limits(self)]:
            said.append(f"not modelled of the accounts' limits: {', '.join(limits)}")
        return (*said, *(() if self.assoc is None else self.assoc.notes()))

    def _assumed(self) -> Iterator[str]:
        told = self.completing != 0 or self.clocks is not None
        keys = [key for key in keys_of(GLOBAL, Treatment.ASSUMED) if key.how == AT_ONCE and not told]
        if names := [key.name for key in keys if key.says(self.conf.parameters.get(key.name.lower(), ""))]:
            yield f"{AT_ONCE} ({', '.join(names)})"

    def rules(self, workload: Workload, federation: Federation) -> NoReturn:
        """Raise ValueError in any case: this policy has no rules for the plain event loop; `simulate` runs it."""
        raise ValueError(f"{self} is no rule of the plain loop: it runs by simulate(workload, federation, policy=...).")

    def __str__(self) -> str:
        kind = "backfill" if self.parameters.backfill else "builtin"
        select = "cons_tres" if self.parameters.cons_tres else "linear"
        order = "multifactor" if self.parameters.multifactor else "basic"
        return f"slurm ({kind}, {select}, {order}) of {one_line(self.conf.name)}"


def _accounts(given: Associations | str | PathLike[str] | Sequence[str | PathLike[str]] | None) -> Associations | None:
    if given is None or isinstance(given, Associations):
        return given
    paths = (given,) if isinstance(given, str) or not isinstance(given, Sequence) else tuple(given)
    return Associations.read(*paths)
