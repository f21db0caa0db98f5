-- What was asked of the tuner. States: 1 queued, 2 running, 3 paused, 4 done, 5 failed, 6 cancelled.
CREATE TABLE jobs (
  id               INTEGER PRIMARY KEY AUTOINCREMENT,
  model_name       TEXT NOT NULL,
  model_digest     TEXT NOT NULL,
  model_path       TEXT NOT NULL,
  target           TEXT NOT NULL,
  device           TEXT NOT NULL,
  options          TEXT NOT NULL,
  state            INTEGER NOT NULL CHECK (state BETWEEN 1 AND 6),
  detail           TEXT NOT NULL,
  status_code      INTEGER NOT NULL,        -- of state 5: an absl::StatusCode
  created_unix_ns  INTEGER NOT NULL,
  started_unix_ns  INTEGER NOT NULL,
  finished_unix_ns INTEGER NOT NULL
) STRICT;

-- Where each tuning task of a job stands, enough for another process to go on.
CREATE TABLE job_tasks (
  job_id     INTEGER NOT NULL REFERENCES jobs (id),
  task_index INTEGER NOT NULL,
  problem_id INTEGER NOT NULL REFERENCES problems (id),
  label      TEXT NOT NULL,
  weight     REAL NOT NULL,
  trials     INTEGER NOT NULL,
  best_ns    REAL NOT NULL,
  state      BLOB NOT NULL,
  PRIMARY KEY (job_id, task_index)
) STRICT;
