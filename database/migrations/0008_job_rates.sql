-- The machine that measured when a job began, and what one core of it was found to reach a second; NULL: not measured. The job
-- goes on with that wherever it is resumed, so that it proposes the same.
CREATE TABLE job_rates (
  job_id             INTEGER PRIMARY KEY REFERENCES jobs (id),
  fingerprint        TEXT NOT NULL,
  flops_per_s        REAL,
  l2_bytes_per_s     REAL,
  shared_bytes_per_s REAL,
  memory_bytes_per_s REAL
) STRICT;
