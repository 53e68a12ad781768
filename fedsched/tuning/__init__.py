"""Slurm's parameters searched on a site's own log: a front of slurm.confs, each a diff of its own."""

from fedsched.tuning.genes import GENES, Gene
from fedsched.tuning.record import Tuned, Tuning
from fedsched.tuning.verb import tune

__all__ = ["GENES", "Gene", "Tuned", "Tuning", "tune"]
