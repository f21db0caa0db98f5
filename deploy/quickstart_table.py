#!/usr/bin/env python3
"""Prints what tuning brought, from the JSON that `compiler build` and `compiler bench --profile` wrote.

Usage: quickstart_table.py FOLDER, which holds before.json and after.json (the builds' reports) and
bench.{before,after}.N.json (their benchmarks, taken in turns). Times are the least of the rounds' medians: what
else the machine does only ever adds. Where that is a lot, the fastest run says more than the median.
"""

import json
import pathlib
import sys


def load(path):
    return json.loads(path.read_text())


def kernel_ns(rounds):
    """Nanoseconds of each call, by its place in the network."""
    return [min(calls) for calls in zip(*([k["median_ns"] for k in r["kernels"]] for r in rounds))]


def by_task(rounds):
    """Key of each task -> (nanoseconds, FLOPs) of all its calls in one run of the network."""
    tasks = {}
    for kernel, ns in zip(rounds[0]["kernels"], kernel_ns(rounds)):
        total_ns, flops = tasks.get(kernel["key"], (0.0, 0.0))
        tasks[kernel["key"]] = (total_ns + ns, flops + kernel["flops"])
    return tasks


def main():
    folder = pathlib.Path(sys.argv[1])
    rounds = {m: [load(p) for p in sorted(folder.glob(f"bench.{m}.*.json"))] for m in ("before", "after")}
    before, after = by_task(rounds["before"]), by_task(rounds["after"])
    peak = max(r["peak_gflops"] for rs in rounds.values() for r in rs)
    report = load(folder / "after.json")["tasks"]

    width = max(len(t["label"]) for t in report)
    print(f"{'task':{width}} {'calls':>5} {'before':>10} {'after':>10} {'gain':>6} {'GFLOP/s':>8} {'of peak':>8}")
    for task in report:
        old_ns, _ = before[task["key"]]
        new_ns, flops = after[task["key"]]
        rate = flops / new_ns
        print(f"{task['label']:{width}} {task['count']:5} {old_ns / 1e3:7.1f} us {new_ns / 1e3:7.1f} us "
              f"{old_ns / new_ns:5.2f}x {rate:8.1f} {rate / peak:8.1%}{'' if task['hit'] else '  untuned'}")

    old_ns, new_ns = (sum(ns for ns, _ in tasks.values()) for tasks in (before, after))
    rate = sum(flops for _, flops in after.values()) / new_ns
    print(f"{'all tasks':{width}} {sum(t['count'] for t in report):5} {old_ns / 1e3:7.1f} us {new_ns / 1e3:7.1f} us "
          f"{old_ns / new_ns:5.2f}x {rate:8.1f} {rate / peak:8.1%}")
    print("\nlatency of the network, 1 thread:")
    for name, field in (("median", "median_ms"), ("fastest run", "min_ms")):
        old_ms, new_ms = (min(r[field] for r in rounds[m]) for m in ("before", "after"))
        print(f"  {name:12} {old_ms:7.3f} ms before, {new_ms:7.3f} ms after  {old_ms / new_ms:.2f}x")
    print(f"{sum(t['hit'] for t in report)} of {len(report)} tasks are built from the database")
    print(f"FMA peak of the core, as measured: {peak:.0f} GFLOP/s")


if __name__ == "__main__":
    main()
