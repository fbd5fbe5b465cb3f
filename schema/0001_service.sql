-- One set for both engines: TEXT, INTEGER, BIGINT; instants are ISO 8601 text in UTC; JSON is text; `*_folded` is a
-- copy without case, written by the program, because the engines fold differently.

CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
);

CREATE TABLE organizations (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  name_folded TEXT NOT NULL UNIQUE,
  plan TEXT NOT NULL,
  created_at TEXT NOT NULL
);

CREATE TABLE users (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  email TEXT NOT NULL,
  email_folded TEXT NOT NULL,
  role TEXT NOT NULL,
  status TEXT NOT NULL,
  joined_at TEXT NOT NULL,
  UNIQUE (organization_id, email_folded)
);
CREATE INDEX users_listed ON users (organization_id, status, id);

CREATE TABLE api_keys (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE,
  scopes TEXT NOT NULL,
  rate_limit INTEGER,
  expires_at TEXT,
  last_used_at TEXT,
  created_at TEXT NOT NULL
);
CREATE INDEX api_keys_listed ON api_keys (organization_id, id);
CREATE INDEX api_keys_of_user ON api_keys (user_id, id);

CREATE TABLE invitations (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  email TEXT NOT NULL,
  email_folded TEXT NOT NULL,
  role TEXT NOT NULL,
  token_hash TEXT NOT NULL UNIQUE,
  invited_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  UNIQUE (organization_id, email_folded)
);
CREATE INDEX invitations_listed ON invitations (organization_id, id);
CREATE INDEX invitations_expiring ON invitations (expires_at);

CREATE TABLE projects (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  name_folded TEXT NOT NULL,
  region TEXT NOT NULL,
  description TEXT,
  status TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  UNIQUE (organization_id, name_folded)
);
CREATE INDEX projects_listed ON projects (organization_id, id);

CREATE TABLE environments (
  project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  variables TEXT NOT NULL,
  PRIMARY KEY (project_id, name)
);

CREATE TABLE deployments (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  environment TEXT NOT NULL,
  status TEXT NOT NULL,
  source TEXT NOT NULL,
  version TEXT,
  restores TEXT,
  ready_at TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  step_at TEXT NOT NULL,
  completed_at TEXT,
  deployed_at TEXT,
  log_entries INTEGER NOT NULL,
  log_bytes BIGINT NOT NULL
);
CREATE INDEX deployments_listed ON deployments (organization_id, id);
CREATE INDEX deployments_by_status ON deployments (organization_id, status, id);
CREATE INDEX deployments_by_environment ON deployments (organization_id, environment, id);
CREATE INDEX deployments_of_project ON deployments (project_id, id);
CREATE INDEX deployments_of_project_by_status ON deployments (project_id, status, id);
CREATE INDEX deployments_of_environment ON deployments (project_id, environment, id);
CREATE INDEX deployments_released ON deployments (project_id, environment, id) WHERE status = 'active';
CREATE INDEX deployments_queue ON deployments (project_id, environment, id) WHERE status = 'queued';
-- The guard of "first in, first out: one builds or rolls out at a time".
CREATE UNIQUE INDEX deployments_running ON deployments (project_id, environment) WHERE status IN ('building', 'deploying');

CREATE TABLE deployment_logs (
  deployment_id TEXT NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  organization_id TEXT NOT NULL,
  timestamp TEXT NOT NULL,
  level TEXT NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (deployment_id, seq)
);

CREATE TABLE events (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  event TEXT NOT NULL,
  timestamp TEXT NOT NULL,
  data TEXT NOT NULL
);
CREATE INDEX events_listed ON events (organization_id, id);

CREATE TABLE jobs (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  args TEXT NOT NULL,
  state TEXT NOT NULL,
  run_at TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  crashes INTEGER NOT NULL,
  lease_owner TEXT,
  lease_until TEXT
);
CREATE INDEX jobs_due ON jobs (run_at, id) WHERE state = 'waiting';
CREATE INDEX jobs_leased ON jobs (lease_until) WHERE state = 'running';

CREATE TABLE mails (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  recipient TEXT NOT NULL,
  subject TEXT NOT NULL,
  sealed TEXT NOT NULL,
  sent_at TEXT NOT NULL
);
CREATE INDEX mails_by_time ON mails (sent_at);

CREATE TABLE rate_windows (
  bucket TEXT PRIMARY KEY,
  started_at BIGINT NOT NULL,
  requests INTEGER NOT NULL
);
CREATE INDEX rate_windows_by_time ON rate_windows (started_at);

CREATE TABLE idempotency_keys (
  api_key_id TEXT NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  name TEXT NOT NULL,
  body_hash TEXT NOT NULL,
  status INTEGER NOT NULL,
  headers TEXT NOT NULL,
  body TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (api_key_id, path, name)
);
CREATE INDEX idempotency_keys_by_time ON idempotency_keys (created_at);
