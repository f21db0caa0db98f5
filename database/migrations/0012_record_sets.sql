-- Sets of records that were pulled, and what each of them has.
CREATE TABLE record_sets (
  id              INTEGER PRIMARY KEY,
  name            TEXT NOT NULL,
  signer          BLOB NOT NULL,     -- SHA-256 of the public key
  version         INTEGER NOT NULL,
  manifest        BLOB NOT NULL,     -- SHA-256
  device_class    TEXT NOT NULL,
  made_by         TEXT NOT NULL,     -- as it says itself
  source          TEXT NOT NULL,     -- the folder or URL that it was pulled from
  created_unix_ns INTEGER NOT NULL,
  pulled_unix_ns  INTEGER NOT NULL,
  UNIQUE (name, signer, version)
) STRICT;

CREATE TABLE set_records (
  measurement_id INTEGER NOT NULL REFERENCES measurements (id),
  set_id         INTEGER NOT NULL REFERENCES record_sets (id),
  brought        INTEGER NOT NULL,   -- 1: the record was not here before
  PRIMARY KEY (measurement_id, set_id)
) STRICT, WITHOUT ROWID;
