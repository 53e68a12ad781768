"""What command lines of Slurm's ask for: options told from words of scripts, times, and what is not sure."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest

from fedsched.io.slurm_files.sacct_submit import NO_REQUESTS, lines_with_requests, requests_in
from fedsched.io.slurm_files.sacct_waits import begin_of

DEPENDENCIES = [
    ("sbatch --dependency=afterok:12 job.sh", "afterok:12"),
    ("sbatch --dependency afterok:12:13 job.sh", "afterok:12:13"),
    ("sbatch -d afterany:12 job.sh", "afterany:12"),
    ("sbatch -dafterany:12 job.sh", "afterany:12"),
    ("/usr/bin/sbatch -Hd singleton -n 4 job.sh", "singleton"),
    ("sbatch --dep=singleton job.sh", "singleton"),
    ("sbatch --depend afterok:1 job.sh", "afterok:1"),
    ('sbatch --dependency="afterok:1,after:2+5" job.sh', "afterok:1,after:2+5"),
    ("sbatch '--dependency=afterok:1?afterok:2' job.sh", "afterok:1?afterok:2"),
    ("sbatch -d afterok:1 -d afterok:2 job.sh", "afterok:2"),
    ("sbatch -N 2 -W -d afterok:7 job.sh", "afterok:7"),
    ("srun -W 30 -d afterok:7 hostname", "afterok:7"),
    ("salloc --exclusive -d afterok:7", "afterok:7"),
    ("sbatch --nice=5 --no-kill -k -d afterok:7 job.sh", "afterok:7"),
    ("sbatch -n 1 : -d afterok:7 -n 2 job.sh", "afterok:7"),
    ('sbatch --wrap="sleep 10" -d afterok:7', "afterok:7"),
    ("sbatch --comment=it's -d afterok:7 job.sh", "afterok:7"),
    ("sbatch --parsable -J name\\ of -d afterok:7 job.sh", "afterok:7"),
    ("sbatch -d 12 job.sh", "12"),
]
NOT_ASKED = [
    "sbatch job.sh -d afterok",
    "sbatch job.sh -d 5 -b 32",
    "sbatch -n 4 train.py --begin-epoch 3",
    "sbatch -D /data -o b.txt job.sh",
    "sbatch --distribution=block -J -d job.sh",  # the job's name is -d
    "sbatch --export=ALL -- job.sh",
    "srun --pty bash -b",
    "",
    "sbatch",
    "sbatch -",
]
UNSURE = [
    "sbatch job.sh -d afterok:5",
    "sbatch --comment=my job -d afterok:5 job.sh",
    "sbatch --wrap=python run.py --dependency=afterok:5",
    "sbatch --wrap=hostname -d afterok:5",
    "sbatch --strange 5 --dependency=singleton job.sh",
    "submit_my_jobs -d afterany:5",
]


@pytest.mark.parametrize(("line", "asked"), DEPENDENCIES)
def test_the_dependency_of_a_command_line(line: str, asked: str) -> None:
    """Tests that each form of the option is read, after options with and without words, and the last one holds."""
    assert lines_with_requests([line]) == [0]
    found = requests_in(line)
    assert (found.dependency, found.maybe_dependency) == (asked, False)


@pytest.mark.parametrize("line", NOT_ASKED)
def test_words_of_a_script_are_no_options(line: str) -> None:
    """Tests that what stands behind the script, or is another option's word, asks for nothing."""
    assert requests_in(line) == NO_REQUESTS


@pytest.mark.parametrize("line", UNSURE)
def test_what_may_be_an_option_is_not_guessed(line: str) -> None:
    """Tests that a dependency where the options may be over already is only said to be there."""
    assert lines_with_requests([line]) == [0]
    found = requests_in(line)
    assert (found.dependency, found.maybe_dependency) == ("", True)


@pytest.mark.parametrize(
    ("line", "begin"),
    [
        ("sbatch --begin=now+1hour job.sh", "now+1hour"),
        ("sbatch --begin now + 1 hour job.sh", "now + 1 hour"),
        ("sbatch -b 16:00 job.sh", "16:00"),
        ("sbatch -b 4:00 PM job.sh", "4:00 PM"),
        ("sbatch --begin=tomorrow 16:00 job.sh", "tomorrow 16:00"),
        ("sbatch --begi=2026-01-02T03:04:05 -n 4 5", "2026-01-02T03:04:05"),
        ("sbatch -b now 5", "now"),
    ],
)
def test_the_begin_of_a_command_line(line: str, begin: str) -> None:
    """Tests that a time is read whole though its quotes are lost, and no word of a script with it."""
    assert lines_with_requests([line]) == [0]
    assert requests_in(line).begin == begin


def test_a_begin_that_may_be_the_scripts_is_not_guessed() -> None:
    """Tests that a time behind the script is only said to be there, and a number there is not."""
    assert requests_in("sbatch --comment=a b --begin=16:00 job.sh").maybe_begin
    assert not requests_in("sbatch job.sh -b 16").maybe_begin


NOW = datetime(2026, 3, 31, 15, 30, 20, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        ("now", "2026-03-31 15:30:20"),
        ("now+60", "2026-03-31 15:31:20"),
        ("now + 2 hours", "2026-03-31 17:30:20"),
        ("NOW+1day", "2026-04-01 15:30:20"),
        ("now+1weeks", "2026-04-07 15:30:20"),
        ("now-5minutes", "2026-03-31 15:25:20"),
        ("16:00", "2026-03-31 16:00:00"),
        ("15:30", "2026-04-01 15:30:00"),
        ("3:05:09pm", "2026-04-01 15:05:09"),
        ("12:00 AM", "2026-04-01 00:00:00"),
        ("12:45 pm", "2026-04-01 12:45:00"),
        ("midnight", "2026-04-01 00:00:00"),
        ("noon", "2026-04-01 12:00:00"),
        ("teatime", "2026-03-31 16:00:00"),
        ("fika", "2026-04-01 15:00:00"),
        ("elevenses", "2026-04-01 11:00:00"),
        ("today", "2026-03-31 00:00:00"),
        ("tomorrow", "2026-04-01 00:00:00"),
        ("tomorrow 7:00", "2026-04-01 07:00:00"),
        ("7:00 tomorrow", "2026-04-01 07:00:00"),
        ("2026-05-06", "2026-05-06 00:00:00"),
        ("2026-05-06T07:08:09", "2026-05-06 07:08:09"),
        ("2026-5-6-07:08", "2026-05-06 07:08:00"),
        ("0401", "2026-04-01 00:00:00"),
        ("033112", "2012-03-31 00:00:00"),
        ("03/30", "2027-03-30 00:00:00"),
        ("12/24/26-18:00", "2026-12-24 18:00:00"),
        ("12.24 18:00", "2026-12-24 18:00:00"),
    ],
)
def test_times_as_slurm_reads_them(text: str, begin: str) -> None:
    """Tests that each of Slurm's ways to say a time is read from when the command was given."""
    assert begin_of(text, NOW, local=True) == datetime.fromisoformat(f"{begin}+00:00").timestamp()


@pytest.mark.parametrize(
    "text", ["", "soon", "25:00", "13:00pm", "2026-02-30", "16", "now+", "now*2", "16:00 16:00", "1e9"]
)
def test_what_is_no_time_is_none(text: str) -> None:
    """Tests that nothing is guessed."""
    assert math.isnan(begin_of(text, NOW, local=True))


def test_clocks_on_walls_are_known_where_the_dump_shows_them() -> None:
    """Tests that a dump in seconds since 1970 knows no clock, and one of local times no world's time."""
    assert math.isnan(begin_of("16:00", NOW, local=False))
    assert begin_of("now+60", NOW, local=False) == NOW + 60
    assert begin_of("uts1800000000", NOW, local=False) == 1.8e9
    assert math.isnan(begin_of("uts1800000000", NOW, local=True))


def test_a_nice_value_that_slurm_refuses_takes_nothing() -> None:
    """A dump whose job asked for 4294967196 is read as any other."""
    values = ("-100", "2147483645", "4294967196", "-9999999999", "much")
    assert [requests_in(f"sbatch --nice={one} job.sh").nice for one in values] == [-100, 2_147_483_645, 0, 0, 0]
    assert requests_in("sbatch --nice job.sh").nice == 100
