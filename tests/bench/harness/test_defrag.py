"""snug-defrag: its table, what it says of a goal that was missed, and the patch's size. tests/programs runs the patched Redis."""

import io
import json

from rich.console import Console
from snug_defrag.life import UNITS
from snug_defrag.source import MOST_LINES, changed_lines
from snug_defrag.store import FIELDS, HASH_EACH, LARGEST, SMALLEST, Store, name_of
from snug_defrag.table import as_json, print_results, values


def life(reached: float | None) -> dict[str, float | None]:
    return dict.fromkeys(UNITS, 2.0) | {"RSS after": 3 << 20, "time to 1.15": reached}


def test_the_table_and_the_json():
    results = {"snug": [life(9.0), life(7.0), life(8.0)], "jemalloc": [life(None), life(None), life(60.0)]}
    text = io.StringIO()
    print_results(Console(file=text, width=120), results, [])
    assert "3 MiB" in text.getvalue()
    assert "8 s" in text.getvalue()
    assert "jemalloc: 2 of 3 lives have not come to 1.15 × used_memory." in text.getvalue()
    assert "snug: " not in text.getvalue()
    assert values(results, "jemalloc", "time to 1.15") == [60.0]
    assert json.loads(json.dumps(as_json(results, {}, {})))["lives"]["jemalloc"][0]["time to 1.15"] is None


def test_a_goal_that_no_life_reached_is_no_figure():
    text = io.StringIO()
    print_results(Console(file=text, width=120), {"snug": [life(None)]}, [])
    assert "1 of 1 lives" in text.getvalue()


def test_who_survives_lies_among_the_others():
    store = Store(1000, seed=1)
    filled = list(store.fill())
    assert len(filled) == 1000 + 1000 // HASH_EACH * FIELDS
    assert all(SMALLEST <= len(words[2]) <= LARGEST for words in filled if words[0] == "SET")
    gone = {words[1] for words in store.thin_out()}
    stay = [words[1] not in gone for words in filled if words[0] == "SET"]
    assert sum(stay) == store.survivors == 300
    assert 100 < sum(stay[:500]) < 200
    assert {words[1] for words in store.overwrite(100)} <= {name_of(number) for number in range(300)}
    assert store.is_whole(27, b"b" * 20)
    assert not store.is_whole(27, b"b" * 19 + b"c")


def test_the_patch_is_small():
    assert 10 < changed_lines() <= MOST_LINES
