"""What-if studies: simulate scenarios on one log or dump, and compare each with the present state, also by user."""

from fedsched.study.changes import change_of as change_of
from fedsched.study.changes import scenarios_of as scenarios_of
from fedsched.study.changes import sweep_of as sweep_of
from fedsched.study.entry_point import study as study
from fedsched.study.record import Study as Study
from fedsched.study.scenario import Log as Log
from fedsched.study.scenario import Machine as Machine
from fedsched.study.scenario import Made as Made
from fedsched.study.scenario import PolicyChoice as PolicyChoice
from fedsched.study.scenario import Scenario as Scenario
from fedsched.study.study_case import Case as Case
