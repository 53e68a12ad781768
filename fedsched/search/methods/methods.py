"""The registry of search methods, with names, default objectives and makers, and the interface of a method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from fedsched.core.errors import PluginError, shortened, unknown_name
from fedsched.core.plugins import METHODS as GROUP
from fedsched.core.plugins import broken, noted, offered, plugin, refuse, release_of
from fedsched.io.trees import KINDS, Saved, UnfitError, pack, unpack, unplain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.io.trees import Plain
    from fedsched.search.run.run import Run


@runtime_checkable
class Method(Protocol):
    """The interface of a search method: it advances in steps, each of which gets the run that evaluates plans.

    Its state is plain data: arrays, numbers, words.

    Examples
    --------
    >>> from fedsched.search import Method
    >>> class RandomPlans:
    ...     def step(self, run):
    ...         run.evaluate(run.random_rows(10))
    ...         return True
    ...     def state(self):
    ...         return {}
    ...     def restore(self, saved, run):
    ...         pass
    >>> isinstance(RandomPlans(), Method)
    True
    """

    def step(self, run: Run) -> bool:
        """Do one part of the search, such as a generation, and return whether there is more to do."""
        ...

    def state(self) -> dict[str, Plain]:
        """Return the state that another process needs to continue."""
        ...

    def restore(self, saved: Saved, run: Run) -> None:
        """Continue from a saved state; raise an UnfitError if it does not fit this run's problem.

        Parameters
        ----------
        saved
            What `state` returned.
        run
            The run that goes on.
        """
        ...


@runtime_checkable
class Welcoming(Protocol):
    """The interface of a search method that accepts plans from another island.

    Examples
    --------
    >>> from fedsched.search import Welcoming
    >>> class Keeper:
    ...     def welcome(self, rows, values):
    ...         self.kept = list(rows)
    >>> isinstance(Keeper(), Welcoming)
    True
    """

    def welcome(self, rows: Sequence[Ints], values: Floats) -> None:
        """Accept these plans into the search.

        Parameters
        ----------
        rows, values
            The plans, and their values.
        """
        ...


class Offered:
    """A method of another package; what it does wrong is told with its name and the package's."""

    def __init__(self, method: Method, offer: str) -> None:
        if not callable(getattr(method, "step", None)):
            raise broken(offer, f"is made as {shortened(repr(method))}, which has no step(run)")
        self._method, self._offer = method, offer
        if isinstance(method, Welcoming):
            self.welcome = method.welcome

    def step(self, run: Run) -> bool:
        """Do one step, and return whether there is more to do."""
        with noted("step()", self._offer):
            more = self._method.step(run)
        if more is None:
            raise broken(self._offer, "returns None from step(), not True if there is more to do, else False")
        return bool(more)

    def state(self) -> dict[str, Plain]:
        """Return the method's state; raise a PluginError if it is not plain data."""
        if not hasattr(self._method, "state"):
            raise broken(self._offer, "has no state(), which checkpoints and islands need")
        with noted("state()", self._offer):
            state = self._method.state()
        wrong = unplain(state, "state()") if isinstance(state, dict) else f"state() of type {type(state).__name__}"
        if wrong:
            plain = f"named numbers, texts, None, lists and dicts of Python, and arrays of {', '.join(KINDS)}"
            raise broken(self._offer, f"gives {wrong} that no file holds: a state is plain data ({plain})")
        return state

    def restore(self, saved: Saved, run: Run) -> None:
        """Continue from a saved state; raise an UnfitError that names the method if it does not take the state."""
        if not hasattr(self._method, "restore"):
            raise broken(self._offer, "has no restore(), which checkpoints and islands need")
        try:
            with noted("restore()", self._offer):
                self._method.restore(saved, run)
        except UnfitError as error:
            raise UnfitError(f"restore() of {self._offer} says: {error}") from error

    def check_state(self, info: MethodInfo, run: Run) -> None:
        """Raise a PluginError unless a new method takes the present state, as it must after a checkpoint."""
        saved = Saved(unpack(pack(self.state())))
        try:
            info.make(run).restore(saved, run)
        except PluginError:
            raise
        except Exception as error:  # whatever the other package does
            first = error.__cause__ if isinstance(error, UnfitError) else error
            why = f"cannot restore what its own state() gave ({type(first).__name__}: {shortened(str(first), 200)})"
            raise broken(self._offer, why) from error


@dataclass(frozen=True, slots=True)
class MethodInfo:
    """The registry's entry of a search method.

    Parameters
    ----------
    name, about
        Its name, and what it is.
    objectives
        Its default objectives.
    maker
        What makes it: a callable that takes the run, such as the class, or its place as "module:callable".
    encodings, encoding
        The encodings of its plans, the usual one first, and the chosen one if it is another.
    rows
        Whether it works on rows throughout, which may choose shapes; else on keys.
    walks
        Whether it simulates plans within its own kernels.
    sides
        The number of kinds of search that take turns.
    release
        The name and version of the package that offers it, as "mypackage 1.2"; "" for fedsched's own. It is set when
        the method is found.

    Examples
    --------
    >>> fs.search.METHODS["ga"].about
    'genetic algorithm (CMMSE 2013)'
    >>> fs.search.METHODS["memetic"].objectives
    ('makespan', 'energy')
    """

    name: str
    about: str
    objectives: tuple[str, ...]  # default objectives
    # Called with the run, and with an unusual encoding; as text, "module:callable".
    maker: str | Callable[..., Method]
    encodings: tuple[str, ...] = ()  # encodings of its plans, the usual one first; empty if there is no choice
    encoding: str = ""  # the chosen encoding, if that is not the usual one
    rows: bool = True  # whether it works on rows throughout, which may choose shapes; else on keys
    walks: bool = False  # whether it simulates plans within its own kernels
    sides: int = 1  # kinds of search that take turns, each with its own kernels
    release: str = ""  # name and version of the package that offers it; "" for fedsched's own

    def make(self, run: Run) -> Method:
        """Return a new method for a run, ready for its first step.

        What goes wrong in a method of another package is told with the method's name and the package's.
        """
        if not self.release:
            return self._made(self._found(), run)
        try:
            maker = self._found()
        except Exception as error:  # whatever the other package does when it is imported
            raise broken(self.offer, f"has maker={self.maker!r}, which cannot be loaded ({error})") from error
        with noted("the maker", self.offer):
            made = self._made(maker, run)
        return Offered(made, self.offer)

    def _found(self) -> Callable[..., Method]:
        if not isinstance(self.maker, str):
            return self.maker
        module, _, name = self.maker.partition(":")
        found: Callable[..., Method] = getattr(import_module(module), name)
        return found

    def _made(self, maker: Callable[..., Method], run: Run) -> Method:
        return maker(run, self.encoding) if self.encoding else maker(run)

    @property
    def offer(self) -> str:
        """Return the method and the package that offers it, in words for errors."""
        return f"method {self.name!r} of package {self.release}"

    @property
    def title(self) -> str:
        """Return the method's name, followed by "(encoding)" if the encoding is not the usual one."""
        return f"{self.name} ({self.encoding})" if self.encoding else self.name

    @property
    def takes_shapes(self) -> bool:
        """Return whether plans can choose the jobs' shapes: the method works on rows in the usual encoding."""
        return self.rows and not self.encoding

    @property
    def shares_nodes(self) -> bool:
        """Return whether the method can plan on shared nodes.

        It must take shapes, and must not simulate plans in its own kernels.
        """
        return self.takes_shapes and not self.walks

    def encoded(self, encoding: str | None) -> MethodInfo:
        """Return the entry with this encoding of plans; None stands for the usual one.

        Raise ValueError if the method has no such encoding, or no choice of encodings.
        """
        if encoding is None:
            return self
        if not self.encodings:
            able = ", ".join(info.name for info in METHODS.values() if info.encodings)
            raise ValueError(
                f"encoding={encoding!r}: method {self.name!r} has no choice of encodings; leave it out, or take one of "
                f"{able}."
            )
        if encoding not in self.encodings:
            raise unknown_name("encoding", encoding, self.encodings)
        return replace(self, encoding="" if encoding == self.encodings[0] else encoding)


ENCODINGS = ("blacklist", "assignment")
HERE = "fedsched.search.methods"
METHODS: Mapping[str, MethodInfo] = MappingProxyType(
    {
        info.name: info
        for info in (
            MethodInfo("memetic", "late-acceptance walks, crossed, over structured seeds; compiled whole",
                       ("makespan", "energy"), f"{HERE}.memetic:Memetic", walks=True, sides=4),
            MethodInfo("ga", "genetic algorithm (CMMSE 2013)", ("makespan",), f"{HERE}.genetic:ga", ENCODINGS),
            MethodInfo("ga-mf", "genetic algorithm on makespan and flow (J. Simulation 2015)",
                       ("makespan", "flow"), f"{HERE}.genetic:ga", ENCODINGS),
            MethodInfo("ga-slowdown", "genetic algorithm that favours groups of little predicted slowdown (ICTCC 2014)",
                       ("makespan",), f"{HERE}.genetic:ga_slowdown"),
            MethodInfo("ga-ea", "genetic algorithm on energy (CMMSE 2016)", ("energy",), f"{HERE}.genetic:ga"),
            MethodInfo("pso-ea", "particle swarm on energy (FiCloudW 2016)", ("energy",), f"{HERE}.swarm:ParticleSwarm",
                       rows=False),
            MethodInfo("moga", "NSGA-II (J. Supercomputing 2017)", ("makespan", "energy"), f"{HERE}.genetic:Moga"),
            MethodInfo("mpso-fga", "swarm and genetic algorithm joined by a fuzzy controller (FUZZ-IEEE 2017)",
                       ("makespan", "energy"), f"{HERE}.mpso_fga:SwarmFuzzyGenetic", rows=False),
            MethodInfo("sa", "simulated annealing", ("makespan",), f"{HERE}.local:annealing", walks=True),
            MethodInfo("hc", "hill climbing", ("makespan",), f"{HERE}.local:hill_climbing", walks=True),
            MethodInfo("random", "random plans", ("makespan",), f"{HERE}.local:RandomPlans"),
        )
    }
)  # fmt: skip
ALIASES: Mapping[str, str] = MappingProxyType({"auto": "memetic", "nsga2": "moga"})


def method_named(name: str) -> MethodInfo:
    """Return the registry's entry of a method by its name or alias, or one that another installed package offers.

    Case does not matter.
    """
    if not isinstance(name, str):
        raise TypeError(f"method={shortened(repr(name))} must be the name of one search, as 'memetic'.")
    known = ALIASES.get(name.lower(), name.lower())
    return METHODS.get(known) or _offered_method(name)


def is_method(name: str) -> bool:
    """Return whether a name is that of a search, fedsched's own or another package's."""
    return name.lower() in (*METHODS, *ALIASES) or name.lower() in offered(GROUP)


def _offered_method(name: str) -> MethodInfo:
    """Return the entry of a method that another installed package offers by this name: see `fedsched.core.plugins`.

    A mere callable becomes an entry with the objective makespan. Raise an error if no package offers it.
    """
    one, found = plugin("method", GROUP, name, [*METHODS, *ALIASES])
    name, release = one.name.lower(), release_of(one)
    if isinstance(found, MethodInfo):
        return replace(found, name=name, release=release)
    if not callable(found):
        refuse("method", one, f"is {shortened(repr(found))}, neither a MethodInfo nor a callable that takes the run")
    about = (getattr(found, "__doc__", None) or "").strip().partition("\n")[0]
    return MethodInfo(name, about, ("makespan",), found, release=release)
