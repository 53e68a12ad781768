"""Executors for `executor=`: worker processes that are replaced when one dies, and executors by name."""

from fedsched.core.executors import Processes, executor_named

__all__ = ["Processes", "executor_named"]
