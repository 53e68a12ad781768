"""Scheduling policies: rules by name, list heuristics, Slurm's scheduler, and Protocols for user-defined policies."""

from typing import TYPE_CHECKING

from fedsched.core.lazy import lazily
from fedsched.model.power.switching import Planned as Planned
from fedsched.model.power.switching import Reserve as Reserve
from fedsched.model.power.switching import Timeout as Timeout
from fedsched.policies.named import DISPATCH as DISPATCH
from fedsched.policies.named import ORDERS as ORDERS
from fedsched.policies.named import PLACEMENTS as PLACEMENTS
from fedsched.policies.named import POLICIES as POLICIES
from fedsched.policies.named import ListHeuristic as ListHeuristic
from fedsched.policies.named import OnlinePolicy as OnlinePolicy
from fedsched.policies.named import Policy as Policy
from fedsched.policies.named import Rules as Rules
from fedsched.policies.named import check_policy_name as check_policy_name
from fedsched.policies.named import is_policy as is_policy
from fedsched.policies.named import own_policy as own_policy
from fedsched.policies.named import policy_named as policy_named
from fedsched.policies.named import policy_or_own as policy_or_own

if TYPE_CHECKING:
    from fedsched.slurm.conf.policy import Slurm as Slurm

# Imported late: it reads files, which other policies do not.
__getattr__, __dir__ = lazily(__name__, {"Slurm": "slurm.conf.policy"})
