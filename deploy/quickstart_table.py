#!/usr/bin/env python3
"""Prints what tuning changed, from the JSON that `compiler build` and `compiler bench --profile` wrote.

Usage: quickstart_table.py FOLDER

FOLDER holds before.json and after.json (the reports of the two builds) and bench.{before,after}.N.json (their benchmarks,
taken in turns). Each time is the smallest of the rounds' medians, because other programs on the machine only ever add time.

The two builds may have different tasks: tuning can change the layout of a tensor, which adds or removes copies and makes
other tasks of the kernels around it. So kernels are matched by the operator of the network that they compute.
"""

import collections
import json
import pathlib
import sys

NAMES = {"": "row-major", "0,2,3,1": "NHWC"}


def load(path):
    return json.loads(path.read_text())


def layout_name(text):
    """ "0,1,2,3,1:8" -> "NCHW8c"; other layouts keep their text."""
    plain, _, block = text.partition(",1:")
    if text in NAMES:
        return NAMES[text]
    return f"NCHW{block}c" if plain == "0,1,2,3" and block.isdigit() else text


class Build:
    """One build: its tasks, and the time of each operator in it."""

    def __init__(self, folder, name):
        self.tasks = load(folder / f"{name}.json")["tasks"]
        self.rounds = [load(path) for path in sorted(folder.glob(f"bench.{name}.*.json"))]
        self.ns = collections.Counter()
        self.flops = collections.Counter()
        medians = [[kernel["median_ns"] for kernel in bench["kernels"]] for bench in self.rounds]
        for kernel, ns in zip(self.rounds[0]["kernels"], map(min, zip(*medians))):
            self.ns[kernel["name"]] += ns
            self.flops[kernel["name"]] += kernel["flops"]
        self.layouts = {}
        for task in self.tasks:
            for operator in task["nodes"]:
                self.layouts.setdefault(operator, (task["in_layouts"], task["out_layouts"]))

    def best(self, field):
        return min(bench[field] for bench in self.rounds)


def layout_change(before, after, operators):
    """What differs between the layouts of these operators in the two builds, in words; "" if nothing does."""
    changes = []
    for operator in operators:
        old, new = before.layouts.get(operator), after.layouts.get(operator)
        if old is None or new is None:
            continue
        for side, one, other in zip(("in", "out"), old, new):
            if one == other:
                continue
            text = f"{side} {' '.join(map(layout_name, one))} -> {' '.join(map(layout_name, other))}"
            if text not in changes:
                changes.append(text)
    return "; ".join(changes)


def microseconds(ns):
    return f"{ns / 1e3:7.1f} us" if ns is not None else f"{'-':>10}"


def row(width, label, calls, old_ns, new_ns, flops, peak, note=""):
    gain = f"{old_ns / new_ns:5.2f}x" if old_ns and new_ns else f"{'-':>6}"
    rate = f"{flops / new_ns:8.1f} {flops / new_ns / peak:8.1%}" if new_ns else f"{'-':>8} {'-':>8}"
    print(f"{label:{width}} {calls:5} {microseconds(old_ns)} {microseconds(new_ns)} {gain} {rate}{note and '  ' + note}")


def total(counter, operators):
    """The sum over those of the operators that the build has, or None if it has none of them."""
    known = [counter[operator] for operator in operators if operator in counter]
    return sum(known) if known else None


def print_kernels(before, after, peak):
    width = max(len(task["label"]) for build in (before, after) for task in build.tasks)
    print(f"{'task':{width}} {'calls':>5} {'before':>10} {'after':>10} {'gain':>6} {'GFLOP/s':>8} {'of peak':>8}")
    changed = 0
    seen = set()
    for task in after.tasks:
        operators = [operator for operator in dict.fromkeys(task["nodes"]) if operator not in seen]
        seen.update(operators)
        change = layout_change(before, after, operators)
        old_ns = total(before.ns, operators)
        if change:
            changed += 1
        elif old_ns is None and operators:
            change = "only in the tuned build"
        notes = [note for note in ("" if task["hit"] else "untuned", change) if note]
        row(width, task["label"], task["count"], old_ns, total(after.ns, operators),
            total(after.flops, operators) or 0, peak, "; ".join(notes))
    for task in before.tasks:
        operators = [operator for operator in dict.fromkeys(task["nodes"])
                     if operator not in seen and operator not in after.ns]
        seen.update(operators)
        if operators:
            row(width, task["label"], len(operators), total(before.ns, operators), None, 0, peak,
                "only in the untuned build")
    row(width, "all tasks", sum(task["count"] for task in after.tasks), sum(before.ns.values()),
        sum(after.ns.values()), sum(after.flops.values()), peak)
    return changed


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: quickstart_table.py FOLDER")
    folder = pathlib.Path(sys.argv[1])
    before, after = Build(folder, "before"), Build(folder, "after")
    peak = max(bench["peak_gflops"] for build in (before, after) for bench in build.rounds)
    changed = print_kernels(before, after, peak)
    print("\nlatency of the network, 1 thread:")
    for name, field in (("median", "median_ms"), ("fastest run", "min_ms")):
        old_ms, new_ms = before.best(field), after.best(field)
        print(f"  {name:12} {old_ms:7.3f} ms before, {new_ms:7.3f} ms after  {old_ms / new_ms:.2f}x")
    print(f"{sum(task['hit'] for task in after.tasks)} of {len(after.tasks)} tasks are built from the database")
    if changed:
        print(f"{changed} of {len(after.tasks)} tasks read or write tensors in another layout than in the untuned build")
    print(f"FMA peak of the core, as measured: {peak:.0f} GFLOP/s")


if __name__ == "__main__":
    main()
