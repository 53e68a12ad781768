"""Writes traces/federations/*.toml, and into the package, from the facts below and their sources.

Run it from anywhere: python traces/make_federations.py
"""

from __future__ import annotations

import math
from pathlib import Path

from fedsched import Cluster, Federation, NodeGroup
from fedsched.model.jobs.assumed import Assumed

HERE = Path(__file__).resolve().parent
SHIPPED = HERE.parent / "fedsched" / "data" / "federations"
GIGABIT = 1.25e8  # bytes/s

# Idle and busy watts of whole servers, as published by SPEC (SPECpower_ssj2008: active idle and full load).
PENTIUM_D930 = (105.0, 169.0)  # HP ProLiant ML110 G3
XEON_3040 = (86.0, 117.0)  # HP ProLiant ML110 G4
XEON_3075 = (93.7, 135.0)  # HP ProLiant ML110 G5
XEON_X5670 = (66.0, 247.0)  # IBM x3550
# Measured on Grid'5000's taurus, at the highest of its clock rates.
TAURUS = (95.0, 190.738)
SPECPOWER = "SPECpower_ssj2008 results at spec.org, as tabulated in CloudSim's PowerModelSpecPower classes"

# Partition of the log, processor, clock in GHz, CPUs.
METACENTRUM_2009 = (
    *((1, "Itanium2", 1.5, 8), (2, "Opteron", 2.2, 16), (3, "Xeon", 3.2, 10), (4, "Opteron", 2.6, 80)),
    *((5, "AthlonMP", 1.6, 32), (6, "Xeon", 2.4, 64), (7, "Xeon", 2.7, 148), (8, "Xeon", 3.1, 70)),
    *((9, "Opteron", 1.6, 20), (10, "Opteron", 2.4, 6), (11, "Opteron", 2.0, 92), (12, "Xeon", 3.0, 152)),
    *((13, "Xeon", 2.7, 64), (14, "Xeon", 2.3, 44)),
)
# Site, cluster, nodes, Gflop/s of a node, watts of a server of that generation.
GRID5000_2011 = (
    ("bordeaux", "bordereau", 93, 8.8925, PENTIUM_D930),
    ("grenoble", "edel", 72, 23.492, XEON_X5670),
    ("lille", "chinqchint", 46, 22.270, XEON_3075),
    ("lyon", "sagittaire", 79, 5.6693, PENTIUM_D930),
    ("nancy", "griffon", 92, 20.678, XEON_3075),
    ("rennes", "paradent", 64, 21.496, XEON_3075),
    ("rennes", "parapide", 25, 30.130, XEON_X5670),
    ("sophia", "sol", 50, 8.9388, PENTIUM_D930),
    ("toulouse", "pastel", 80, 9.5674, PENTIUM_D930),
)
DAS_2 = (("fs0", 72), ("fs1", 32), ("fs2", 32), ("fs3", 32), ("fs4", 32))
# Site, cluster, nodes, theoretical Gflop/s of a node, Gbit/s of its network card.
GRID5000_2026 = (
    ("lyon", "taurus", 12, 220.8, 10),
    ("nantes", "econome", 24, 281.6, 10),
    ("lyon", "nova", 20, 537.6, 10),
    ("nantes", "ecotype", 48, 576.0, 10),
    ("rennes", "parasilo", 25, 614.4, 10),
    ("nancy", "gros", 124, 633.6, 25),
    ("luxembourg", "clervaux", 48, 1075.2, 10),
    ("nancy", "grvingt", 63, 2150.4, 100),
    ("grenoble", "dahu", 32, 2150.4, 100),
    ("rennes", "paradoxe", 64, 3660.8, 25),
)
FIGURE = (
    'Figure {} of E. Gabaldon Ponsa, "Meta-Heuristics for Scheduling in Cluster Federated Environments" '
    "(doctoral thesis, Universitat de Lleida, 2018, http://hdl.handle.net/10803/462072).\n"
    "Node counts: its text. Assumed: reference speed, the default watts."
)


def assumed(watts: tuple[float, float]) -> tuple[float, float]:
    """Return watts that are taken for those of other servers than they were measured on."""
    idle, busy = watts
    return Assumed(idle), Assumed(busy)


def one(name: str, count: int, speed: float, watts: tuple[float, float], uplink: float, *, group: str = "") -> Cluster:
    """Return a cluster of identical nodes."""
    idle, busy = watts
    return Cluster(name, (NodeGroup(count, speed, busy, idle, group),), uplink)


def metacentrum_2009() -> Federation:
    """Return the home of the METACENTRUM-2009 log: cluster p is the log's partition p."""
    per_cpu = assumed((PENTIUM_D930[0] / 2, PENTIUM_D930[1] / 2))
    uplink = Assumed(GIGABIT)
    return Federation(
        tuple(
            one(f"p{p}-{cpu.lower()}", cpus, Assumed(round(ghz / 3.0, 3)), per_cpu, uplink, group=f"{cpu} {ghz} GHz")
            for p, cpu, ghz, cpus in METACENTRUM_2009
        ),
        name="metacentrum-2009",
        description=(
            "MetaCentrum (Czech national grid), 2009: 14 clusters, 806 CPUs; a node here is a CPU, as the log counts.\n"
            "Clusters in the order of the partitions 1..14 of the log METACENTRUM-2009-2.\n"
            "CPUs and clock rates: the table at https://www.cs.huji.ac.il/labs/parallel/workload/l_metacentrum/, "
            "checked against each partition's peak use and largest job.\n"
            "Assumed: speed = clock / 3 GHz; uplink 1 Gbit/s for each cluster; watts: half of an HP ML110 G3 "
            f"(two cores), {SPECPOWER}."
        ),
    )


def grid5000_2011() -> Federation:
    """Return nine clusters of Grid'5000 as SimGrid describes them."""
    return Federation(
        tuple(
            one(name, nodes, round(gflops / 20.678, 3), assumed(watts), 10 * GIGABIT, group=site)
            for site, name, nodes, gflops, watts in GRID5000_2011
        ),
        name="grid5000-2011",
        description=(
            "Grid'5000 (France), 2011: 9 clusters, 601 nodes; a group's name is the cluster's site.\n"
            "Nodes, flop/s of a node and cluster uplinks of 10 Gbit/s: SimGrid, examples/platforms/g5k.xml.\n"
            "Speed = flop/s of a node / 20.678 Gflop/s, those of griffon.\n"
            f"Assumed: watts of a server of the processor's generation, {SPECPOWER}."
        ),
    )


def das_2() -> Federation:
    """Return the five clusters of the Distributed ASCI Supercomputer 2."""
    return Federation(
        tuple(
            one(name, nodes, 1.0, assumed(XEON_3040), GIGABIT, group="2 x Pentium III 1 GHz") for name, nodes in DAS_2
        ),
        name="das-2",
        description=(
            "DAS-2 (Netherlands): 5 clusters, 200 nodes of two 1 GHz Pentium III each; a node here is a server.\n"
            "Clusters, nodes in all, and 1 Gbit/s Ethernet: the DAS history at https://www.cs.vu.nl/das5/history.\n"
            "Assumed: the split of the 200 nodes into 72 + 4 x 32 (its sum agrees; the source for it was not at hand); "
            f"watts of an HP ML110 G4, {SPECPOWER}."
        ),
    )


def grid5000_2026() -> Federation:
    """Return ten clusters of Grid'5000 of today."""
    watts, uplink = {True: TAURUS, False: assumed(TAURUS)}, Assumed(10 * GIGABIT)
    return Federation(
        tuple(
            one(name, nodes, round(flops / 633.6, 3), watts[name == "taurus"], uplink, group=f"{at}, NIC {nic} Gbit/s")
            for at, name, nodes, flops, nic in GRID5000_2026
        ),
        name="grid5000-2026",
        description=(
            "Grid'5000 (France), 2026: 10 clusters, 460 nodes; a group's name says the site and the network card.\n"
            "Nodes, theoretical flop/s of a node and network cards: the Grid'5000 reference repository, commit "
            "9ebe1b1, data/grid5000.\n"
            "Speed = flop/s of a node / 633.6 Gflop/s, those of gros.\n"
            "Watts: measured on taurus (Batsim, platforms/cluster_energy_128.xml); assumed the same for the others.\n"
            "Assumed: uplink 10 Gbit/s for each cluster, as in 2011."
        ),
    )


def figure(number: str, sizes: tuple[int, ...], uplinks: tuple[float, ...], more: str) -> Federation:
    """Return a teaching federation: C1, C2, ... of reference nodes."""
    clusters = [
        Cluster(f"C{k}", (NodeGroup(size),), uplink)
        for k, (size, uplink) in enumerate(zip(sizes, uplinks, strict=True), start=1)
    ]
    return Federation(tuple(clusters), name=f"figure-{number}", description=f"{FIGURE.format(number)} {more}")


def example() -> Federation:
    """Return the small heterogeneous federation of the README and the demo."""
    south = (NodeGroup(32, 1.4, 247.0, 66.0, "fast"), NodeGroup(16, 1.1, 135.0, 93.7, "older"))
    return Federation(
        (
            one("north", 64, 1.0, XEON_3075, 10 * GIGABIT),
            Cluster("south", south, 10 * GIGABIT),
            one("east", 32, 0.75, XEON_3040, 2 * GIGABIT),
            one("west", 16, 0.45, PENTIUM_D930, GIGABIT),
        ),
        name="example",
        description=(
            "A made-up federation for demonstrations: 4 clusters, 160 nodes, five kinds of them, uplinks of 1 to 10 "
            f"Gbit/s.\nWatts: {SPECPOWER}. All else is invented."
        ),
    )


def federations() -> list[Federation]:
    """Return every federation."""
    free, half = Assumed(math.inf), Assumed(4 / 3)
    return [
        metacentrum_2009(),
        grid5000_2011(),
        das_2(),
        grid5000_2026(),
        figure("1-5", (4,), (free,), "Also assumed: one cluster of 4 nodes."),
        figure("1-6", (4, 3), (free, free), "Also assumed: uplinks without a limit."),
        figure("1-7", (4, 3, 5), (free, half, free), "Also assumed: cluster 2's uplink, half of the demand."),
        example(),
    ]


def write_all(folder: Path, shipped: Path) -> None:
    """Write every federation to a folder, and into the package."""
    for federation in federations():
        for target in (folder, shipped):
            target.mkdir(parents=True, exist_ok=True)
            federation.write(target / f"{federation.name}.toml")


if __name__ == "__main__":
    write_all(HERE / "federations", SHIPPED)
