-- Minutes for which a network was tuned with these threads and allowed numerics: between the measurements of each
-- of its jobs, leaving out pauses, as the tuner itself counts the time of a job that it goes on with.
SELECT coalesce(sum(gap_ns), 0) / 60e9
FROM (
  SELECT finished_unix_ns - lag(finished_unix_ns) OVER (PARTITION BY job_id ORDER BY finished_unix_ns) AS gap_ns
  FROM measurements
  WHERE job_id IN (
    SELECT id FROM jobs
    WHERE model_name = :model
      AND target = :target
      AND json_extract(options, '$.threads') = :threads
      AND json_extract(options, '$.allowed_numerics') = :allow))  -- as JSON
WHERE gap_ns < 30e9;
