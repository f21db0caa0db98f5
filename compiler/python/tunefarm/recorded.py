"""What databases hold, as rows."""

import os

from . import programs


def records(db, *, job=None, only_ok=False, tls=None):
    """All measurements of a database as a list of dicts, in chronological order: pandas.DataFrame(tf.records(db)).

    db: FILE, "FILE.jsonl", or "tuner://HOST:PORT" of a running tuner. tls: folder of a certificate, for a secured tuner.
    job: only measurements of this job. only_ok: without failures and early-stopped measurements.

    Each dict has: key (SHA-256 of the workload's text, hexadecimal), op (for display), flops, target, binding, threads,
    in_layouts, out_layouts, reuse_distance_bytes, device_class, device_model, outcome ("ok", "wrong_output", …), detail,
    median_ns, low_ns and high_ns (95% bounds; None without a time), samples (their number), gflops (10^9 operations a second),
    max_error (relative to its bound; above 1 is wrong), untuned, numerics (joined by commas), schedule, choices, cache_mode,
    clock_mhz, temperature_c, throttled, finished_unix_ns. Raises Error if there is no such database.
    """
    workloads, rows = {}, []
    for line in programs.run_lines("tuner", "export", "--db", os.fspath(db), "-o", "-",
                                   *programs.options(job=job, only_ok=only_ok, tls=tls)):
        if line["type"] == "workload":
            workloads[line["key"]] = line
        elif line["type"] == "measurement":
            rows.append(_row(line, workloads[line["problem"]["workload"]]))
    return rows


def _row(line, workload):
    problem, device = line["problem"], line["device"]
    median_ns = line.get("median_ns")
    low_ns, high_ns = line.get("interval_ns", (None, None))
    return {
        "key": problem["workload"],
        "op": workload["op"],
        "flops": workload["flops"],
        "target": problem["target"],
        "binding": problem["binding"],
        "threads": problem["threads"],
        "in_layouts": problem["in_layouts"],
        "out_layouts": problem["out_layouts"],
        "reuse_distance_bytes": problem.get("reuse_distance_bytes", 0),
        "device_class": device["class"],
        "device_model": device["model"],
        "outcome": line["outcome"],
        "detail": line["detail"],
        "median_ns": median_ns,
        "low_ns": low_ns,
        "high_ns": high_ns,
        "samples": len(line["samples"]),
        "gflops": workload["flops"] / median_ns if median_ns else None,
        "max_error": line["max_error"],
        "untuned": line.get("untuned", False),
        "numerics": ",".join(line["numerics"]),
        "schedule": line["schedule"],
        "choices": line["slot_values"],
        "cache_mode": line["cache_mode"],
        "clock_mhz": device["clock_mhz"],
        "temperature_c": device["temperature_c"],
        "throttled": device["throttled"],
        "finished_unix_ns": line["finished_unix_ns"],
    }


def best(db, key=None, *, target=None, device=None, threads=None, allow=None, top=None, tls=None):
    """The schedules that a build uses from a database: the best known one of each kernel, as a list of dicts.

    db: FILE, "FILE.jsonl" or "tuner://HOST:PORT", or a list of these. tls: folder of a certificate. key: only this workload, given
    by at least the first 6 digits. target, device (class), threads, allow: only matching kernels. top: the N fastest schedules of
    each kernel instead, even if a build would not use them.

    Each dict has: key, op, target, threads, device_class, device_model, median_ns, interval_ns, gflops, untuned, why (a build uses
    it), numerics, max_error, schedule, record (digest), measured_unix_ns. Raises Error if there is no such database.
    """
    return programs.run_json("tuner", "best", *([key] if key else []), "--json",
                             *programs.options(db=db, target=target, device=device, threads=threads, top=top, tls=tls),
                             *programs.network_options(allow=allow))
