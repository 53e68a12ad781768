"""Makes the certificates of the field's instances: for each objective the best bound that the library can have proven.

python benchmarks/certify.py [NAME …] [--missing] [--objective makespan]

Each is proven by fedsched/bench/proof.py, which knows nothing of how it was found. One that proves no more than
what is kept in fedsched/data/bench/certificates is left out.
"""

from __future__ import annotations

import argparse
import time

from fedsched.bench import load, names
from fedsched.bench.certificates import FOLDER, PROVABLE, certificate, certificate_path, certified_bound
from fedsched.bench.plans import known_values
from fedsched.bench.proof import proven


def main() -> None:
    """Look for certificates, and keep those that prove more."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=names())
    parser.add_argument("--missing", action="store_true", help="only objectives without a certificate")
    parser.add_argument("--objective", action="append", choices=PROVABLE, help="only this; may be repeated")
    asked = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in asked.names:
        document = load(name)
        wanted = dict.fromkeys(one for ask in document.asks for one in ask.split("+") if one in PROVABLE)
        for objective in wanted:
            path = certificate_path(name, objective)
            if (asked.missing and path.is_file()) or (asked.objective and objective not in asked.objective):
                continue
            began = time.process_time()
            text = certificate(document, objective)
            found = time.process_time()
            bound = float(proven(document.text, text))
            took = time.process_time() - found
            before = certified_bound(name, objective)
            if before is None or bound > before:
                path.write_text(text, encoding="ascii")
            known = known_values(document, objective) if objective in document.asks else None
            gap = "" if known is None or not bound else f", best known {known[0, 0] / bound - 1:.3%} above"
            print(
                f"{name}/{objective}: {bound:.10g}{gap} (found in {found - began:.1f} s, proven in {took:.1f} s)",
                flush=True,
            )


if __name__ == "__main__":
    main()
