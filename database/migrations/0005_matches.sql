-- Of what was timed in turns with others: when that match began, and the bounds by which it compares with them.
-- median_ns is then what the match tells, by ratios of times of one round, and no function of the samples alone.
ALTER TABLE measurements ADD COLUMN match_unix_ns INTEGER;
ALTER TABLE measurements ADD COLUMN match_low_ns REAL;
ALTER TABLE measurements ADD COLUMN match_high_ns REAL;
-- The schedule of a build without tuning is the one that was last called so.
DROP INDEX measurements_untuned;
CREATE INDEX measurements_untuned ON measurements (problem_id, id) WHERE untuned = 1;
