-- What the comparison of two whole builds said of a network, and what its builds take from then on: a line as `tuner export`
-- writes it.
CREATE TABLE network_verdicts (
  key             BLOB PRIMARY KEY,
  decided_unix_ns INTEGER NOT NULL,
  line            TEXT NOT NULL
) STRICT;

-- Times of kernels inside a network decided before. No measurement has them any more.
DROP TRIGGER lease_results_keep;
DELETE FROM lease_results WHERE measurement_id IN (SELECT id FROM measurements WHERE cache_mode = 3);
CREATE TRIGGER lease_results_keep BEFORE DELETE ON lease_results
BEGIN SELECT RAISE (ABORT, 'lease_results are append-only'); END;
DROP TRIGGER measurements_keep;
DELETE FROM measurements WHERE cache_mode = 3;
CREATE TRIGGER measurements_keep BEFORE DELETE ON measurements
BEGIN SELECT RAISE (ABORT, 'measurements are append-only'); END;
