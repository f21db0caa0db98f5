-- Which kernels a job's network calls, for people, as its model said when the job began: the model itself is gone when the job
-- is over. JSON of tune/v1/report.proto's NetworkReport, without times.
CREATE TABLE job_networks (
  job_id  INTEGER PRIMARY KEY REFERENCES jobs (id),
  network TEXT NOT NULL
) STRICT;
