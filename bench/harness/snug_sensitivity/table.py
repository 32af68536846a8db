"""The page: what half and twice of each constant are worth, as Markdown or as JSON."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from snug_bench.ratio import BETTER, WORSE
from snug_bench.results import Results
from snug_bench.statistics import geometric_mean
from snug_bench.verdict import Row, rows_of
from snug_sensitivity.study import AS_IT_IS, JUDGED, against_as_it_is, stands_out
from snug_sensitivity.variants import Variant

TEMPLATE = Path(__file__).with_name("page.md.in")
NOTHING = "–"


@dataclass(frozen=True)
class Effect:
    row: str
    metric: str  # time or memory
    ratio: float


@dataclass(frozen=True)
class Line:
    """What one variant does, over all rows."""

    name: str  # the constant's, or the setting's
    factor: str
    value: str
    means: dict[str, float | None]  # by metric, geometric
    worse: list[Effect]
    better: list[Effect]

    @property
    def matters(self) -> bool:
        return bool(self.worse or self.better)


def line_of(rows: list[Row], name: str, variant: Variant | None = None) -> Line:
    effects: dict[str, list[Effect]] = {WORSE: [], BETTER: []}
    means: dict[str, float | None] = {}
    for key in JUDGED:
        ratios = [(row, ratio) for row in rows if (ratio := against_as_it_is(row, name, key))]
        means[key] = geometric_mean([ratio.value for _, ratio in ratios])
        for row, ratio in ratios:
            is_sure = ratio.interval is not None and ratio.interval.level  # as of six
            if is_sure and ratio.word in effects and stands_out(row, name, key):
                effects[ratio.word].append(Effect(row.name, key, ratio.value))
    worse, better = (sorted(each, key=lambda effect: abs(effect.ratio - 1), reverse=True) for each in effects.values())
    return Line(variant.constant if variant else name, variant.factor if variant else "", variant.value if variant else "",
                means, worse, better)


def lines_of(results: Results, variants: list[Variant]) -> tuple[list[Line], list[Line]]:
    """Of the variants, and of the library as it is, each time against the others."""
    rows = rows_of(results)
    return [line_of(rows, each.name, each) for each in variants], [line_of(rows, name) for name in AS_IT_IS]


def shown(ratio: float | None) -> str:
    return NOTHING if ratio is None else f"{ratio:.3f}"


def effects_shown(effects: list[Effect]) -> str:
    return ", ".join(f"{each.row} {each.metric} {each.ratio:.2f}" for each in effects) or NOTHING


def markdown(results: Results, variants: list[Variant]) -> str:
    lines, noise = lines_of(results, variants)
    names = dict.fromkeys(each.name for each in lines)
    idle = [name for name in names if not any(each.matters for each in lines if each.name == name)]
    table = ["| constant | | value | time | memory | worse | better |", "|---|---|---:|---:|---:|---|---|"]
    for each in [*lines, *noise]:
        table.append(f"| {f'`{each.name}`' if each.value else each.name} | {each.factor} | {each.value} | "
                     f"{shown(each.means['time'])} | {shown(each.means['memory'])} | {effects_shown(each.worse)} | "
                     f"{effects_shown(each.better)} |")
    rows = rows_of(results)
    words = {"count": str(len(names)), "rows": str(len(rows)), "date": str(results.host["date"])[:10],
             "commit": str(results.host["commit"]), "loads": ", ".join(row.name for row in rows),
             "table": "\n".join(table), "idle": ", ".join(f"`{name}`" for name in idle) or "none",
             "idle_count": str(len(idle))}
    text = TEMPLATE.read_text("utf-8")
    for key, value in words.items():
        text = text.replace(f"@{key}@", value)
    return text


def as_json(results: Results, variants: list[Variant]) -> str:
    lines, noise = lines_of(results, variants)
    document: dict[str, Any] = {"schema": "snug.sensitivity/1", "host": results.host, "constants": [asdict(each) for each in lines],
                                "as_it_is": [asdict(each) for each in noise]}
    return json.dumps(document, ensure_ascii=False, indent=1)
