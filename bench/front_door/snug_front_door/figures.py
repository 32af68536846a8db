"""The figures that README's sentences name, by name, as they are written there."""

import re
from datetime import datetime

from snug_bench.verdict import SCORED, Row
from snug_front_door.ranking import MANY, listed, times
from snug_front_door.sources import Sources

PEERS = ("glibc", "jemalloc", "mimalloc")
GROWN = 1.1  # a program grows if huge pages make its peak so many times what it was
TITLES = {"cxx_compile": "g++", "documents": "Perl", "emacs": "Emacs", "lua": "Lua", "node": "Node",
          "postgresql": "PostgreSQL", "python": "Python", "python_malloc": "Python on malloc", "redis": "Redis",
          "redis_idle": "an idling Redis", "sqlite": "SQLite"}


def amount(kib: float) -> str:
    return f"{kib:.0f} KiB" if kib < 1024 else f"{kib / 1024:.1f} MiB"


def number_of(figure: str) -> str:
    """Of a figure as it is written; empty if it is none. Of memory in KiB, so that a bound holds whatever the unit."""
    found = re.match(r"[\d.]+", figure)
    if found and figure.endswith(" MiB"):
        return f"{float(found[0]) * 1024:.0f}"
    return found[0] if found else ""


def title(row: Row) -> str:
    return TITLES.get(row.load["name"], row.load["title"])


def of_grid(sources: Sources) -> dict[str, str]:
    """Sentences for each group of rows, and single figures for docs/claims.md."""
    ranking, host = sources.ranking, sources.grid.host
    groups = {"real": sources.real, "synthetic": sources.synthetic, "many": sources.with_many_threads}
    figures = {"programs": str(len(sources.real)), "loads": str(len(sources.synthetic)), "many": str(len(groups["many"])),
               "grid": sources.grid_file.stem, "cpus": str(host["cpus"]), "named": listed([title(row) for row in sources.real])}
    for group, rows in groups.items():
        for key in SCORED:
            costs = ranking.overall(rows, key)
            figures[f"{group}_{key}"] = ranking.counts(rows, key)
            for peer in PEERS:
                figures[f"{group}_{key}_{peer}"] = times(costs[peer].mean)
    for key in SCORED:
        figures[f"{key}_losses"], figures[f"{key}_behind"] = ranking.largest_losses(key), ranking.count(key)
    larger = {title(row): row.multiple("snug", "memory", "glibc") for row in sources.real}
    figures["larger"] = listed([f"{name} {times(ratio)}" for name, ratio in sorted(larger.items(), key=lambda each: -each[1])[:3]])
    date = datetime.fromisoformat(host["date"])
    figures["machine"] = (f"{host['cpu']}, {host['cpus']} processors, {host['libc']}, {date.day} {date:%B %Y}, "
                          f"commit {host['commit'].removesuffix('+changes')[:8]}")
    figures["others"] = str(len(ranking.names) - 1)
    return figures


def table(sources: Sources) -> str:
    """Markdown: a line an allocator, the slowest on real programs first."""
    ranking = sources.ranking
    groups = ((sources.real, "time"), (sources.synthetic, "time"), (sources.with_many_threads, "time"), (sources.real, "memory"),
              (sources.synthetic, "memory"))
    titles = ("", "real programs", "synthetic", f"of these {MANY} threads or more", "memory, real", "memory, synthetic")
    order = {name: place for place, name in enumerate(ranking.overall(sources.real, "time"))}
    names = sorted((name for name in ranking.names if name != ranking.verdict.subject), key=lambda name: order.get(name, len(order)))
    lines = [titles, ("---", *("--:" for _ in groups))]
    lines += [(ranking.names[name], *(ranking.cell(rows, key, name) for rows, key in groups)) for name in names]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


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
