#!/usr/bin/python3
"""What a call of a model from Python costs over the same call from C, in turns.

    PYTHONPATH=build/release/python tests/bench/python/call_cost.py [--rounds N] [--tune TRIALS] [--json FILE]

Squeezenet, tuned first if TRIALS are given, and a small perceptron, on one thread, with aligned arrays: C calls NAME_run through
ctypes with prepared arguments, whose own cost is taken off by calling a function that does nothing the same way. Each round calls
each way once, in an order of its own; printed are the median of C, and of the differences to it with 95% bounds. Numbers of a
machine on which nothing else works. The overhead does not depend on the network: the perceptron, which is short, tells it best.
"""

import argparse
import ctypes
import json
import random
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import tunefarm as tf

NETWORKS = ("mlp", "squeezenet")


def c_call(model, inputs, outputs):
    """A function that calls the model's own C interface, as a C program does, with these arrays."""
    library = ctypes.CDLL(str(model.folder / "model.so"))
    prefix = ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(library, "tf_model_prefix"))).decode()
    handle = ctypes.c_void_p()
    if getattr(library, prefix + "_open")(1, ctypes.byref(handle)) != 0:
        raise SystemExit("the model cannot be opened")
    run = getattr(library, prefix + "_run")
    run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    pointers = [(ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays)) for arrays in (inputs, outputs)]
    arguments = (handle, ctypes.addressof(pointers[0]), ctypes.addressof(pointers[1]))
    nothing = ctypes.CDLL(None).abs  # takes one number, does nothing
    nothing.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    keep = (library, pointers, inputs, outputs)
    return lambda: run(*arguments), lambda: nothing(*arguments), keep


def timed(call):
    start = time.perf_counter_ns()
    call()
    return time.perf_counter_ns() - start


def bounds(values):
    """The median, and the order statistics that enclose it with 95%."""
    ordered, half = sorted(values), 0.98 * len(values)**0.5
    middle = len(values) / 2
    return statistics.median(ordered), ordered[max(0, int(middle - half))], ordered[min(len(values) - 1, int(middle + half))]


def compare(name, rounds, trials, is_c_first):
    with tempfile.TemporaryDirectory() as folder:
        network = tf.zoo(name, Path(folder) / f"{name}.onnx")
        built = tf.tune(network, Path(folder) / "tune.db", trials=trials).compile() if trials else tf.compile(network)
        inputs, outputs = [[tf.empty(info.shape, info.dtype) for info in infos] for infos in (built.inputs, built.outputs)]
        for array in inputs:
            array[...] = np.random.default_rng(1).random(array.shape)
        loose = [np.copy(array) for array in inputs]
        # In both orders: what is opened first may lie better in memory, which is none of Python's cost.
        if is_c_first:
            in_c, nothing, keep = c_call(built, inputs, outputs)
        model = tf.Model.load(built.folder)
        if not is_c_first:
            in_c, nothing, keep = c_call(built, inputs, outputs)
        ways = {"C": in_c, "nothing": nothing, "Python": lambda: model(*inputs),
                "Python, out=": lambda: model(*inputs, out=outputs), "Python, unaligned": lambda: model(*loose)}
        times = {way: [] for way in ways}
        for way in ways.values():
            for _ in range(3):
                way()
        order = list(ways)
        for _ in range(rounds):
            for way in random.sample(order, len(order)):
                times[way].append(timed(ways[way]))
        in_c_ns = [c - statistics.median(times["nothing"]) for c in times["C"]]
        row = {"network": name, "opened first": "C" if is_c_first else "Python", "C, us": round(statistics.median(in_c_ns) / 1e3, 2)}
        for way in order[2:]:
            row[f"{way} over C, us"] = [round(value / 1e3, 2) for value in bounds([p - c for p, c in zip(times[way], in_c_ns)])]
        del keep
        return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--tune", type=int, metavar="TRIALS")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    rows = [compare(name, options.rounds, options.tune, is_c_first) for name in NETWORKS for is_c_first in (True, False)]
    for row in rows:
        print(", ".join(f"{key}: {'{} ({} to {})'.format(*value) if isinstance(value, list) else value}" for key, value in row.items()))
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")


main()
