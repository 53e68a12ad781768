"""A search of Slurm's parameters on a site's own log: a Pareto front of slurm.confs, each as a diff to the site's."""

from fedsched.site.tuning.genes import GENES, Gene
from fedsched.site.tuning.record import Tuned, Tuning
from fedsched.site.tuning.verb import tune

__all__ = ["GENES", "Gene", "Tuned", "Tuning", "tune"]
