-- Webhooks and integrations are endpoints alike: one outbox serves both. `sealed` holds what must not lie readable.

CREATE TABLE endpoints (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  family TEXT NOT NULL,
  type TEXT NOT NULL,
  name TEXT NOT NULL,
  status TEXT NOT NULL,
  events TEXT NOT NULL,
  config TEXT NOT NULL,
  sealed TEXT NOT NULL,
  succeeded_at TEXT,
  created_at TEXT NOT NULL
);
CREATE INDEX endpoints_listed ON endpoints (organization_id, family, id);

CREATE TABLE deliveries (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  endpoint_id TEXT NOT NULL REFERENCES endpoints (id) ON DELETE CASCADE,
  event_id TEXT NOT NULL,
  event TEXT NOT NULL,
  target TEXT NOT NULL,
  body TEXT NOT NULL,
  status TEXT NOT NULL,
  created_at TEXT NOT NULL,
  next_attempt_at TEXT,
  tries INTEGER NOT NULL,
  rung INTEGER NOT NULL
);
CREATE INDEX deliveries_listed ON deliveries (endpoint_id, id);
CREATE INDEX deliveries_due ON deliveries (endpoint_id, next_attempt_at, id) WHERE status = 'pending';

CREATE TABLE delivery_attempts (
  delivery_id TEXT NOT NULL REFERENCES deliveries (id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  organization_id TEXT NOT NULL,
  at TEXT NOT NULL,
  status INTEGER,
  duration_ms INTEGER NOT NULL,
  error TEXT,
  response TEXT,
  PRIMARY KEY (delivery_id, number)
);

-- Inbound pushes: what was pushed, which project deploys a repository, and which push was taken already.
ALTER TABLE deployments ADD COLUMN revision TEXT;
ALTER TABLE deployments ADD COLUMN repo TEXT;
CREATE INDEX deployments_of_repo ON deployments (organization_id, repo, id) WHERE repo IS NOT NULL;
CREATE INDEX endpoints_by_type ON endpoints (type, id);

CREATE TABLE pushes (
  id TEXT PRIMARY KEY,
  received_at TEXT NOT NULL
);
CREATE INDEX pushes_by_time ON pushes (received_at);
