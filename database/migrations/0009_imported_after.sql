-- Which of a program's rows is the later one does not depend on clocks. NULL: measured by this database's tuner, ordered
-- by id. Else the record was imported: the id of the last row measured here before it, 0 if there is none.
ALTER TABLE measurements ADD COLUMN imported_after INTEGER;
DROP TRIGGER measurements_fixed;
-- Records of jobs were measured here; an import brings no job.
-- Related to it are rows of its schedule and, if it is of the untuned schedule, all untuned rows of its problem.
UPDATE measurements SET imported_after = max(
    coalesce((
      SELECT max(n.id) FROM measurements n
        WHERE n.problem_id = measurements.problem_id AND n.job_id != 0 AND n.id < measurements.id
          AND n.finished_unix_ns <= measurements.finished_unix_ns
          AND substr(n.schedule_digest, 1, 8) = substr(measurements.schedule_digest, 1, 8)
          AND n.schedule_digest = measurements.schedule_digest), 0),
    iif(untuned = 1, coalesce((
      SELECT max(n.id) FROM measurements n
        WHERE n.problem_id = measurements.problem_id AND n.job_id != 0 AND n.id < measurements.id
          AND n.finished_unix_ns <= measurements.finished_unix_ns AND n.untuned = 1), 0), 0))
  WHERE job_id = 0;
CREATE TRIGGER measurements_fixed BEFORE UPDATE ON measurements
BEGIN SELECT RAISE (ABORT, 'measurements are append-only'); END;
