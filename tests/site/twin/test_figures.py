"""Figures of a replay: nodes in use, over the time in which jobs are recorded."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fedsched.model.jobs.labels import as_objects
from fedsched.site.twin import figures, made_dump, read_site, replay

if TYPE_CHECKING:
    from fedsched.site.twin import Replayed


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Replayed:
    """Return a replay of a dump of jobs that share nodes, all of them on the first two."""
    folder = made_dump(tmp_path_factory.mktemp("shared") / "dump", jobs=40, nodes=8, policy="easy", seed=3)
    text = (folder / "config.txt").read_text(encoding="utf-8").replace("select/linear", "select/cons_tres")
    (folder / "config.txt").write_text(text, encoding="utf-8")
    site = read_site(folder)
    hosts = as_objects(["n[1-2]" if one else "" for one in ~np.isnan(site.records.start)])
    return replay(replace(site, records=replace(site.records, hosts=hosts)), "easy")


def test_a_shared_node_is_in_use_once(shared: Replayed) -> None:
    """Tests that a node counts once, however many jobs share it, and that a record without nodes gives no figure."""
    assert shared.site.machine.shared
    found = figures.in_use(shared)
    assert 1.0 < found.recorded.max() <= 2.0 + 1e-9
    own = shared.site.records
    bare = replace(shared, site=replace(shared.site, records=replace(own, hosts=np.full(len(own), "", dtype=object))))
    assert np.isnan(figures.in_use(bare).recorded).all()


def test_figures_are_over_the_recorded_time(shared: Replayed) -> None:
    """Tests that a dump that begins before its first job has the figures of one that begins with it."""
    first = replace(shared, site=replace(shared.site, since=shared.site.zero))
    early = replace(shared, site=replace(shared.site, since=shared.site.zero - 40 * 86_400.0))
    assert first.site.recorded_from == early.site.recorded_from < shared.site.end
    for of in (figures.in_use, figures.averages):
        one, other = of(early), of(first)
        assert one.recorded.tolist() == other.recorded.tolist()
        assert one.simulated.tolist() == other.simulated.tolist()
        assert one.days == pytest.approx(other.days + 40.0)
