"""The checks of a workload's constructor; each raises an error that names the first job that breaks a rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.values import LEAST_SECONDS, MOST_BYTES, MOST_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from fedsched.model.jobs.workload import Workload

# '|' separates names in CSV files, and a site's name must fit on one header line of a log.
_FORBIDDEN_IN_NAMES = ("|", "\n", "\r")


def table_column(
    field: str, values: ArrayLike, jobs: int, kind: type[np.generic], ids: NDArray[np.int64] | None = None
) -> NDArray[Any]:
    """Return the values as a read-only array of type `kind`, one per job; a single value is repeated.

    Raise if they are no numbers, are too few or too many, or must be whole and are not. Errors name `field`, and the
    job if `ids` are given.
    """
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "biuf":
            given = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"Workload: {field} must hold numbers: {error}.") from None
    if given.ndim == 0:
        given = np.full(jobs, given)
    if given.shape != (jobs,):
        raise ValueError(f"Workload: {field} has shape {given.shape}, but submit gives {jobs} jobs.")
    if kind is np.int64 and given.dtype.kind in "fu":
        too_large = np.abs(given) >= 2**63 if given.dtype.kind == "u" else np.abs(given) >= 2.0**63
        for broken, rule in (
            (~(np.isfinite(given) & (given == np.floor(given))), "must be a whole number"),
            (too_large, "must be a whole number below 2**63"),
        ):
            if broken.any():
                raise _breach(field, values, broken, rule, ids)
    return _frozen(given, kind)


def site_table(allowed: ArrayLike, jobs: int, sites: int) -> NDArray[np.bool_]:
    """Return `allowed` as a read-only table of booleans, jobs × sites; raise if its type or its shape is another."""
    table = np.asarray(allowed)
    if table.dtype != np.bool_:
        raise TypeError(f"Workload: allowed must hold booleans, not {table.dtype}.")
    if table.shape != (jobs, sites):
        raise ValueError(f"Workload: allowed has shape {table.shape}, but there are {jobs} jobs and {sites} sites.")
    return _frozen(table, np.bool_)


def check_sites(sites: Iterable[str]) -> tuple[str, ...]:
    """Return the sites' names as a tuple; raise if one is empty, repeated or cannot be written to a file."""
    if isinstance(sites, str):
        raise TypeError(f"Workload: sites={sites!r} is one text; give a sequence of names.")
    return check_labels("Workload: site", sites)


def check_labels(what: str, labels: Iterable[str]) -> tuple[str, ...]:
    """Return names as a tuple; raise if one is empty, repeated or cannot be written to a file; `what` is for errors."""
    names = tuple(labels)
    for name in names:
        if not isinstance(name, str) or name != name.strip() or not name:
            raise ValueError(f"{what} {name!r} must be a non-empty text without blanks at its ends.")
        if any(character in name for character in _FORBIDDEN_IN_NAMES):
            raise ValueError(f"{what} {name!r} must not contain '|' or line breaks.")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        noun, _, kind = what.rpartition(" ")
        raise ValueError(f"{noun} two {kind}s are named {twice!r}; names must differ.")
    return names


def check_jobs(workload: Workload) -> None:
    """Raise an error for the first rule of the model that a job breaks."""
    w = workload
    lasts = f"must lie between {LEAST_SECONDS:g} and {MOST_SECONDS:g} seconds"
    rules = (
        ("submit", np.isfinite(w.submit) & (w.submit >= 0), "must be finite and at least 0 seconds"),
        ("tasks", w.tasks >= 1, "must be at least 1"),
        ("runtime", np.isfinite(w.runtime) & (w.runtime > 0), "must be finite and above 0 seconds"),
        ("estimate", np.isfinite(w.estimate) & (w.estimate > 0), "must be finite and above 0 seconds"),
        ("compute_fraction", (w.compute_fraction >= 0) & (w.compute_fraction <= 1), "must lie between 0 and 1"),
        ("task_bandwidth", np.isfinite(w.task_bandwidth) & (w.task_bandwidth >= 0), "must be finite, at least 0"),
        ("submit", w.submit <= MOST_SECONDS, f"must be at most {MOST_SECONDS:g} seconds"),
        ("runtime", (w.runtime >= LEAST_SECONDS) & (w.runtime <= MOST_SECONDS), lasts),
        ("estimate", (w.estimate >= LEAST_SECONDS) & (w.estimate <= MOST_SECONDS), lasts),
        ("task_bandwidth", w.task_bandwidth <= MOST_BYTES, f"must be at most {MOST_BYTES:g} bytes a second"),
        ("origin", (w.origin >= -1) & (w.origin < len(w.sites)), f"must be -1 or an index of the {len(w.sites)} sites"),
    )
    for field, holds, rule in rules:
        if not holds.all():
            raise _breach(field, getattr(w, field), ~holds, rule, w.id)
    if w.allowed is not None and not w.allowed.any(axis=1).all():
        job = int(w.id[np.argmin(w.allowed.any(axis=1))])
        raise ValueError(f"Job {job}: allowed is false for all {len(w.sites)} sites; it must be true for one.")
    if w.cancel_at is not None and (early := w.cancel_at.times < w.submit).any():
        raise _breach("cancel_at", w.cancel_at.cancel_at, early, "must not be before its submit", w.id)
    _check_ids(w.id)
    if w.log is not None and len(w.log) != len(w):
        raise ValueError(f"Workload: log has {len(w.log)} rows, but there are {len(w)} jobs.")
    if w.nodes < 0:
        raise ValueError(f"Workload: nodes={w.nodes} must be at least 0 (0 = unknown).")


def _check_ids(ids: NDArray[np.int64]) -> None:
    if len(ids) < 2 or (np.diff(ids) > 0).all():
        return
    order = np.argsort(ids, kind="stable")
    same = np.flatnonzero(np.diff(ids[order]) == 0)
    if len(same):
        first, second = order[same[0]], order[same[0] + 1]
        raise ValueError(
            f"Job {ids[first]}: rows {first} and {second} have the same id; ids must differ (see renumbered())."
        )


def _breach(
    field: str, values: ArrayLike, broken: NDArray[np.bool_], rule: str, ids: NDArray[np.int64] | None
) -> ValueError:
    row = int(np.argmax(broken))
    where = f"Row {row}" if ids is None else f"Job {ids[row]}"
    given = np.asarray(values, dtype=object)  # as given: an integer of any size keeps its digits
    return ValueError(f"{where}: {field}={given.item() if given.ndim == 0 else given[row]} {rule}.")


def _frozen(values: NDArray[Any], kind: type[np.generic]) -> NDArray[Any]:
    """Return the values as a read-only contiguous array of type `kind`; copy them unless they are one already."""
    final = values.dtype == kind and values.flags.c_contiguous and not values.flags.writeable and values.base is None
    if final:
        return values
    kept = np.array(values, dtype=kind, order="C")
    kept.flags.writeable = False
    return kept


def row_numbers(verb: str, rows: ArrayLike) -> NDArray[np.int64]:
    """Return the rows as an integer array; raise if they are not whole numbers; `verb` names the caller in errors."""
    index = np.asarray(rows)
    if index.size and index.dtype.kind not in "iu":
        raise TypeError(f"{verb}: rows of type {index.dtype} must be row numbers; filter() takes booleans.")
    return index.astype(np.int64)


def row_mask(verb: str, mask: ArrayLike, jobs: int) -> NDArray[np.bool_]:
    """Return the mask as an array; raise unless it has one boolean per job; `verb` names the caller in errors."""
    kept = np.asarray(mask)
    if kept.dtype != np.bool_ or kept.shape != (jobs,):
        raise ValueError(
            f"{verb}: the mask has type {kept.dtype} and shape {kept.shape}; it must hold {jobs} booleans."
        )
    return kept
