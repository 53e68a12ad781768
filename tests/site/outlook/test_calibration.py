"""Calibration: ranges hold their share, whatever earlier forecasts were off by, and without hindsight."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.fake_slurm import Job, running
from support.slurm_history import seen
from support.tiers import tries

from fedsched.core.errors import FedschedError
from fedsched.site.outlook import forecast, present
from fedsched.site.outlook.calibration import FARTHEST, LEAST, Calibration, EarlierForecasts, MomentForecasts
from fedsched.site.outlook.past import KNOWN_FIELDS, Past
from fedsched.site.steer import CommandError
from fedsched.site.twin import made_dump, read_site
from fedsched.site.twin.commands import EVENTS, FIELDS, MANIFEST, QOS, SINCE, commands_of

if TYPE_CHECKING:
    from pathlib import Path

    from fedsched.site.steer import Command

HOUR = 3600.0
NOW = 1000.0 * HOUR


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dump with a queue in it."""
    return made_dump(tmp_path_factory.mktemp("made") / "dump", jobs=120, nodes=8, policy="easy", load=1.3, seed=3)


def told(off: float, spread: float, *, moments: int = 300, seed: int = 1) -> tuple[list[MomentForecasts], Any]:
    """Return forecasts of one job each, ranges half an hour wide on either side, whose starts are otherwise off."""
    rng = np.random.default_rng(seed)
    late = rng.normal(off, spread, moments) * HOUR
    at = np.linspace(0.0, NOW - 10.0 * HOUR, moments)
    one = np.array([4.0 * HOUR])
    said = [
        MomentForecasts(float(moment), np.array([k]), one - HOUR / 2, one, one + HOUR / 2)
        for k, moment in enumerate(at)
    ]
    starts = {k: float(moment + 4.0 * HOUR + late[k]) for k, moment in enumerate(at)}
    return said, past_of(starts)


def past_of(starts: dict[int, float], withdrawn: dict[int, float] | None = None) -> Any:
    """Return a past in which jobs began then, or were cancelled."""
    return SimpleNamespace(first=-HOUR, last=NOW, starts=starts, withdrawn=withdrawn or {})


@pytest.mark.parametrize(("off", "spread"), [(0.0, 0.1), (0.0, 1.0), (0.5, 0.5), (-0.5, 0.3)])
def test_ranges_hold_their_share_whatever_forecasts_are_off_by(off: float, spread: float) -> None:
    """Too narrow ranges are widened, too wide ones narrowed, each side for itself; medians stay in them."""
    held = []
    fresh = np.random.default_rng(9).normal(off, spread, 2000) * HOUR + 4.0 * HOUR
    for seed in range(tries(20)):
        said, past = told(off, spread, seed=seed)
        found = EarlierForecasts.of(said, past).by(NOW)
        low, high = found.ranges(said[0], 0.8)
        assert low[0] <= 4.0 * HOUR <= high[0]
        narrow = found.ranges(said[0], 0.4)
        assert low[0] <= narrow[0][0] <= narrow[1][0] <= high[0]
        held.append(float(((fresh >= low) & (fresh <= high)).mean()))
    assert 0.76 < np.mean(held) < 0.86


def held_in_turn(said: list[MomentForecasts], past: Any, *, plainly: bool = False) -> float:
    """Return which share of the starts ranges of 80 % held, each made of what was known by then."""
    before, held = EarlierForecasts(past), []
    for one in said:
        found = before.by(one.moment)
        before.add(one)
        if found.enough:
            found = found._replace(needed=np.array([0.8]), held=np.array([1.0])) if plainly else found
            low, high = found.ranges(one, 0.8)
            wait = np.array([past.starts[job] for job in one.number.tolist()]) - one.moment
            held.append(float(((wait >= low) & (wait <= high)).mean()))
    return float(np.mean(held))


@pytest.mark.parametrize("seed", range(4))
def test_ranges_that_were_too_narrow_before_are_made_wider(seed: int) -> None:
    """Where forecasts become worse and worse, what they were off by before is never enough; that shows, and counts."""
    said, _ = told(0.0, 1.0)
    rng = np.random.default_rng(seed)
    spread = np.linspace(0.1, 2.0, len(said)) * HOUR / 2
    past = past_of({k: one.moment + 4.0 * HOUR + float(rng.normal() * spread[k]) for k, one in enumerate(said)})
    plainly, found = held_in_turn(said, past, plainly=True), held_in_turn(said, past)
    assert plainly < 0.7
    assert 0.74 < found < 0.86


@pytest.mark.parametrize("seed", range(4))
def test_a_range_for_what_somebody_needs_holds_him_and_a_smaller_one_does_not(seed: int) -> None:
    """That is so for whoever has begun; who waits still needs nothing before his median, and no less behind it."""
    rng = np.random.default_rng(seed)
    off = np.sort(rng.normal(0.2, 1.0, 60))
    every = np.arange(1, 2001) / 2000
    found = Calibration(off, np.arange(1, 61) / 60, every, every, 60, 60)
    many = rng.uniform(0.9 * off[0], min(FARTHEST, 0.9 * off[-1]), 50)
    one = np.full(50, 40.0 * HOUR)
    said = MomentForecasts(0.0, np.arange(50), one - HOUR, one, one + HOUR)
    below, above = said.units
    wait = said.median + np.where(many < 0.0, many * below, many * above)
    needs = found.needs(many, np.ones(50, dtype=np.bool_))
    step = 2.0 / 60 + 1e-3
    for k, need in enumerate(needs.tolist()):
        low, high = found.ranges(said, min(1.0, need + step))
        assert low[k] <= wait[k] <= high[k]
        low, high = found.ranges(said, max(1e-9, need - step))
        assert need <= step or not low[k] <= wait[k] <= high[k]
    waiting = found.needs(many, np.zeros(50, dtype=np.bool_))
    assert np.array_equal(waiting, np.where(many < 0.0, 0.0, needs))


def test_what_is_not_known_yet_tells_nothing() -> None:
    """Starts after the moment, whenever they come, change no range; who waits still makes it later."""
    said, past = told(0.0, 0.2)
    moment = 500.0 * HOUR
    found = EarlierForecasts.of(said, past).by(moment)
    later = {job: start if start <= moment else moment + 77.0 * HOUR for job, start in past.starts.items()}
    same = EarlierForecasts.of(said, past_of(later)).by(moment)
    assert np.array_equal(found.off, same.off)
    assert np.array_equal(found.share, same.share)
    assert np.array_equal(found.needed, same.needed)
    assert np.array_equal(found.held, same.held)
    waiting = {job: np.nan if job % 2 else start for job, start in past.starts.items()}
    stuck = EarlierForecasts.of(said, past_of(waiting)).by(moment)
    assert stuck.ranges(said[0], 0.8)[1][0] > found.ranges(said[0], 0.8)[1][0]
    withdrawn = {job: said[job].moment + 60.0 for job in waiting if job % 2}
    gone = EarlierForecasts.of(said, past_of(waiting, withdrawn)).by(moment)
    assert gone.ranges(said[0], 0.8)[1][0] == pytest.approx(found.ranges(said[0], 0.8)[1][0], rel=0.1)


def test_few_starts_move_nothing_and_it_is_said() -> None:
    """With fewer earlier starts than are needed, that is what the line says."""
    said, past = told(0.0, 0.2, moments=LEAST - 1)
    found = EarlierForecasts.of(said, past).by(NOW)
    assert not found.enough
    assert (
        found.in_words() == f"ranges are not calibrated: {LEAST - 1} earlier starts are known, and {LEAST} are needed"
    )
    said, past = told(0.0, 0.2, moments=LEAST)
    words = EarlierForecasts.of(said, past).by(NOW).in_words()
    assert words.startswith("ranges are calibrated by 20 earlier starts, forecast")


def test_a_dump_calibrates_its_forecasts(made: Path) -> None:
    """The line says from how many starts; medians are those that were drawn, and ranges hold them."""
    here = present(made)
    found = forecast(here, draws=8)
    [line] = [note for note in found.notes if "calibrated" in note]
    assert line.startswith("ranges are calibrated by ")
    calibration = here.calibration(8, 0)
    assert calibration is not None
    assert calibration is here.calibration(8, 0)
    assert calibration.starts >= LEAST
    assert all(here.queue.now <= one.earliest <= one.median <= one.latest for one in found.forecasts)


class Told:
    """A runner that answers from a dump's files, but for what it does not have."""

    def __init__(self, folder: Path, lacks: tuple[str, ...] = ()) -> None:
        self.folder, self.lacks = folder, lacks
        head = (folder / "jobs.sacct").read_text("utf-8").splitlines()[0].lower().split("|")
        self.fields = [name for name in FIELDS if name.lower() in head]
        self.files = {one.words: one.file for one in commands_of(fields=self.fields)}

    def run(self, command: Command) -> str:
        """Return what a command printed."""
        if tuple(command) == KNOWN_FIELDS:
            return " ".join(self.fields)
        file = self.files[tuple(command)]
        if file in self.lacks or not (self.folder / file).is_file():
            raise CommandError(command, "there is none")
        return (self.folder / file).read_text("utf-8")

    def now(self) -> float:
        """Return no time."""
        return 0.0

    def user(self) -> str:
        """Return nobody."""
        return "nobody"


def test_commands_tell_the_same_past_as_a_dump(made: Path, tmp_path: Path) -> None:
    """What sacct and scontrol print of the cluster here calibrates as a dump of it does; without jobs there is none."""
    import shutil

    longer = shutil.copytree(made, tmp_path / "longer")
    (longer / MANIFEST).write_text(f"fedsched dump 1\nsince {SINCE}\n", encoding="utf-8")
    of_dump = Past(read_site(longer)).calibration(4, 0)
    of_commands = Past.of_commands(Told(made, lacks=(EVENTS, QOS))).calibration(4, 0)
    assert of_commands.starts == of_dump.starts > LEAST
    assert np.array_equal(of_commands.off, of_dump.off)
    with pytest.raises(FedschedError, match="there is none"):
        Past.of_commands(Told(made, lacks=("jobs.sacct",)))


def test_a_past_that_cannot_be_read_is_said() -> None:
    """Where sacct tells of run times and not of what a past needs, ranges are as drawn, and the line says why."""
    here = seen(running(1, "1-4"), Job(2, nodes=4), past=(("ann", 0.5),) * 12)
    assert here.calibration(3, 0) is None
    assert any(note.startswith("ranges are not calibrated, since the past is not known: ") for note in here.notes)
