"""Policies: rules by name, list heuristics, and the Protocols of any other."""

from fedsched.policies.named import DISPATCH as DISPATCH
from fedsched.policies.named import ORDERS as ORDERS
from fedsched.policies.named import PLACEMENTS as PLACEMENTS
from fedsched.policies.named import POLICIES as POLICIES
from fedsched.policies.named import ListHeuristic as ListHeuristic
from fedsched.policies.named import OnlinePolicy as OnlinePolicy
from fedsched.policies.named import Policy as Policy
from fedsched.policies.named import Rules as Rules
from fedsched.policies.named import policy_named as policy_named
