"""Slurm's priorities in plain Python, as its documentation has them: slow, and sharing nothing with the library's.

Accounts are objects that know whom they hold; everything is looked up anew at each tick.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

HIGHEST = 2**32 - 1


@dataclass(eq=False)
class Node:
    """An account, or a user in one."""

    name: str
    is_user: bool
    shares: int | None  # None: those of the account above
    parent: Node | None = None
    members: list[Node] = field(default_factory=list)
    usage: float = 0.0
    factor: float = 0.0
    seen: float | None = None  # use, in the classic way, as it was when it was last looked at

    def holder(self) -> Node:
        """Return the account that it is compared in."""
        assert self.parent is not None
        account = self.parent
        while account.shares is None and account.parent is not None:
            account = account.parent
        return account

    def above(self) -> list[Node]:
        """Return it and all accounts that it is in."""
        return [self, *(self.parent.above() if self.parent else [])]


@dataclass
class Waiting:
    """A job."""

    number: int
    node: Node | None
    assoc: float  # its factors that no clock changes, weighted: this one, and the others in Slurm's order
    fixed: tuple[float, ...]
    cost: float  # of a second
    limit: float
    accrue: float = math.nan
    start: float = math.nan
    priority: float = 0.0


@dataclass
class Machine:
    """Accounts and jobs, and what changes their priorities."""

    root: Node
    everybody: list[Node]
    jobs: list[Waiting]
    w_age: float
    w_fairshare: float
    max_age: float
    half_life: float
    damping: float
    fair_tree: bool
    only_up: bool
    charges_ends: bool
    last: float | None = None
    queue: set[int] = field(default_factory=set)

    def compared_in(self, account: Node) -> list[Node]:
        """Return who is compared in an account."""
        return [one for one in self.everybody if one.parent is not None and one.holder() is account]

    def level_shares(self, node: Node) -> int:
        """Return the shares of all that one is compared with."""
        return sum(one.shares or 0 for one in self.compared_in(node.holder()))

    def submit(self, number: int, now: float, accrue: float) -> None:
        """Let a job wait."""
        job = self.jobs[number]
        self.queue.add(number)
        job.accrue, job.priority = accrue, 0.0
        self.evaluate(job, now)

    def tick(self, now: float, running: list[int]) -> None:
        """Let use decay and grow; then everybody who waits has a new priority."""
        decay = 1 - 0.693 / self.half_life if self.half_life > 0 else 1.0
        if not self.fair_tree:
            self.look_at_accounts()
        if self.last is not None and now > self.last:
            for one in self.everybody:
                one.usage *= decay ** (now - self.last)
        if self.fair_tree:
            for number in sorted(running):
                self.charge(self.jobs[number], now)
            self.rank()
            for number in sorted(self.queue):
                self.evaluate(self.jobs[number], now)
        elif self.last is not None:
            for number in sorted({*running, *self.queue}):
                if number in running:
                    self.charge(self.jobs[number], now)
                else:
                    self.evaluate(self.jobs[number], now)
        self.last = now

    def charge(self, job: Waiting, now: float) -> None:
        """Add what a job used since the last tick to its user and all accounts above."""
        if job.node is None:
            return
        since = job.start if self.last is None else max(job.start, self.last)
        seconds = min(now, job.start + job.limit) - since
        if seconds > 0:
            decay = 1 - 0.693 / self.half_life if self.half_life > 0 else 1.0
            for one in job.node.above():
                one.usage += decay**seconds * seconds * job.cost

    def end(self, job: Waiting, now: float) -> None:
        """Let a job end."""
        if self.charges_ends:
            self.charge(job, now)

    def evaluate(self, job: Waiting, now: float) -> None:
        """Compute a job's priority."""
        age = min(1.0, max(0.0, now - job.accrue) / self.max_age) * self.w_age if job.accrue < now else 0.0
        share = 0.0
        if job.node is not None and self.w_fairshare:
            share = (job.node.factor if self.fair_tree else self.classic(job.node)) * self.w_fairshare
        found = min(HIGHEST, max(1, math.floor(sum(job.fixed, age + job.assoc + share))))
        job.priority = max(found, job.priority) if self.only_up else found

    # The fair tree.

    def level_fs(self, node: Node) -> float | None:
        """Return shares over use; None for an account that is compared with nobody."""
        if node.shares is None:
            return math.inf if node.is_user else None
        if node.shares == 0 or self.level_shares(node) == 0:
            return 0.0
        all_used = node.holder().usage
        used = node.usage / all_used if all_used else 0.0
        return (node.shares / self.level_shares(node)) / used if used else math.inf

    def rank(self) -> None:
        """Rank all users, the one who is first highest."""
        users = [one for one in self.everybody if one.is_user]
        order: list[list[Node]] = []  # users that tie
        self.walk(self.compared_in(self.root), order, joined=False)
        place = len(users)
        for tied in order:
            for one in tied:
                one.factor = place / len(users)
            place -= len(tied)

    def walk(self, level: list[Node], order: list[list[Node]], *, joined: bool) -> None:
        """Append the users of a level and below it; the first of them ties with the last one so far where joined."""
        by_fs: dict[float | None, list[Node]] = {}
        for one in level:
            by_fs.setdefault(self.level_fs(one), []).append(one)
        # An account without shares of its own holds nobody here, but parts a tie with the level above.
        infinite, alone = by_fs.pop(math.inf, []), by_fs.pop(None, [])
        groups = [infinite] if infinite else []
        groups += [[]] if alone and not infinite else []
        groups += [by_fs[fs] for fs in sorted(by_fs, reverse=True) if fs is not None]
        for k, group in enumerate(groups):
            ties = joined and k == 0
            users = [one for one in group if one.is_user]
            if users:
                if ties:
                    order[-1].extend(users)
                else:
                    order.append(users)
            accounts = [one for one in group if not one.is_user]
            if accounts:
                inner = [one for account in accounts for one in self.compared_in(account)]
                self.walk(inner, order, joined=ties or bool(users))

    # The classic way.

    def own_part(self, node: Node) -> float:
        """Return its use as a part of all."""
        return min(1.0, node.usage / self.root.usage) if self.root.usage else 0.0

    def effective(self, node: Node) -> float:
        """Return its use, drawn towards that of its account."""
        own, account = self.own_part(node), node.holder()
        if account is self.root or node.shares is None:
            return own
        assert account.seen is not None
        level = self.level_shares(node)
        return own + (account.seen - own) * (node.shares / level) if level else account.seen

    def look_at_accounts(self) -> None:
        """Look at what accounts use; users' use is looked at when it is asked for."""
        for one in self.everybody:
            one.seen = None if one.is_user or one is self.root else self.effective(one)
        self.root.seen = 1.0

    def part(self, node: Node) -> float:
        """Return its part of the whole machine."""
        found = 1.0
        for one in reversed(node.above()[:-1]):
            if one.shares is not None:
                level = self.level_shares(one)
                found *= one.shares / level if level else 0.0
        return found

    def classic(self, node: Node) -> float:
        """Return 2 to the power of minus use over shares."""
        if node.shares is None:
            node = node.holder()
        if node.seen is None:
            node.seen = self.effective(node)
        if self.part(node) <= 0:
            return 0.0
        return 2.0 ** -((node.seen / self.part(node)) / self.damping)
