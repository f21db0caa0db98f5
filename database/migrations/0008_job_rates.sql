-- What one core of the machine that measures was found to reach when a job began, a second; NULL: not measured. The job goes on
-- with that wherever it is resumed, so that it proposes the same.
CREATE TABLE job_rates (
  job_id             INTEGER PRIMARY KEY REFERENCES jobs (id),
  flops_per_s        REAL,
  l2_bytes_per_s     REAL,
  shared_bytes_per_s REAL,
  memory_bytes_per_s REAL
) STRICT;
