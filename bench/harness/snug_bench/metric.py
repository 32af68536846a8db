"""Metrics: what is read out of a run to be compared. Time and memory are the two that every load has.

*time* is the geometric mean of the judged figures of time that a load prints, in ns an operation; of a load that prints
none it is the wall time of the whole run. *memory* is the peak RSS of the largest process. Each figure that is judged is
a metric of its own as well.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from snug_bench.measurement import Figure, Measurement
from snug_bench.statistics import geometric_mean

TIMES = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
NANOSECONDS = TIMES | {"ticks": 1.0}  # roughly: enough for ratios, but no unit to show them in
BYTES = {"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "kB": 1e3, "MB": 1e6}
PER_SECOND = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}  # of "M/s", "kop/s"
SETTLED_FIGURES = ("settled_rss", "settled RSS", "RSS settled")  # a program that knows better than the last sample
SMALLEST = 1e-3  # ns: below what a clock tells apart; keeps a product from becoming 0
PAGE = 4096.0
# By unit. Of any other only nothing counts as something else: as NOTHING, or as that part of a value below 1 beside it.
LEAST = {unit: PAGE / scale for unit, scale in BYTES.items()} | {unit: SMALLEST / scale for unit, scale in NANOSECONDS.items()}
NOTHING = 1e-3


def at_least(value: float, other: float, unit: str) -> float:
    if unit in LEAST:
        return max(value, LEAST[unit])
    if value > 0:
        return value
    return NOTHING * min(other, 1) if other > 0 else NOTHING


@dataclass(frozen=True)
class Metric:
    """`read` gives a run's value, or nothing."""

    key: str
    title: str
    unit: str  # ns, B, or what the figure has; "" is a plain count
    read: Callable[[Measurement], float | None]
    higher_is_better: bool = False
    group: str = "cost"  # time, memory, figure or cost
    figures: tuple[str, ...] = ()  # a time's: those that it is the mean of

    def cost_ratio(self, value: float, base: float) -> float:
        """What `value` costs in units of `base`: above 1 is worse, and always a number: what is nothing, or less, counts
        as the smallest amount that can be told from nothing, so that 8 KiB against none are two pages and not infinity."""
        value, base = at_least(value, base, self.unit), at_least(base, value, self.unit)
        return base / value if self.higher_is_better else value / base


def operation_ns(figure: Figure) -> float | None:
    """How long one operation takes by this figure; None if it is none of time."""
    if figure.unit in NANOSECONDS:
        return max(figure.value * NANOSECONDS[figure.unit], SMALLEST)
    prefix, slash, seconds = figure.unit.rpartition("/")
    if not slash or seconds not in ("s", "CPU s") or figure.value <= 0:
        return None
    return 1e9 / (figure.value * PER_SECOND.get(prefix.removesuffix("s").removesuffix("op"), 1.0))


def judged(name: str, patterns: list[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def cost_metric(key: str, title: str, unit: str, field: str, scale: float = 1.0, group: str = "cost") -> Metric:
    def read(run: Measurement) -> float | None:
        value = run.cost.get(field)
        return None if value is None else value * scale
    return Metric(key, title, unit, read, group=group)


PEAK = cost_metric("memory", "peak RSS", "B", "peak_rss_bytes", group="memory")
WALL = cost_metric("wall", "wall time", "ns", "wall_seconds", 1e9)
COSTS = (
    WALL,
    cost_metric("user", "user time", "ns", "user_seconds", 1e9),
    cost_metric("system", "system time", "ns", "system_seconds", 1e9),
    cost_metric("faults", "page faults", "", "minor_faults"),
    cost_metric("major", "major faults", "", "major_faults"),
    cost_metric("waits", "switches, waiting", "", "voluntary_switches"),
    cost_metric("preempted", "switches, preempted", "", "involuntary_switches"),
    cost_metric("instructions", "instructions", "", "instructions"),
)


def time_metric(names: list[str]) -> Metric:
    """Of the figures with these names, or of the whole run if there are none."""
    if not names:
        return cost_metric("time", "wall time", "ns", "wall_seconds", 1e9, group="time")

    def read(run: Measurement) -> float | None:
        costs = [operation_ns(run.figures[name]) for name in names if name in run.figures]
        return geometric_mean(costs) if len(costs) == len(names) and None not in costs else None
    title = names[0] if len(names) == 1 else f"mean of {len(names)} figures"
    return Metric("time", f"time ({title})", "ns", read, group="time", figures=tuple(sorted(names)))


def settled_metric() -> Metric:
    def read(run: Measurement) -> float | None:
        for name in SETTLED_FIGURES:
            if name in run.figures and run.figures[name].unit in BYTES:
                return run.figures[name].value * BYTES[run.figures[name].unit]
        return run.cost.get("last_rss_bytes") or None
    return Metric("settled", "settled RSS", "B", read, group="memory")


def figure_metric(name: str, figure: Figure) -> Metric:
    """Time in ns and memory in B, so that every table has the same units, whatever each program writes for them."""
    unit, scale = next(((unit, scales[figure.unit]) for unit, scales in (("ns", TIMES), ("B", BYTES))
                        if figure.unit in scales), (figure.unit, None))

    def read(run: Measurement) -> float | None:
        value = run.figures[name].value if name in run.figures else None
        return value if value is None or scale is None else value * scale
    return Metric(f"figure:{name}", name, unit, read, figure.higher_is_better, "figure")


def metrics_of(load: dict, runs: list[Measurement]) -> list[Metric]:
    """What the runs of one load can be compared by: time and memory first."""
    figures: dict[str, Figure] = {}
    for run in runs:
        for name, figure in run.figures.items():
            if judged(name, load["figures"]) and not (load["settles"] and name in SETTLED_FIGURES):
                figures.setdefault(name, figure)
    times = [name for name, figure in figures.items() if operation_ns(figure) is not None]
    metrics = [time_metric(times), PEAK, *([settled_metric()] if load["settles"] else [])]
    costs = COSTS if times else COSTS[1:]  # the wall time is the time already
    return [*metrics, *(figure_metric(name, figure) for name, figure in figures.items()), *costs]
