-- What is computed: canonical text under its SHA-256.
CREATE TABLE workloads (
  id    INTEGER PRIMARY KEY,
  key   BLOB NOT NULL UNIQUE,
  text  TEXT NOT NULL,
  op    TEXT NOT NULL,
  flops REAL
) STRICT;

-- What a schedule is the answer to. Layout lists are joined by ';', an all-row-major list is ''.
CREATE TABLE problems (
  id          INTEGER PRIMARY KEY,
  workload_id INTEGER NOT NULL REFERENCES workloads (id),
  binding     TEXT NOT NULL,
  in_layouts  TEXT NOT NULL,
  out_layouts TEXT NOT NULL,
  target      TEXT NOT NULL,
  threads     INTEGER NOT NULL,
  UNIQUE (workload_id, binding, in_layouts, out_layouts, target, threads)
) STRICT;

-- One row a measurement, append-only. The best answer to a problem is a query over these rows.
CREATE TABLE measurements (
  id                INTEGER PRIMARY KEY AUTOINCREMENT,
  digest            BLOB NOT NULL UNIQUE,   -- names the record in tuning.lock and in other databases
  problem_id        INTEGER NOT NULL REFERENCES problems (id),
  schedule          TEXT NOT NULL,
  schedule_digest   BLOB NOT NULL,
  semantics_version INTEGER NOT NULL,
  sketch_hash       TEXT NOT NULL,
  slot_values       TEXT NOT NULL,          -- integers joined by ','
  numerics          TEXT NOT NULL,          -- names joined by ','
  outcome           INTEGER NOT NULL CHECK (outcome BETWEEN 1 AND 8),
  detail            TEXT NOT NULL,
  samples           BLOB NOT NULL,          -- int64 total_ns, uint32 iterations, little-endian, each
  median_ns         REAL,                   -- of the samples; a function of them, kept for the index
  cache_mode        INTEGER NOT NULL,
  max_error         REAL,                   -- NULL: not a number, here and below
  device_class      TEXT NOT NULL,
  fingerprint       TEXT NOT NULL,
  model             TEXT NOT NULL,
  clock_mhz         REAL,
  temperature_c     REAL,
  throttled         INTEGER NOT NULL,
  governor          TEXT NOT NULL,
  load_1min         REAL,
  artifact_digest   TEXT NOT NULL,
  code_digest       TEXT NOT NULL,
  slot              TEXT,
  lease_id          TEXT,
  epoch             INTEGER,
  sequence          INTEGER,
  job_id            INTEGER NOT NULL,       -- 0: none
  finished_unix_ns  INTEGER NOT NULL
) STRICT;

CREATE INDEX measurements_best ON measurements (problem_id, outcome, median_ns, id);
CREATE INDEX measurements_program ON measurements (problem_id, schedule_digest);
CREATE INDEX measurements_job ON measurements (job_id) WHERE job_id != 0;
CREATE UNIQUE INDEX measurements_lease ON measurements (lease_id, epoch, sequence) WHERE lease_id IS NOT NULL;

CREATE TRIGGER measurements_keep BEFORE DELETE ON measurements
BEGIN SELECT RAISE (ABORT, 'measurements are append-only'); END;
CREATE TRIGGER measurements_fixed BEFORE UPDATE ON measurements
BEGIN SELECT RAISE (ABORT, 'measurements are append-only'); END;

-- The highest epoch that a result of each slot has carried.
CREATE TABLE fences (
  slot  TEXT PRIMARY KEY,
  epoch INTEGER NOT NULL
) STRICT;

-- "Could not measure": no word about the candidate.
CREATE TABLE attempts (
  id              INTEGER PRIMARY KEY,
  problem_id      INTEGER NOT NULL REFERENCES problems (id),
  schedule        TEXT NOT NULL,
  artifact_digest TEXT NOT NULL,
  status_code     TEXT NOT NULL,
  detail          TEXT NOT NULL,
  lease_id        TEXT NOT NULL,
  epoch           INTEGER NOT NULL,
  job_id          INTEGER NOT NULL,
  time_unix_ns    INTEGER NOT NULL
) STRICT;
CREATE INDEX attempts_job ON attempts (job_id);
