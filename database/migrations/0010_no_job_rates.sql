-- A resumed job starts from the records, as any other job, and reads the rates of the machine that measures now.
DROP TABLE job_rates;
