-- 95% bounds of the median, a function of the samples as that is: for those who read with SQL, and NULL in rows of before.
ALTER TABLE measurements ADD COLUMN low_ns REAL;
ALTER TABLE measurements ADD COLUMN high_ns REAL;
-- Whether it is the schedule of a build without tuning, which another replaces only if it is surely faster.
ALTER TABLE measurements ADD COLUMN untuned INTEGER NOT NULL DEFAULT 0;
CREATE INDEX measurements_untuned ON measurements (problem_id) WHERE untuned = 1;
-- For those who read all that was measured of a problem, in order.
CREATE INDEX measurements_problem ON measurements (problem_id, id);
