"""Count how many functions commands compile, for the line of progress: writes fedsched/data/compiled.json."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "fedsched" / "data" / "compiled.json"
FIRST = "simulate"  # what most users have run before anything else
CALLS = {
    FIRST: "simulate sample --federation example",
    "simulate calendar": "simulate sample --federation example --calendar closed.csv",
    "simulate sharing": "simulate sample --head 200 --federation shared.conf --policy easy --sharing first",
    "simulate slurm": "simulate sample --head 200 --policy slurm --conf slurm.conf",
    "demo": "demo",
    "optimize": "optimize sample --head 60 --federation example --evaluations 500",
    "compare": "compare sample --head 40 --nodes 128 --method memetic --method moga --seeds 1 --evaluations 300",
    "plan": "plan --recorded sample",
    "tune slurm": "tune sample --head 60 --conf slurm.conf --simulations 10",
    "gang": "gang pinto-2019-s1",
    "market": "market",
}
FILES = {
    "closed.csv": "cluster,begin,end,nodes,kind\nnorth,7200,40000,all,maintenance\n",
    "slurm.conf": "NodeName=n[1-128]\nPartitionName=batch Nodes=ALL Default=YES\n",
    "shared.conf": "NodeName=n[1-128] CPUs=4 RealMemory=4000\nPartitionName=batch Nodes=ALL Default=YES\n",
}
NO_FUNCTIONS = ("unbox.", "noted.", "self-test.", "fedsched.core.jit.")  # what else is kept


def main() -> int:
    """Write the table."""
    table, before = {}, set[str]()
    for call, line in CALLS.items():
        compiled = compiled_by(line)
        before = before or compiled
        table[call] = {"alone": len(compiled), "after": len(compiled - before)}
        print(call, table[call], flush=True)
    from fedsched.cli.data.warmup_calls import KINDS

    for kind in KINDS:
        compiled = compiled_by(f"warmup {kind}")
        table[f"warmup {kind}"] = {"alone": len(compiled), "after": len(compiled - before)}
        before |= compiled
        print(kind, table[f"warmup {kind}"], flush=True)
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(counts)}" for name, counts in table.items())
    TABLE.write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")
    return 0


def compiled_by(line: str) -> set[str]:
    """Return the files that a command keeps, one for each function that it compiles, where nothing was compiled."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        environment = os.environ | {"FEDSCHED_CACHE": f"{folder}/cache"}
        command = [sys.executable, "-m", "fedsched.cli", *line.split()]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"FAILED: {line}\n{done.stderr[-2000:]}")
        kept = {path.name for path in Path(folder, "cache").rglob("[!.]*") if path.is_file()}
    return {name for name in kept if not name.startswith(NO_FUNCTIONS)}


if __name__ == "__main__":
    sys.exit(main())
