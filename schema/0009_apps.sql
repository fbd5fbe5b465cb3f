-- What really runs: the live release of each environment, its hosts, and what it prints.

-- The commit or digest of a version, the stored release that holds it, and the runtime that made it. All are null for
-- simulated work.
ALTER TABLE deployments ADD COLUMN pin TEXT;
ALTER TABLE deployments ADD COLUMN release TEXT;
ALTER TABLE deployments ADD COLUMN runtime TEXT;

CREATE TABLE apps (
  project_id TEXT NOT NULL,
  environment TEXT NOT NULL,
  organization_id TEXT NOT NULL,
  slug TEXT NOT NULL UNIQUE,
  deployment_id TEXT,
  log_entries BIGINT NOT NULL,
  PRIMARY KEY (project_id, environment)
);
CREATE INDEX apps_live ON apps (project_id, environment) WHERE deployment_id IS NOT NULL;

CREATE TABLE app_domains (
  name TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  project_id TEXT NOT NULL,
  environment TEXT NOT NULL
);
CREATE INDEX app_domains_of_app ON app_domains (project_id, environment, name);

CREATE TABLE app_logs (
  project_id TEXT NOT NULL,
  environment TEXT NOT NULL,
  seq BIGINT NOT NULL,
  organization_id TEXT NOT NULL,
  timestamp TEXT NOT NULL,
  level TEXT NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (project_id, environment, seq)
);
