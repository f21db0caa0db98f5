-- Who asked for the job, by the role and name in their certificate: one tuner serves several, and is to share devices between them.
-- '' where nobody was known, as in rows of before.
ALTER TABLE jobs ADD COLUMN submitter TEXT NOT NULL DEFAULT '';
