-- Projects that were deleted and hold more than one transaction takes away: nobody sees them or what is in them any more,
-- while the job `projects.clear` removes their rows.

CREATE TABLE removals (
  project_id TEXT PRIMARY KEY REFERENCES projects (id) ON DELETE CASCADE
);

-- The answers of a key that is deleted stay until the day is over, as all do: taking them away with it could take seconds.
CREATE TABLE idempotency_answers (
  api_key_id TEXT NOT NULL,
  path TEXT NOT NULL,
  name TEXT NOT NULL,
  body_hash TEXT NOT NULL,
  status INTEGER NOT NULL,
  headers TEXT NOT NULL,
  sealed TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (api_key_id, path, name)
);
INSERT INTO idempotency_answers SELECT * FROM idempotency_keys;
DROP TABLE idempotency_keys;
ALTER TABLE idempotency_answers RENAME TO idempotency_keys;
CREATE INDEX idempotency_keys_by_time ON idempotency_keys (created_at);
