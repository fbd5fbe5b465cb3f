-- Generations, what they made, and what that cost by day. An asset's three columns are null while there is no file.

CREATE TABLE generations (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  model TEXT NOT NULL,
  kind TEXT NOT NULL,
  status TEXT NOT NULL,
  input TEXT NOT NULL,
  ready_at TEXT NOT NULL,
  step_at TEXT NOT NULL,
  created_at TEXT NOT NULL,
  completed_at TEXT,
  handle TEXT,
  cost_micros BIGINT NOT NULL,
  content_type TEXT,
  bytes BIGINT,
  etag TEXT,
  error_code TEXT,
  error_message TEXT
);
CREATE INDEX generations_listed ON generations (organization_id, id);
CREATE INDEX generations_waiting ON generations (ready_at, id) WHERE status = 'queued';
CREATE INDEX generations_running ON generations (id) WHERE status = 'in_progress';
CREATE INDEX generations_with_file ON generations (completed_at) WHERE content_type IS NOT NULL;

-- Counted in the transaction that completes a generation, so that a bill needs no walk over all of them.
CREATE TABLE generation_usage (
  organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  date TEXT NOT NULL,
  model TEXT NOT NULL,
  generations BIGINT NOT NULL,
  cost_micros BIGINT NOT NULL,
  PRIMARY KEY (organization_id, date, model)
);
