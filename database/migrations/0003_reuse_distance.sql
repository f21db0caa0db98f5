-- What the network reads and writes between two runs of a kernel is part of the problem; 0: it runs alone, as all
-- did that were measured before. A table is the only way to another UNIQUE; rows keep their ids.
CREATE TABLE problems_of_networks (
  id                   INTEGER PRIMARY KEY,
  workload_id          INTEGER NOT NULL REFERENCES workloads (id),
  binding              TEXT NOT NULL,
  in_layouts           TEXT NOT NULL,
  out_layouts          TEXT NOT NULL,
  target               TEXT NOT NULL,
  threads              INTEGER NOT NULL,
  reuse_distance_bytes INTEGER NOT NULL,
  UNIQUE (workload_id, binding, in_layouts, out_layouts, target, threads, reuse_distance_bytes)
) STRICT;
INSERT INTO problems_of_networks
  SELECT id, workload_id, binding, in_layouts, out_layouts, target, threads, 0 FROM problems;
DROP TABLE problems;
ALTER TABLE problems_of_networks RENAME TO problems;
