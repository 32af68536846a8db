"""Made-up data of the page of `snug report`: small, medium, huge, and the edges. The same at each call.

A recording is made from its series: totals, slices, the peak and what is left follow from them, so that the page's sums can
be held against them.

    made_up_data.py NAME [-o FILE]      prints the JSON of one of DATA
"""

import argparse
import copy
import json
import random
import sys

from made_up_extras import live_of, make_against, make_lifetimes, make_map, make_sizes, make_what_if

MIB = 1 << 20
NAMES = [
    "Parser::parse_line",
    "std::vector<Token>::push_back",
    "Document::append(std::string_view)",
    "Cache::insert",
    "json::decode",
    "Renderer::layout",
    "std::__detail::_Hash_node_alloc",
    "Index::build",
    "String::concat",
    "read_file",
    "Worker::run",
    "Session::open",
    "http::Headers::add",
    "Arena::grow",
    "operator new(unsigned long)",
    "compress_block",
    "Texture::load",
    "PyObject_Malloc",
    "list_resize",
    "dict_merge",
    "Scheduler::tick",
    "Query::execute",
    "Row::copy",
    "Plan::optimise",
]
PLACES = [
    "parser.cpp:{}",
    "document.cpp:{}",
    "cache.cpp:{}",
    "libstdc++.so.6",
    "render/layout.cpp:{}",
    "index.cpp:{}",
    "libpython3.11.so",
    "net/http.cpp:{}",
]


def make_nodes(chance, nodes):
    made = {"name": ["main"], "bar": [""], "place": ["main.cpp:12"], "caller": [-1], "plumbing": [0]}
    depth = [0]
    for node in range(1, nodes):
        # Recent nodes call more often than old ones: the tree grows deep as well as broad.
        caller = chance.choice([chance.randrange(node), chance.randrange(max(0, node - 30), node)])
        while depth[caller] > 40:
            caller = chance.randrange(node)
        which = chance.randrange(len(NAMES))
        variant = chance.randrange(1 + nodes // 60)
        made["name"].append(NAMES[which] + (f"<{variant}>" if variant else ""))
        made["bar"].append(NAMES[which] if variant else "")
        made["place"].append(PLACES[which % len(PLACES)].format(chance.randrange(10, 400)))
        made["caller"].append(caller)
        made["plumbing"].append(0)
        depth.append(depth[caller] + 1)
    return made


def make_series(chance, nodes, slices, density):
    """Own allocations and frees of each node in slices; leaves allocate more than what is near main."""
    series = []
    for node in range(nodes):
        flat, live, blocks = [], 0, 0
        size = int(16 * 2 ** chance.uniform(0, 9))
        kept = chance.choice([0, 0, 0.1, 0.6])
        begin, end = sorted(chance.sample(range(slices + 1), 2)) if slices > 1 else (0, 1)
        for slice_ in range(begin, slices):
            active = slice_ < end and chance.random() < density
            count = chance.randrange(1, 60) if active and node else 0
            temporary = int(count * chance.choice([0, 0, 0.2, 0.9]))
            freed = min(blocks + count, temporary + int(blocks * (1 - kept) * chance.random()))
            if slice_ == slices - 1 and kept == 0:
                freed = blocks + count
            if not count and not freed:
                continue
            flat += [slice_, count * size, count, freed * size, freed, min(temporary, freed) * size, min(temporary, freed)]
            blocks += count - freed
            live += (count - freed) * size
        series.append(flat)
    return series


def add_slices(data, slices, duration):
    n = {name: [0] * slices for name in ("live_bytes", "live_blocks", "allocated_bytes", "freed_bytes", "allocated_blocks")}
    for flat in data["series"]:
        for at in range(0, len(flat), 7):
            slice_, allocated, blocks, freed, freed_blocks = flat[at : at + 5]
            n["allocated_bytes"][slice_] += allocated
            n["allocated_blocks"][slice_] += blocks
            n["freed_bytes"][slice_] += freed
            n["live_bytes"][slice_] += allocated - freed
            n["live_blocks"][slice_] += blocks - freed_blocks
    for slice_ in range(1, slices):
        for name in ("live_bytes", "live_blocks"):
            n[name][slice_] += n[name][slice_ - 1]
    n["end_ns"] = [duration * (slice_ + 1) // slices for slice_ in range(slices)]
    n["most_live_bytes"] = [max(live, before) for live, before in zip(n["live_bytes"], [0] + n["live_bytes"])]
    n["rounded_bytes"] = [live * 109 // 100 for live in n["live_bytes"]]
    data["slices"] = n


def add_totals(data):
    slices, flats = data["slices"], data["series"]
    column = lambda offset: sum(sum(flat[offset::7]) for flat in flats)
    live = slices["live_bytes"] or [0]
    peak = max(range(len(live)), key=live.__getitem__)
    at_peak = {"node": [], "bytes": [], "blocks": []}
    for node, flat in enumerate(flats):
        nbytes, blocks = live_of(flat, peak)
        if blocks:
            at_peak["node"].append(node)
            at_peak["bytes"].append(nbytes)
            at_peak["blocks"].append(blocks)
    data["at_peak"] = at_peak
    data["totals"] = {
        "allocated_bytes": column(1),
        "allocated_blocks": column(2),
        "temporary_bytes": column(5),
        "temporary_blocks": column(6),
        "freed_by_others_blocks": 0,
        "peak_bytes": live[peak],
        "peak_blocks": sum(at_peak["blocks"]),
        "peak_ns": slices["end_ns"][peak] if slices["end_ns"] else 0,
        "peak_rounded_bytes": live[peak] * 109 // 100,
        "live_at_end_bytes": live[-1],
        "live_at_end_blocks": (slices["live_blocks"] or [0])[-1],
        "resident_peak_bytes": live[peak] * 5 // 4 if live[peak] else None,
        "copied_bytes": column(1) // 50,
        "temporary_events": 8,
    }


def add_samples(chance, data, samples, duration):
    slices = data["slices"]
    made = {
        "ns": [duration * (i + 1) // (samples + 1) for i in range(samples)],
        "resident_bytes": [],
        "heap_bytes": [],
        "in_use_bytes": [],
    }
    high = 0
    for ns in made["ns"]:
        live = slices["live_bytes"][min(len(slices["end_ns"]) - 1, ns * len(slices["end_ns"]) // duration)]
        high = max(live, int(high * 0.995))
        made["resident_bytes"].append(high * 5 // 4 + chance.randrange(1 + high // 50))
        made["heap_bytes"].append(None if chance.random() < 0.05 else high * 23 // 20)
        made["in_use_bytes"].append(live * 104 // 100)
    data["samples"] = made


def add_threads(chance, data, threads, slices):
    names = [str(i + 1) for i in range(threads)]
    if threads > 12:
        names[-1] = "others"
    total = data["totals"]
    pairs = []
    for slice_ in range(slices):
        for one in range(threads):
            for by in range(threads):
                if one == by or (threads > 1 and chance.random() < 0.15 and (one * 7 + by) % 3 == 0):
                    blocks = chance.randrange(1, 900 if one == by else 60)
                    pairs += [slice_, one, by, blocks, blocks * chance.randrange(16, 900), chance.randrange(blocks + 1)]
    data["threads"] = {
        "name": names,
        "allocated_bytes": [total["allocated_bytes"] // max(1, threads)] * threads,
        "allocated_blocks": [total["allocated_blocks"] // max(1, threads)] * threads,
        "pairs": pairs,
    }
    total["freed_by_others_blocks"] = sum(pairs[at + 3] for at in range(0, len(pairs), 6) if pairs[at + 1] != pairs[at + 2])


def add_findings(data):
    left = max(range(len(data["series"])), key=lambda node: live_of(data["series"][node], 1 << 30)[0])
    brief = max(range(len(data["series"])), key=lambda node: sum(data["series"][node][6::7]))
    name, total = data["nodes"]["name"], data["totals"]
    lost, size = live_of(data["series"][left], 1 << 30)[0], data["sizes"][0]
    data["findings"] = [
        {
            "kind": "leak",
            "sentence": f"{name[left]} allocated {lost / MIB:.1f} MiB that nothing has freed at the end.",
            "advice": "Free these blocks when their owner ends, or keep fewer of them.",
            "bytes": lost,
            "share": lost / max(1, total["live_at_end_bytes"]),
            "node": left,
            "size": None,
            "threads": None,
        },
        {
            "kind": "temporary",
            "sentence": f"{name[brief]} frees nine of ten blocks within 8 events of having allocated them.",
            "advice": "Keep one buffer and use it again.",
            "bytes": sum(data["series"][brief][5::7]),
            "share": sum(data["series"][brief][5::7]) / max(1, total["allocated_bytes"]),
            "node": brief,
            "size": None,
            "threads": None,
        },
        {
            "kind": "rounding",
            "sentence": f"Blocks of {size['size']} bytes take {size['takes']}: a part of each is never used.",
            "advice": f"Make the structure smaller by {size['size'] % 16} bytes, or put two of them into one block.",
            "bytes": (size["takes"] - size["size"]) * size["peak_blocks"],
            "share": 0.08,
            "node": None,
            "size": size["size"],
            "threads": None,
        },
    ]
    if len(data["threads"]["name"]) > 1:
        data["findings"].append(
            {
                "kind": "handover",
                "sentence": "Thread 2 frees what thread 1 allocates, most of it within 1 ms.",
                "advice": "Let thread 1 take its buffers back.",
                "bytes": 3 * MIB,
                "share": 0.02,
                "node": None,
                "size": None,
                "threads": [0, 1],
            }
        )


def make(
    seed=1,
    nodes=60,
    slices=64,
    samples=80,
    sizes=30,
    threads=4,
    density=0.3,
    duration=12_400_000_000,
    against=False,
    what_if=False,
    with_map=False,
):
    chance = random.Random(seed)
    data = {"format": "snug.report/1", "snug": "1.2.3", "nodes": make_nodes(chance, nodes)}
    data["series"] = make_series(chance, nodes, slices, density)
    add_slices(data, slices, duration)
    add_totals(data)
    data["trace"] = {
        "file": "service.trace",
        "program": "/usr/local/bin/document-service --config /etc/documents.toml --workers 4",
        "allocator": "glibc 2.36",
        "process": 4711,
        "began_ns": 1_790_000_000_000_000_000,
        "duration_ns": duration,
        "events": data["totals"]["allocated_blocks"] * 2 - data["totals"]["live_at_end_blocks"],
        "threads": threads,
        "has_stacks": True,
        "notes": ["3 damaged chunks were passed over."] if nodes > 50 else [],
    }
    add_samples(chance, data, samples, duration)
    data["sizes"] = make_sizes(chance, data, sizes)
    data["lifetimes"] = make_lifetimes(chance, slices)
    add_threads(chance, data, threads, slices)
    add_findings(data)
    data["what_if"] = make_what_if(data) if what_if else None
    data["map"] = make_map(chance, data) if with_map else None
    data["against"] = make_against(chance, data) if against else None
    return data


def medium():
    return make(seed=7, nodes=420, slices=180, samples=260, sizes=48, threads=9, against=True, what_if=True, with_map=True)


def no_stacks():
    data = make(seed=3, nodes=1)
    data["nodes"] = {"name": [], "bar": [], "place": [], "caller": [], "plumbing": []}
    data["series"], data["at_peak"], data["findings"] = [], {"node": [], "bytes": [], "blocks": []}, data["findings"][2:]
    data["trace"]["has_stacks"] = False
    return data


def no_samples():
    data = make(seed=4, nodes=30, samples=0)
    data["findings"] = []
    return data


def no_events():
    data = make(seed=5, nodes=1, slices=1, samples=0, sizes=0 + 1, threads=1)
    data["series"], data["sizes"], data["findings"] = [[]], [], []
    data["slices"] = {name: [] for name in data["slices"]}
    data["lifetimes"]["cells"] = []
    data["threads"] = {"name": [], "allocated_bytes": [], "allocated_blocks": [], "pairs": []}
    data["totals"] = {name: 0 for name in data["totals"]} | {"resident_peak_bytes": None, "temporary_events": 8}
    data["at_peak"] = {"node": [], "bytes": [], "blocks": []}
    data["trace"] |= {"events": 0, "duration_ns": 0, "threads": 0, "allocator": None}
    return data


def one_event():
    data = make(seed=6, nodes=2, slices=1, samples=1, sizes=1, threads=1, density=1)
    data["trace"]["program"] = "x" * 300 + " </script><b>not markup</b>"
    data["nodes"]["name"][1] = "<img src=x onerror=alert(1)>" + "::y" * 100
    return data


def brief():
    few = {"nodes": 6, "slices": 3, "samples": 2, "sizes": 4, "threads": 2, "duration": 230_000_000}
    data = make(seed=10, density=1, what_if=True, with_map=True, **few)
    data["trace"]["events"] = 48
    data["what_if"]["allocators"][0]["seconds"] = 0.1  # it is the best in everything
    return data


def foreign():
    data = copy.deepcopy(make(nodes=2, slices=2))
    data["format"] = "other/9"
    return data


DATA = {
    "small": make,
    "medium": medium,
    "no_stacks": no_stacks,
    "no_samples": no_samples,
    "no_events": no_events,
    "one_event": one_event,
    "brief": brief,
    "one_thread": lambda: make(seed=8, threads=1),
    "huge": lambda: make(
        seed=9,
        nodes=6000,
        slices=256,
        samples=2000,
        sizes=80,
        threads=33,
        density=0.11,
        against=True,
        what_if=True,
        with_map=True,
    ),
}


def as_script(data):
    """The element that `snug report` puts at the page's marker."""
    return (
        '<script type="application/json" id="snug-data">'
        + json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
        + "</script>"
    )


def main():
    parser = argparse.ArgumentParser(description="Prints made-up data of the page of snug report.")
    parser.add_argument("name", choices=DATA, help="which data")
    json.dump(DATA[parser.parse_args().name](), sys.stdout, separators=(",", ":"))


if __name__ == "__main__":
    main()
