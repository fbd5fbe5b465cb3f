-- Sign-ins of the dashboard. A session ends with its key, its user or itself; only a hash of its token is stored.
CREATE TABLE sessions (
  hash TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  api_key_id TEXT NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL
);
CREATE INDEX sessions_by_key ON sessions (api_key_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
