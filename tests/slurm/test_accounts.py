"""Accounts and QOS out of every form in which Slurm tells of them, and what is wrong with files of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from slurm.recorded_priorities import DAYS, RECORDED

from fedsched.core.errors import FedschedError, TraceError
from fedsched.io.slurm_files.accounts import read_usage
from fedsched.slurm.conf.job_factors import JobRequest
from fedsched.slurm.passes.limits_of_accounts import Parts
from fedsched.slurm.priority.associations import Associations
from fedsched.slurm.priority.shares import level_fractions, machine_fractions, shares_of
from fedsched.slurm.result.queue_dump import read_queue

if TYPE_CHECKING:
    from pathlib import Path

# Where the forms say the same: sacctmgr's own script gives nobody a QOS who asked for none.
FORMS = (
    ("tree.txt", "qos.txt"),
    ("parents.txt", "qos.txt"),
    ("assoc.txt", "qos.txt", "8.shares"),
    ("qos.txt", "accounts.cfg"),
)


def said(associations: Associations, *, qualities: bool = True) -> list[tuple[object, ...]]:
    """Return what is known of everybody, in some order."""
    members = associations.members
    found = []
    for one in members:
        above = members[one.parent].account if one.parent >= 0 else ""
        qos = tuple(sorted(one.qos)) if qualities else ()
        found.append((one.account, one.user, above, str(one.shares), one.priority, qos, tuple(one.limits.items())))
    return sorted(found)


@pytest.mark.parametrize("day", DAYS)
@pytest.mark.parametrize("forms", FORMS)
def test_every_form_says_the_same(day: str, forms: tuple[str, ...]) -> None:
    """A dump, the tables of `show assoc` with spaces, with parents, with what sshare says of them: one cluster."""
    folder = RECORDED / day
    dump = Associations.read(folder / "accounts.cfg", folder / "qos.txt")
    table = Associations.read(*(folder / form for form in forms))
    assert said(table) == said(dump)
    assert table.qos.keys() == dump.qos.keys()
    assert list(dump.notes()) == list(table.notes()) == []


def test_a_script_says_what_it_makes() -> None:
    """The commands that made the accounts say the same as their dump, but for the QOS that everybody has."""
    folder = RECORDED / "fair-tree"
    script = Associations.read(folder / "accounts.script")
    dump = Associations.read(folder / "accounts.cfg", folder / "qos.txt")
    assert said(script, qualities=False) == said(dump, qualities=False)
    assert {name: (one.priority, one.usage_factor) for name, one in script.qos.items()} == {
        name: (one.priority, one.usage_factor) for name, one in dump.qos.items()
    }
    assert script.quality("LOW").limits == {"maxjobspu": 50.0}
    assert script.members[script.place("man", "biology")].limits == {"maxjobs": 40.0}
    assert script.place("lp") == script.place("lp", "biology")  # the account that he was added to first


def test_shares_are_those_that_sshare_prints() -> None:
    """NormShares of everybody, in the fair tree and in the classic way."""
    for day, part in (("fair-tree", level_fractions), ("classic", machine_fractions)):
        folder = RECORDED / day
        found = Associations.read(folder / "accounts.cfg", folder / "qos.txt").members
        parts = dict(zip([(one.account, one.user) for one in found], part(shares_of(found)).tolist(), strict=True))
        rows = [line.split("|") for line in (folder / "8.shares").read_text(encoding="utf-8").splitlines()[1:]]
        for account, user, raw, norm, *_ in rows:
            if account.strip() != "root" and raw != "parent":
                assert f"{parts[account.strip(), user]:.6f}" == norm, (day, account, user)


def test_scripts_change_what_they_made(tmp_path: Path) -> None:
    """Commands to modify with where and set, += and -=, remove; what is no account is named."""
    path = tmp_path / "accounts"
    path.write_text(
        "modify QOS set normal Priority=7\nadd qos name=extra Priority=20 GrpTRES=cpu=64,mem=2G MaxWall=1-0\n"
        "add cluster name=c qos=normal,extra\nsacctmgr -i add account a,b Fairshare=3\n"
        "add account c parent=b\nadd user u1,u2 account=a\nadd user name=u3 DefaultAccount=c\n"
        "modify user where name=u1 set qos+=extra fairshare=9\nmodify user u2 set qos=normal,extra\n"
        "modify user where user=u2 set qos-=normal\nmodify account set description='x y' where name=b\n"
        "modify user set MaxSubmitJobs=5\nadd wckey x\nremove user u3\nlist assoc\n",
        encoding="utf-8",
    )
    found = Associations.read(path)
    assert found.quality("normal").priority == 7
    assert found.quality("extra").limits == {"grptres": {"cpu": 64.0, "mem": 2048.0}, "maxwall": 86_400.0}
    first, second = (found.members[found.place(user)] for user in ("u1", "u2"))
    assert (first.shares, first.qos, second.qos) == (9, ("extra",), ("extra",))
    assert first.limits == {"maxsubmit": 5.0}
    assert list(found.notes()) == [f"not modelled of the accounts: wckey ({path}, line 13)"]
    with pytest.raises(TraceError, match="user 'u3' is not in the account '': no file tells of it"):
        found.place("u3")


def test_a_job_may_ask_for_all_of_the_longest_time(tmp_path: Path) -> None:
    """MaxWall bounds a job that asks for more, and no job that asks for just as much."""
    path = tmp_path / "accounts"
    path.write_text("modify QOS set normal MaxWall=1-0\nadd cluster c\nadd account a\nadd user u account=a\n")
    parts = Parts(Associations.read(path), {})
    asked = [parts.of(JobRequest(user="u", limit=limit)) for limit in (86_400.0, 86_401.0)]
    assert [[(part.of, part.amount) for part in found] for found in asked] == [[], [("maxwall, in seconds", 86_400.0)]]


def test_a_default_account_is_one_that_a_user_is_in(tmp_path: Path) -> None:
    """Whoever is added with an account and another one by default is in both, as sacctmgr has it."""
    path = tmp_path / "accounts"
    path.write_text("add cluster c\nadd account a,b\nadd user u DefaultAccount=b Account=a Fairshare=parent\n")
    found = Associations.read(path)
    assert found.members[found.place("u")].account == "b"
    assert found.members[found.place("u", "a")].account == "a"
    assert found.users == 3  # root beside


def test_what_no_file_tells_is_assumed_by_name(tmp_path: Path) -> None:
    """A dump names QOS, but says nothing of them."""
    folder = RECORDED / "fair-tree"
    found = Associations.read(folder / "accounts.cfg")
    assert list(found.notes()) == [
        "assumed of the accounts: priority 0 and factor 1 of 3 QOS (normal, low, high), of which no file tells"
    ]
    with pytest.raises(TraceError, match=r"no file lists the QOS 'hihg'.*Did you mean 'high'"):
        found.quality("hihg")
    with pytest.raises(TraceError, match="it is in biology, common"):
        found.place("lp", "physics")


DUMP = "Cluster - 'c':Fairshare=1\nParent - 'root'\nAccount - 'a':Fairshare=2\n"
WRONG = [
    ("", "it is empty; give what `sacctmgr dump"),
    (DUMP + "Parent - 'b'\n", "line 4: no earlier line defines the account 'b'"),
    (DUMP + "something else\n", "line 4: 'something else' is not a line of a dump, such as"),
    (DUMP + "Account - 'b':Fairshare\n", "line 4: 'Fairshare' is no NAME=VALUE"),
    (DUMP + "Account - 'b':Fairshare=many\n", "line 4: Fairshare=many is no whole number"),
    (DUMP + "Account - 'b':GrpTRES=cpu\n", "line 4: 'cpu' is no amount of a resource"),
    (DUMP + "Account - 'b':MaxJobs=few\n", "line 4: maxjobs=few is no whole number"),
    (DUMP + "Cluster - 'd'\nParent - 'root'\n", "it has the clusters c, d; choose one"),
    ("Name|Priority|UsageFactor\nx|1|-2\n", "it lists no account"),
    ("Cluster|Account|User|Share\nc|root||1\nc|a||1\n", "line 3: no file says which account is above 'a'"),
    ("Cluster|Account|User|Share\nc|root||1\nc|a|1\n", "line 3: it has 3 fields, but the first line 4"),
    ("Cluster|Account|User|Share\nc|root||1\nc|   a||1\n", "line 3: '   a' is indented too far"),
    ("Cluster|Account|User|ParentName|Share\nc|root|||1\nc|a||b|1\nc|b||a|1\n", "account 'a' is above itself"),
    ("Cluster|Account|User|ParentName|Share\nc|root|||1\nc|a||b|1\n", "there is no account 'b'; dump the whole"),
    ("what is this\n", "line 1: 'what is this' is not a command of sacctmgr"),
    ("add qos\n", "line 1: it names nothing to add"),
    ("add user u\n", "line 1: user 'u' has no account"),
    ("add cluster c\nadd user u account=a\n", "line 2: no earlier line adds the account 'a'"),
    ("add cluster c\nmodify user u set qos=x\n", "line 2: no earlier line adds the user 'u'"),
    ("add cluster c\nmodify user u\n", "line 2: it has no `set`"),
    ("add cluster 'c\n", "line 1: No closing quotation"),
]


@pytest.mark.parametrize(("text", "complaint"), WRONG)
def test_what_is_wrong_is_said_with_its_line(text: str, complaint: str, tmp_path: Path) -> None:
    """Each error names file and line, and what to do."""
    path = tmp_path / "accounts"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FedschedError) as caught:
        Associations.read(path)
    assert str(caught.value).startswith(str(path))
    assert complaint in str(caught.value)


def test_one_of_several_clusters_is_chosen(tmp_path: Path) -> None:
    """The name of the cluster says which accounts are meant."""
    path = tmp_path / "accounts"
    path.write_text(DUMP + "Cluster - 'd'\nParent - 'root'\nAccount - 'z'\n", encoding="utf-8")
    assert [one.account for one in Associations.read(path, cluster="d").members] == ["root", "z"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Account|User\n", "it has no column RawUsage; give what `sshare -a -l -P` prints"),
        ("Account|User|RawUsage|EffectvUsage\nroot||x|0\n", "line 2: RawUsage=x must be a number of at least 0"),
        ("Account|User|RawUsage|EffectvUsage\nroot|\n", "line 2: it has 2 fields, but the first line 4"),
    ],
)
def test_wrong_uses(text: str, complaint: str, tmp_path: Path) -> None:
    """What sshare did not print is refused."""
    path = tmp_path / "shares"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TraceError, match="shares") as caught:
        read_usage(path)
    assert complaint in str(caught.value)


QUEUED = "JobId=1 UserId=a(1) JobState=PENDING Partition=p NumNodes=1-1 NumCPUs=2 SubmitTime=2027-01-12T08:00:00"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "it lists no job; give the output of `scontrol -o show job`"),
        ("JobId=1 JobState=PENDING", "line 1: UserId is missing"),
        (QUEUED.replace("NumCPUs=2", "NumCPUs=x"), "line 1: NumCPUs=x is no whole number"),
        (f"{QUEUED} AccrueTime=soon", "line 1: AccrueTime=soon is no time like"),
        (f"{QUEUED} TRES=cpu", "line 1: 'cpu' is no amount of a resource"),
    ],
)
def test_wrong_queues(text: str, complaint: str, tmp_path: Path) -> None:
    """What scontrol did not print is refused."""
    path = tmp_path / "jobs"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FedschedError, match="jobs") as caught:
        read_queue(path)
    assert complaint in str(caught.value)


def test_a_task_of_an_array_has_its_array_s_number(tmp_path: Path) -> None:
    """17_3 as squeue calls it, with what it asks for."""
    path = tmp_path / "jobs"
    words = "ArrayJobId=17 ArrayTaskId=3 Nice=-5 SiteFactor=4 TimeLimit=UNLIMITED"
    path.write_text(f"{QUEUED} {words}\n", encoding="utf-8")
    [job] = read_queue(path)
    assert (job.name, job.asked.nice, job.asked.site, job.asked.limit) == ("17_3", -5, 4, float("inf"))


@pytest.mark.parametrize("flag", ["EnforceUsageThreshold", "usagethreshold", "RequiresReservation", "NoDecay"])
def test_a_flag_of_a_qos_that_is_not_modelled_is_named(tmp_path: Path, flag: str) -> None:
    """What a QOS asks for by a flag is modelled or said, with the QOS that has it."""
    path = tmp_path / "qos.txt"
    path.write_text("Name|Priority|Flags\nnormal|0|NoReserve,DenyOnLimit\n" f"low|0|OverPartQOS,{flag}\n")
    tree = tmp_path / "tree.txt"
    tree.write_text("Cluster|Account|User|Share\nc|root||1\nc|root|ann|1\n", encoding="utf-8")
    found = Associations.read(tree, path)
    assert found.left_out == (f"the QOS flag {flag} (low)",)
    assert f"not modelled of the accounts: the QOS flag {flag} (low)" in found.notes()
