"""Published tables, run again, as a file: `snug-seeds` writes it, the page shows it.

    {"schema": "snug.seeds/1", "host": {…}, "quick": false, "documents": [
      {"name": "S0", "title": "…", "remarks": ["…"], "verdicts": [{"claim": "…", "outcome": "holds", "figures": "…"}],
       "tables": [{"title": "…", "columns": ["…"], "rows": [["…"]]}], "plots": [{"title": "…", "svg": "<svg …"}]}]}

Every row has as many cells as there are columns. The plots are whole, so that the file needs none beside it.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snug_bench.picture import inline_svg
from snug_bench.problem import Problem

SCHEMA = "snug.seeds/1"
FILE_NAME = "seeds.json"
HOLDS, FAILS, OPEN = "holds", "does not hold", "unclear"
OUTCOMES = (HOLDS, FAILS, OPEN)
SHOWN_OF_HOST = ("date", "commit", "effort", "cpu", "kernel")


@dataclass(frozen=True)
class SourceDocuments:
    host: dict[str, Any]
    quick: bool
    documents: list[dict[str, Any]]  # their plots as they may stand in a page


def read_source_documents(file: Path) -> SourceDocuments:
    """Raises Problem with the file's name for what is none."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"cannot read {file}: {error}") from None
    try:
        return parsed(json.loads(text))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        why = f"no {error}" if isinstance(error, KeyError) else error
        raise Problem(f"{file}: damaged: {why}; `snug-seeds` writes it anew") from None


def parsed(content: Any) -> SourceDocuments:
    """Raises KeyError, TypeError or ValueError."""
    whole = typed(content, dict, "the file")
    if whole.get("schema") != SCHEMA:
        raise ValueError(f"of schema {whole.get('schema')!r}, not {SCHEMA!r}")
    host, quick = typed(whole["host"], dict, "host"), typed(whole["quick"], bool, "quick")
    documents = [document(each) for each in typed(whole["documents"], list, "documents")]
    names = [each["name"] for each in documents]
    if len(set(names)) < len(names):
        raise ValueError(f"a source stands there twice: {', '.join(names)}")
    return SourceDocuments(dict.fromkeys(SHOWN_OF_HOST, "") | host, quick, documents)


def document(found: Any) -> dict[str, Any]:
    text(found["name"], "name"), texts(found["remarks"], "remarks")
    for verdict in typed(found["verdicts"], list, "verdicts"):
        text(verdict["claim"], "claim"), text(verdict["figures"], "figures")
        if verdict["outcome"] not in OUTCOMES:
            raise ValueError(f"an outcome is {verdict['outcome']!r} (there are: {', '.join(OUTCOMES)})")
    for table in typed(found["tables"], list, "tables"):
        columns = texts(table["columns"], "columns")
        for row in typed(table["rows"], list, "rows"):
            if len(texts(row, "row")) != len(columns):
                raise ValueError(f"the table '{text(table['title'], 'title')}' has a row of {len(row)} cells, and "
                                 f"{len(columns)} columns")
    plots = [{"title": text(plot["title"], "title"),
              "svg": inline_svg(text(plot["svg"], "svg"), f"{found['name']}-{number}", plot["title"])}
             for number, plot in enumerate(typed(found["plots"], list, "plots"))]
    return {"name": found["name"], "title": text(found["title"], "title"), "verdicts": found["verdicts"],
            "remarks": found["remarks"], "tables": found["tables"], "plots": plots}


def typed(value: Any, kind: type, what: str) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{what}: no {kind.__name__}")
    return value


def text(value: Any, what: str) -> str:
    return typed(value, str, what)


def texts(value: Any, what: str) -> list[str]:
    return [text(each, what) for each in typed(value, list, what)]
