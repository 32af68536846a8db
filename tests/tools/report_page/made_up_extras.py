"""Parts of the made-up recordings: sizes and lifetimes of blocks; and what only some of them have: a replay on allocators,
a map of the heap, a second trace."""


def live_of(flat, to):
    nbytes = sum(flat[at + 1] - flat[at + 3] for at in range(0, len(flat), 7) if flat[at] <= to)
    return nbytes, sum(flat[at + 2] - flat[at + 4] for at in range(0, len(flat), 7) if flat[at] <= to)


def make_sizes(chance, data, sizes):
    live = data["slices"]["live_bytes"]
    peak = live.index(max(live))
    made = []
    for size in sorted({int(16 * 1.16**step) // 8 * 8 + (8 if step % 3 else 1) for step in range(sizes)}):
        most, kept = 2 + int(4000 / (1 + size / 400)), chance.choice([0.02, 0.3, 0.9])
        series, there, high = [], 0, 0
        for slice_ in range(len(live)):
            came = chance.randrange(most) if chance.random() < 0.4 else 0
            brief = int(came * chance.choice([0, 0.05, 0.7]))
            freed = brief + int((there + came - brief) * (1 - kept) * chance.random())
            there += came - freed
            if slice_ <= peak:
                high = there
            if came or freed:
                series += [slice_, came, freed, brief]
        made.append(
            {
                "size": size,
                "takes": -(-size // 16) * 16 if size < 512 else -(-size // 256) * 256,
                "allocated_blocks": sum(series[1::4]),
                "peak_blocks": high,
                "live_at_end_blocks": there,
                "temporary_blocks": sum(series[3::4]),
                "series": series,
            }
        )
    return sorted(made, key=lambda one: -one["size"] * one["peak_blocks"])


def make_lifetimes(chance, slices):
    """With the bins of snug report, and blocks in some of them."""
    sizes = [0] + [2 << step for step in range(39)]
    lives = [0] + [64 << step for step in range(39)] + [None]
    cells = []
    for slice_ in range(slices):
        for size in range(3, 20):
            for life in [*range(4, 24), len(lives) - 1]:
                if chance.random() > 0.25 or (lives[life] is None and slice_ != slices - 1):
                    continue
                away = 6 if lives[life] is None else life - 9
                blocks = int(2 ** chance.uniform(0, 12) / (1 + (size - 6) ** 2 + away**2 / 2) * 3)
                if blocks:
                    cells += [slice_, size, life, blocks, blocks * sizes[size]]
    return {"size_from": sizes, "life_from_ns": lives, "cells": cells}


def make_what_if(data):
    peak, end, slices = data["totals"]["peak_bytes"], data["totals"]["live_at_end_bytes"], data["slices"]
    rows = [
        ("snug", "1.2.3", 1.12, 1.1, 0.41, 21.4),
        ("glibc", "2.36", 1.31, 1.29, 0.52, 30.2),
        ("jemalloc", "5.3.0", 1.24, 1.18, 0.44, 24.9),
        ("mimalloc", "2.1.2", 1.22, 1.21, 0.39, 19.6),
        ("tcmalloc", "2.10", 1.42, 1.42, 0.43, 23.3),
    ]
    allocators = [
        {
            "name": name,
            "version": version,
            "peak_resident_bytes": int(peak * high),
            "end_resident_bytes": int(end * low),
            "seconds": seconds,
            "mean_ns": mean,
            "ok": True,
            "why": None,
        }
        for name, version, high, low, seconds, mean in rows
    ]
    allocators.append(
        {
            "name": "scudo",
            "version": "",
            "peak_resident_bytes": None,
            "end_resident_bytes": None,
            "seconds": None,
            "mean_ns": None,
            "ok": False,
            "why": "its library is not installed",
        }
    )
    shares = [
        ("as asked for", 1.0),
        ("rounding", 0.06),
        ("free in slabs", 0.05),
        ("caches", 0.03),
        ("kept free pages", 0.12),
        ("own records", 0.02),
    ]
    parts = [{"name": name, "bytes": [int(live * share) + 4096 for live in slices["live_bytes"]]} for name, share in shares]
    return {"speed": "full", "allocators": allocators, "on_snug": {"ns": slices["end_ns"], "parts": parts}}


def make_map(chance, data):
    live, peak = data["slices"]["live_bytes"], max(1, data["totals"]["peak_bytes"])
    rows = 72
    full = [chance.random() for _ in range(rows)]
    columns = []
    for now in live:
        reach = 2 + int((rows - 3) * now / peak)
        columns.append(
            "".join(
                "." if row > reach else "#" if full[row] > 0.7 else str(min(9, int(10 * full[row] * (0.4 + 0.6 * now / peak))))
                for row in range(rows)
            )
        )
    return {
        "ns": data["slices"]["end_ns"],
        "bytes_per_row": 65536,
        "row_address": [hex(0x7F3A40000000 + row * 65536) for row in range(rows)],
        "columns": columns,
    }


def make_against(chance, data):
    flat, slices = [], data["slices"]
    for node, series in enumerate(data["series"]):
        nbytes, blocks = live_of(series, max(range(len(slices["live_bytes"])), key=slices["live_bytes"].__getitem__))
        end, end_blocks = live_of(series, 1 << 30)
        change = chance.choice([1, 1, 0.4, 1.6])
        numbers = [sum(series[1::7]), sum(series[2::7]), nbytes, blocks, end, end_blocks, sum(series[5::7]), sum(series[6::7])]
        if any(numbers):
            flat += [node] + [int(number * change) for number in numbers]
    column = lambda offset: sum(flat[offset::9])
    totals = dict(
        data["totals"],
        allocated_bytes=column(1),
        allocated_blocks=column(2),
        peak_bytes=column(3),
        peak_blocks=column(4),
        live_at_end_bytes=column(5),
        live_at_end_blocks=column(6),
        temporary_bytes=column(7),
        temporary_blocks=column(8),
    )
    return {
        "trace": dict(data["trace"], file="before.trace", notes=[]),
        "totals": totals,
        "nodes": flat,
        "slices": {
            "end_ns": [ns * 9 // 10 for ns in slices["end_ns"]],
            "live_bytes": [live * 5 // 6 for live in slices["live_bytes"]],
        },
    }
