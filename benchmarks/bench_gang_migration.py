"""Gangs that migrate between processor queues (Pinto et al. 2014 and 2019): paper | ours | verdict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from checks import Ledger
from measuring import arguments, optional_log

from fedsched import read
from fedsched.gang import Interval, presets, replicate, simulate

# Pinto, Holanda, Marques and Barroso 2019: tables 3 and 4 at 3000 jobs, figures 11 and 12.
ART = {
    1: {"AFCFS": 185_395, "LXF": 301_549, "LJFS": 465_194, "AFCFSm": 40_171, "LXFm": 165_736, "LJFSm": 333_427},
    2: {"AFCFS": 143_847, "LXF": 245_387, "LJFS": 429_515, "AFCFSm": 40_030, "LXFm": 162_278, "LJFSm": 340_030},
}
LOC = {
    1: {"AFCFS": 50.0, "LXF": 50.0, "LJFS": 50.0, "AFCFSm": 3.48, "LXFm": 16.63, "LJFSm": 9.63},
    2: {"AFCFS": 50.0, "LXF": 50.0, "LJFS": 50.0, "AFCFSm": 3.39, "LXFm": 16.2, "LJFSm": 6.89},
}
# Tables 3 and 4 whole, in thousands of seconds: after 500, 1000, ... 3000 jobs.
COUNTS = (500, 1000, 1500, 2000, 2500, 3000)
BY_JOBS = {
    (1, "AFCFS"): (40.1, 85.3, 116.2, 164.3, 190.7, 185.4), (1, "AFCFSm"): (10.7, 19.5, 29.2, 35.4, 42.3, 40.2),
    (1, "LXF"): (57.8, 119.0, 171.6, 240.3, 298.6, 301.5), (1, "LXFm"): (26.2, 59.9, 90.4, 116.7, 147.5, 165.7),
    (1, "LJFS"): (82.6, 197.4, 307.6, 397.4, 492.3, 465.2), (1, "LJFSm"): (46.2, 113.1, 200.5, 278.0, 337.0, 333.4),
    (2, "AFCFS"): (22.4, 61.3, 87.1, 120.6, 149.5, 143.8), (2, "AFCFSm"): (11.9, 20.5, 29.9, 36.0, 42.0, 40.0),
    (2, "LXF"): (43.3, 92.7, 138.1, 193.9, 242.9, 245.4), (2, "LXFm"): (27.8, 62.5, 93.2, 117.6, 147.4, 162.3),
    (2, "LJFS"): (77.0, 170.5, 265.1, 355.9, 445.3, 429.5), (2, "LJFSm"): (50.0, 119.4, 215.6, 284.9, 349.6, 340.0),
}  # fmt: skip
SOURCE_2014, SOURCE_2019 = (f"Pinto et al. {year}, gangs with migration" for year in (2014, 2019))
CHECKS = Ledger("bench_gang_migration")
PLAIN, MIGRATING = ("AFCFS", "LXF", "LJFS"), ("AFCFSm", "LXFm", "LJFSm")
# Pinto, Chaves, Leite, Vasconcelos and Barroso 2014: figures 3 and 4; S3's LoC is drawn only.
LOC_2014 = {("AFCFS", 1): 30.4, ("LGFS", 1): 31.1, ("AFCFS", 2): 7.08, ("LGFS", 2): 24.3}
UTILISATION_2014 = {
    ("AFCFS", 1): 50.0, ("LGFS", 1): 42.5, ("AFCFS", 2): 60.0, ("LGFS", 2): 50.0, ("AFCFS", 3): 75.0, ("LGFS", 3): 75.0,
}  # fmt: skip
KEYS_2014 = tuple((name, scenario) for scenario in (1, 2, 3) for name in ("AFCFS", "LGFS"))
KEYS_LXF = tuple((scenario, name) for scenario in (1, 2) for name in ("AFCFS", "AFCFSm", "LXF", "LXFm"))
MIDDLE_2014 = (400, 2600)  # the "interactions" (arrivals and ends) over which figure 3's averages are taken


def shown(value: Interval, unit: float = 1.0, digits: int = 0) -> str:
    return f"{value.mean * unit:,.{digits}f} ± {value.half_width * unit:,.{digits}f}"


def ordered(values: dict[str, float], names: tuple[str, ...]) -> bool:
    row = [values[name] for name in names]
    return row == sorted(row)


def of_2019(base: presets.Pinto2019, replications: int) -> None:
    answers = {
        (scenario, name): replicate(replace(base, scenario=scenario, scheduler=name), replications=replications)["all"]
        for scenario in ART
        for name in (*PLAIN, *MIGRATING)
    }
    art = {key: answer["mean_response"].mean for key, answer in answers.items()}
    table = CHECKS.table(f"Pinto et al. 2019: {replications} runs, 95 % intervals; S1 = OLB, S2 = JSEQ", SOURCE_2019)
    for scenario, published in ART.items():
        for name, paper in published.items():
            ours = answers[scenario, name]["mean_response"]
            within = abs(ours.mean - paper) <= 0.25 * paper
            table.row(f"S{scenario} {name}: ART in s (± 25 %)", f"{paper:,}", shown(ours), within)
    for scenario, published in LOC.items():
        for name, paper in published.items():
            ours = answers[scenario, name]["loss_of_capacity"]
            tolerance = 5.0 if name in PLAIN else 3.0
            reached = abs(100 * ours.mean - paper) <= tolerance
            table.row(f"S{scenario} {name}: LoC in % (± {tolerance:g})", f"{paper:g}", shown(ours, 100.0, 1), reached)
    for scenario in ART:
        by_name = {name: art[scenario, name] for name in (*PLAIN, *MIGRATING)}
        by_loss = ("AFCFSm", "LJFSm", "LXFm")
        loss = [answers[scenario, name]["loss_of_capacity"].mean for name in by_loss]
        for names in (PLAIN, MIGRATING):
            row = " < ".join(f"{by_name[name]:,.0f}" for name in names)
            table.row(f"S{scenario}: ART {' < '.join(names)}", "yes", row, ordered(by_name, names))
        row = " < ".join(f"{100 * value:.1f}" for value in loss)
        table.row(f"S{scenario}: LoC {' < '.join(by_loss)}", "yes", row, loss == sorted(loss))
        for name in PLAIN:
            paper = ART[scenario][f"{name}m"] / ART[scenario][name]
            ours = by_name[f"{name}m"] / by_name[name]
            what = f"S{scenario} {name}: migration multiplies ART by (± 0.1)"
            table.row(what, f"{paper:.2f}", f"{ours:.2f}", abs(ours - paper) <= 0.1)
    for name in (*PLAIN, *MIGRATING):
        paper, ours = ART[2][name] / ART[1][name], art[2, name] / art[1, name]
        table.row(
            f"{name}: ART under JSEQ / under OLB (± 0.1)", f"{paper:.2f}", f"{ours:.2f}", abs(ours - paper) <= 0.1
        )


def by_jobs(replications: int) -> None:
    """Tables 3 and 4, read as runs of the first n jobs."""
    table = CHECKS.table(
        f"Pinto et al. 2019, tables 3 and 4: ART in 1000 s of the first {', '.join(map(str, COUNTS))} jobs, "
        f"{replications} runs; reached: all within 25 %",
        SOURCE_2019,
    )
    for (scenario, name), published in BY_JOBS.items():
        preset = presets.Pinto2019(scheduler=name, scenario=scenario)
        ours = []
        for count in COUNTS:
            runs = [simulate(preset.workload(k).head(count), preset.system(k), seed=k) for k in range(replications)]
            ours.append(np.mean([run.metrics().mean_response for run in runs]) / 1000)
        near = all(abs(one - paper) <= 0.25 * paper for one, paper in zip(ours, published, strict=True))
        rows = [", ".join(f"{value:.1f}" for value in values) for values in (published, ours)]
        table.row(f"S{scenario} {name}", *rows, near)


def tried_2019(replications: int) -> None:
    """Readings and settings that were tried for what is missed above."""
    print("\nRun times and loads tried for 2019 (S1; ratios of ART to AFCFS and of migrating to plain; LoC in %)\n")
    print("| run times and load | LXF/AFCFS | LJFS/AFCFS | AFCFSm | LXFm | LJFSm | LoC of all six |")
    print("|---|---|---|---|---|---|---|")
    print("| paper | 1.63 | 2.51 | .22 | .55 | .72 | 50, 50, 50, 3.5, 16.6, 9.6 |")
    for power in (0.0, 0.5, 1.0):
        for spread in (0.1, 0.3, 1.0):
            for load in (0.6, 0.9, 2.0):
                preset = presets.Pinto2019(power=power, spread=spread, load=load)
                rows = [
                    replicate(replace(preset, scheduler=name), replications=replications)["all"]
                    for name in (*PLAIN, *MIGRATING)
                ]
                a, x, j, am, xm, jm = (row["mean_response"].mean for row in rows)
                loss = ", ".join(f"{100 * row['loss_of_capacity'].mean:.0f}" for row in rows)
                ratios = " | ".join(f"{value:.2f}" for value in (x / a, j / a, am / a, xm / x, jm / j))
                print(f"| power {power:g}, spread {spread:g}, load {load:g} | {ratios} | {loss} |", flush=True)


def means_2019(preset: presets.Pinto2019, replications: int, **rules: str) -> tuple[float, float]:
    """Return response time and loss of capacity under other rules than the preset's."""
    runs = [
        simulate(preset.workload(k), replace(preset.system(k), **rules), seed=k).metrics() for k in range(replications)
    ]
    return tuple(float(np.mean([getattr(run, name) for run in runs])) for name in ("mean_response", "loss_of_capacity"))


def claims_2019(replications: int) -> None:
    """The start rules and bursts of arrivals: what they make of JSEQ and OLB without migration, and of migration."""
    print("\nStart rules and arrivals tried for 2019\n")
    print("| claim, arrivals | ART JSEQ/OLB: AFCFS, LXF, LJFS | LoC under OLB | under JSEQ | LoC of m under OLB |")
    print("|---|---|---|---|---|")
    print("| paper | .78, .81, .92 | 50, 50, 50 | 50, 50, 50 | 3.5, 16.6, 9.6 |")
    log = optional_log("SDSC-SP2-1998-first4961.swf.gz")
    for arrivals in (None,) if log is None else (None, read(log).submit):
        for claim in ("hold", "skip"):
            found = {
                (scenario, name): means_2019(
                    presets.Pinto2019(scheduler=name, scenario=scenario, arrivals=arrivals), replications, claim=claim
                )
                for scenario in (1, 2)
                for name in (*PLAIN, *MIGRATING)
            }
            ratios = ", ".join(f"{found[2, name][0] / found[1, name][0]:.2f}" for name in PLAIN)
            losses = " | ".join(
                ", ".join(f"{100 * found[scenario, name][1]:.1f}" for name in names)
                for scenario, names in ((1, PLAIN), (2, PLAIN), (1, MIGRATING))
            )
            print(f"| {claim}, {'uniform' if arrivals is None else 'SDSC-SP2'} | {ratios} | {losses} |", flush=True)


def ascending_2019(replications: int) -> None:
    """LXF as Algorithm 7's comparison has it: the smallest expansion factor first."""
    paper = {key: (ART[key[0]][key[1]], LOC[key[0]][key[1]] / 100) for key in KEYS_LXF}
    table = CHECKS.table(
        f"Pinto et al. 2019: LXF in descending order, as the text has it, and ascending (sxf), as Algorithm 7's `<` "
        f"does: {replications} runs; S1, S2",
        SOURCE_2019,
    )
    for discipline, order in (("lxf", "descending"), ("sxf", "ascending")):
        found = {
            (scenario, name): means_2019(
                presets.Pinto2019(scheduler=name, scenario=scenario),
                replications,
                discipline=discipline if name.startswith("LXF") else "afcfs",
            )
            for scenario, name in KEYS_LXF
        }
        for name, other in (("LXF", "AFCFS"), ("LXFm", "LXF"), ("LXFm", "AFCFSm")):
            table.row(f"{order}: ART {name}/{other}", *(ratios_of(values, name, other) for values in (paper, found)))
        for name in ("LXF", "LXFm"):
            table.row(f"{order}: LoC of {name} in %", *(losses_of(values, name) for values in (paper, found)))


def ratios_of(found: dict[tuple[int, str], tuple[float, float]], name: str, other: str) -> str:
    """Return how much longer jobs take under one rule than under another, in both scenarios."""
    return ", ".join(f"{found[scenario, name][0] / found[scenario, other][0]:.2f}" for scenario in (1, 2))


def losses_of(found: dict[tuple[int, str], tuple[float, float]], name: str) -> str:
    """Return a rule's loss of capacity in percent, in both scenarios."""
    return ", ".join(f"{100 * found[scenario, name][1]:.1f}" for scenario in (1, 2))


def departures(replications: int) -> None:
    """Count where two rules of the papers would matter that the presets do not have."""
    once = shorter = sequential = 0
    for scenario in (1, 2):
        for name in (*PLAIN, *MIGRATING):
            for seed in range(replications):
                run = presets.Pinto2019(scheduler=name, scenario=scenario).run(seed)
                submit, runtime, start = run.workload.submit, run.workload.runtime, run.start
                for job in np.flatnonzero(run.local):
                    waiting = (submit < submit[job]) & (start > submit[job])
                    sequential += 1
                    once += start[job] == submit[job]
                    shorter += start[job] == submit[job] and runtime[waiting].min(initial=np.inf) < runtime[job]
    print(
        f"\n2019: of {sequential} sequential jobs {once} found an idle processor; {shorter} of these were not the "
        "shortest of all that waited, and would have had to queue."
    )
    most = 0
    for name, scenario in KEYS_2014:
        for seed in range(replications):
            run = presets.Pinto2014(scheduler=name, scenario=scenario).run(seed)
            changes = np.concatenate((run.workload.submit[run.local], run.finish[run.local]))
            steps = np.repeat((1, -1), int(run.local.sum()))
            most = max(most, int(np.cumsum(steps[np.lexsort((-steps, changes))]).max()))
    print(f"2014: at most {most} sequential jobs are in the system at once; the paper's limit is 64.")


def tried_2014(replications: int) -> None:
    """Settings that were tried for the loss of capacity of 2014."""
    print("\nSettings tried for 2014 (LoC in %: AFCFS, LGFS without migration; AFCFS, LGFS with it)\n")
    print("| claim, spread, load | LoC |\n|---|---|\n| paper | 30.4, 31.1; 7.08, 24.3 |")
    for claim in ("hold", "skip"):
        for spread in (0.3, 1.0):
            for load in (0.6, 0.8, 1.0):
                loss = []
                for scenario in (1, 2):
                    for name in ("AFCFS", "LGFS"):
                        preset = presets.Pinto2014(scheduler=name, scenario=scenario, spread=spread, load=load)
                        runs = [
                            simulate(preset.workload(k), replace(preset.system(k), claim=claim), seed=k)
                            for k in range(replications)
                        ]
                        loss.append(f"{100 * np.mean([run.metrics().loss_of_capacity for run in runs]):.1f}")
                row = f"{loss[0]}, {loss[1]}; {loss[2]}, {loss[3]}"
                print(f"| {claim}, {spread:g}, {load:g} | {row} |", flush=True)


def middle_utilisation(preset: presets.Pinto2014, replications: int) -> float:
    """Return the mean share of working processors over the events between figure 3's limits."""
    shares = []
    for seed in range(replications):
        schedule = preset.run(seed)
        begin, end = (int(limit * schedule.events / 3000) for limit in MIDDLE_2014)
        shares.append(1.0 - schedule.idle[begin:end].mean() / schedule.system.total)
    return 100.0 * float(np.mean(shares))


def of_2014(base: presets.Pinto2014, replications: int) -> None:
    answers = {
        (name, scenario): replicate(replace(base, scheduler=name, scenario=scenario), replications=replications)["all"]
        for name, scenario in KEYS_2014
    }
    table = CHECKS.table(
        f"Pinto et al. 2014, preempts={base.preempts}: {replications} runs, 95 % intervals; S1 plain, S2 with "
        "migration, S3 with aLD too",
        SOURCE_2014,
    )
    loss = {key: 100.0 * answer["loss_of_capacity"].mean for key, answer in answers.items()}
    art = {key: answer["mean_response"].mean for key, answer in answers.items()}
    for key, paper in LOC_2014.items():
        ours = answers[key]["loss_of_capacity"]
        what = f"S{key[1]} {key[0]}: LoC in % (± 5)"
        table.row(what, f"{paper:g}", shown(ours, 100.0, 1), abs(100 * ours.mean - paper) <= 5.0)
    for key in KEYS_2014[4:]:
        table.row(f"S3 {key[0]}: LoC in %", "best of the three", shown(answers[key]["loss_of_capacity"], 100.0, 1))
    for key, paper in UTILISATION_2014.items():
        preset = replace(base, scheduler=key[0], scenario=key[1])
        ours = middle_utilisation(preset, replications)
        table.row(
            f"S{key[1]} {key[0]}: utilisation in mid-run, % (± 10)",
            f"{paper:g}",
            f"{ours:.1f}",
            abs(ours - paper) <= 10,
        )
    for scenario in (1, 2, 3):
        values = [art[name, scenario] for name in ("AFCFS", "LGFS")]
        row = f"{values[0]:,.0f} < {values[1]:,.0f}"
        table.row(f"S{scenario}: ART AFCFS < LGFS", "yes", row, values[0] < values[1])
        values = [loss[name, scenario] for name in ("AFCFS", "LGFS")]
        table.row(f"S{scenario}: LoC AFCFS < LGFS", "yes", f"{values[0]:.1f} < {values[1]:.1f}", values[0] < values[1])
    for name in ("AFCFS", "LGFS"):
        row = " > ".join(f"{art[name, scenario]:,.0f}" for scenario in (1, 2))
        table.row(f"{name}: ART S1 > S2", "yes", row, art[name, 1] > art[name, 2])
    stops = ", ".join(f"S{key[1]} {key[0]} {shown(answers[key]['preemptions'], 1.0, 1)}" for key in KEYS_2014)
    table.row("gangs stopped in a run", "", stops)


def ald_2014(base: presets.Pinto2014, replications: int) -> None:
    """S3 against S2, run by run: what aLD in place of JSQ does."""
    table = CHECKS.table(
        f"Pinto et al. 2014, preempts={base.preempts}: S3 less S2 in {replications} runs, in % of S2 (LoC: points); "
        "reached: the 95 % interval lies below 0",
        SOURCE_2014,
    )
    for name in ("AFCFS", "LGFS"):
        jsq, ald = (replace(base, scheduler=name, scenario=scenario) for scenario in (2, 3))
        before = replicate(jsq, replications=replications)["all"]
        change = replicate(ald, against=jsq, replications=replications)["all"]
        for metric, words, unit in (
            ("mean_response", "aLD shortens ART", 100.0 / before["mean_response"].mean),
            ("loss_of_capacity", "aLD lessens LoC", 100.0),
            ("migrations", "aLD lessens migrations", 100.0 / before["migrations"].mean),
        ):
            difference = change[metric]
            row = f"{unit * difference.mean:+.2f} ± {unit * difference.half_width:.2f}"
            table.row(f"{name}: {words}", "yes", row, difference.high < 0)


if __name__ == "__main__":
    smoke = arguments(__doc__ or "").smoke
    runs = 2 if smoke else 10
    for preempts in ("system", "site"):  # the text's, and what it does not say
        of_2014(presets.Pinto2014(preempts=preempts), runs)
        ald_2014(presets.Pinto2014(preempts=preempts), 2 if smoke else 100)
    if not smoke:
        of_2019(presets.Pinto2019(), runs)
        by_jobs(5)
        ascending_2019(5)
        CHECKS.save()
        departures(10)
        claims_2019(5)
        tried_2014(5)
        tried_2019(3)
