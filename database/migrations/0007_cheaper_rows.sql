-- Every insert writes the page of each index that its row belongs to: what no query needs costs a page a row, and
-- what is short shares its pages with more rows.
DROP INDEX IF EXISTS measurements_best;
CREATE INDEX measurements_best ON measurements (problem_id, median_ns) WHERE outcome = 1;
DROP INDEX IF EXISTS measurements_program;
CREATE INDEX measurements_program ON measurements (problem_id, substr(schedule_digest, 1, 8));
DROP INDEX IF EXISTS measurements_problem;

-- By (lease_id, epoch, sequence), which is unique, the row that holds that result. Leases are numbered as they come, so
-- that the results of those in force stand together.
CREATE TABLE leases (
  id       INTEGER PRIMARY KEY,
  lease_id TEXT NOT NULL,
  epoch    INTEGER NOT NULL,
  UNIQUE (lease_id, epoch)
) STRICT;
CREATE TABLE lease_results (
  lease          INTEGER NOT NULL REFERENCES leases (id),
  sequence       INTEGER NOT NULL,
  measurement_id INTEGER NOT NULL REFERENCES measurements (id),
  PRIMARY KEY (lease, sequence)
) STRICT, WITHOUT ROWID;
INSERT INTO leases (lease_id, epoch)
  SELECT lease_id, epoch FROM measurements
    WHERE lease_id IS NOT NULL AND epoch IS NOT NULL AND sequence IS NOT NULL
    GROUP BY lease_id, epoch ORDER BY min(id);
INSERT INTO lease_results (lease, sequence, measurement_id)
  SELECT l.id, m.sequence, m.id FROM measurements m JOIN leases l ON l.lease_id = m.lease_id AND l.epoch = m.epoch
    WHERE m.sequence IS NOT NULL;
DROP INDEX IF EXISTS measurements_lease;

CREATE TRIGGER leases_keep BEFORE DELETE ON leases
BEGIN SELECT RAISE (ABORT, 'leases are append-only'); END;
CREATE TRIGGER leases_fixed BEFORE UPDATE ON leases
BEGIN SELECT RAISE (ABORT, 'leases are append-only'); END;
CREATE TRIGGER lease_results_keep BEFORE DELETE ON lease_results
BEGIN SELECT RAISE (ABORT, 'lease_results are append-only'); END;
CREATE TRIGGER lease_results_fixed BEFORE UPDATE ON lease_results
BEGIN SELECT RAISE (ABORT, 'lease_results are append-only'); END;
