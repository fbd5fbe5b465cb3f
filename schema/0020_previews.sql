-- Environments of pull and merge requests, by the integration whose code host has them. A row stays for a while after its
-- end, so that a late hook begins nothing. `changed_at` is the code host's time of the last hook, `updated_at` ours.
CREATE TABLE previews (
  integration_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  organization_id TEXT NOT NULL,
  project_id TEXT NOT NULL,
  environment TEXT NOT NULL,
  repo TEXT NOT NULL,
  url TEXT,
  source_repo TEXT NOT NULL,
  source_branch TEXT NOT NULL,
  commit_id TEXT NOT NULL,
  fork INTEGER NOT NULL,
  status TEXT NOT NULL,
  changed_at TEXT,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (integration_id, number)
);
CREATE INDEX previews_of_project ON previews (project_id, environment);
CREATE INDEX previews_by_status ON previews (status, updated_at);
