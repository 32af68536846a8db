"""The figures that README's sentences name, by name, as they are written there."""

import re

from snug_bench.problem import Problem
from snug_bench.verdict import Row
from snug_front_door.sources import Sources
from snug_front_door.standing import mean_multiple

PEERS = ("glibc", "jemalloc", "mimalloc")
GROWN = 1.1  # a program grows if huge pages make its peak so many times what it was
TITLES = {"cxx_compile": "g++", "documents": "Perl", "emacs": "Emacs", "lua": "Lua", "node": "Node",
          "postgresql": "PostgreSQL", "python": "Python", "python_malloc": "Python on malloc", "redis": "Redis",
          "redis_idle": "an idling Redis", "sqlite": "SQLite"}


def times(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 9.5 else f"{ratio:.1f}" if ratio >= 1.95 else f"{ratio:.2f}"


def more_than(ratio: float) -> str:
    percent = round(100 * (ratio - 1))
    return f"{percent}% more than" if percent > 0 else f"{-percent}% less than" if percent < 0 else "as much as"


def amount(kib: float) -> str:
    return f"{kib:.0f} KiB" if kib < 1024 else f"{kib / 1024:.1f} MiB"


def number_of(figure: str) -> str:
    """Of a figure as it is written; empty if it is none. Of memory in KiB, so that a bound holds whatever the unit."""
    found = re.match(r"[\d.]+", figure)
    if found and figure.endswith(" MiB"):
        return f"{float(found[0]) * 1024:.0f}"
    return found[0] if found else ""


def listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def title(row: Row) -> str:
    return TITLES.get(row.load["name"], row.load["title"])


def row_of(rows: list[Row], load: str, threads: int) -> Row:
    for row in rows:
        if (row.load["name"], row.threads) == (load, threads):
            return row
    raise Problem(f"the grid has no row {load} ×{threads}", 1)


def of_grid(sources: Sources) -> dict[str, str]:
    real, synthetic = sources.real, sources.synthetic
    figures = {"programs": str(len(real)), "loads": str(len(synthetic)), "grid": sources.grid_file.stem,
               "memory_glibc": times(mean_multiple(real, "snug", "memory", "glibc")),
               "more_than_glibc": more_than(mean_multiple(real, "snug", "memory", "glibc"))}
    for peer in PEERS:
        figures[f"real_{peer}"] = times(mean_multiple(real, peer, "time", "snug"))
        figures[f"synthetic_{peer}"] = times(mean_multiple(synthetic, peer, "time", "snug"))
    figures["churn_glibc"] = times(row_of(synthetic, "churn", 8).multiple("glibc", "time", "snug"))
    figures["slower_churn"] = times(row_of(synthetic, "thread_churn", 8).multiple("snug", "time", "glibc"))
    figures["named"] = listed([title(row) for row in real])
    larger = {title(row): row.multiple("snug", "memory", "glibc") for row in real}
    figures["larger"] = listed([f"{name} {times(ratio)} times" for name, ratio in
                                sorted(larger.items(), key=lambda each: -each[1])[:2]])
    return figures


def median(measured: dict, allocator: str, figure: str) -> float:
    return measured["allocators"][allocator]["figures"][figure]["median"]


def of_door(door: dict) -> dict[str, str]:
    idle = {name: median(door["idle"], name, "idle") for name in door["idle"]["allocators"]}
    peers = [idle[name] for name in PEERS]
    figures = {"idle_snug": f"{idle['snug']:.0f}", "idle_least": f"{min(peers):.0f}", "idle_most": f"{max(peers):.0f}",
               "idle_thread": f"{median(door['idle_thread'], 'snug', 'idle'):.0f}"}
    for name in door["threads_always"]["allocators"]:
        figures[f"thread_{name}"] = amount(median(door["threads_always"], name, "further_thread"))
    before, after = door["programs_madvise"]["programs"], door["programs_always"]["programs"]
    grown: dict[str, int] = {}
    for program, allocators in after.items():
        for name, peak in allocators.items():
            if name in before[program]:
                grown.setdefault(name, 0)
                grown[name] += peak["median"] > GROWN * before[program][name]["median"]
    figures["growth"] = growth(grown, len(after), door["programs_always"]["versions"])
    return figures


def growth(grown: dict[str, int], programs: int, versions: dict[str, str]) -> str:
    """The catalogue tells versions of one allocator apart by a digit (mimalloc2), which means nothing to a reader."""
    peers = [f"{count} on {name.rstrip('0123456789')}{' ' + versions[name] if 'mimalloc' in name else ''}"
             for name, count in sorted(grown.items(), key=lambda each: -each[1]) if count and name != "snug"]
    than = f", where {listed(peers)} do" if peers else ""
    return f"Of {programs} real programs {grown['snug'] or 'none'} grows by a tenth or more{than}."


def figures_of(sources: Sources) -> dict[str, str]:
    return of_grid(sources) | of_door(sources.door)
