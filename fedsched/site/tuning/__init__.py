"""Searches better parameters of Slurm by simulating a site's own log.

The result is a Pareto front of slurm.confs, each as a diff to the site's own.
"""

from fedsched.site.tuning.genes import GENES, Gene
from fedsched.site.tuning.record import Tuned, Tuning
from fedsched.site.tuning.verb import tune

__all__ = ["GENES", "Gene", "Tuned", "Tuning", "tune"]
