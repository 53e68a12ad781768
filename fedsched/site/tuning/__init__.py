"""Slurm's parameters searched on a site's own log: a front of slurm.confs, each a diff of its own."""

from fedsched.site.tuning.genes import GENES, Gene
from fedsched.site.tuning.record import Tuned, Tuning
from fedsched.site.tuning.verb import tune

__all__ = ["GENES", "Gene", "Tuned", "Tuning", "tune"]
