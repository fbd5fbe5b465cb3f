-- What an organization may not do to another, and a key to those that it makes.

-- The key that made a key, as it is shown, and the nearest of its makers that still exists: ending a key with all that came
-- of it finds them by that.
ALTER TABLE api_keys ADD COLUMN created_by_key_id TEXT;
ALTER TABLE api_keys ADD COLUMN maker_key_id TEXT;
CREATE INDEX api_keys_made_by ON api_keys (maker_key_id) WHERE maker_key_id IS NOT NULL;

-- The inviter, whose end voids the invitation, and the scopes of the first key. An older invitation has none of them, and
-- its first key every scope.
ALTER TABLE invitations ADD COLUMN invited_by TEXT;
ALTER TABLE invitations ADD COLUMN invited_by_key_id TEXT;
ALTER TABLE invitations ADD COLUMN scopes TEXT NOT NULL DEFAULT '["*"]';
CREATE INDEX invitations_of_inviter ON invitations (organization_id, invited_by) WHERE invited_by IS NOT NULL;

-- An organization's numbers are counted without those of others.
CREATE INDEX generations_unfinished ON generations (organization_id, status) WHERE status IN ('queued', 'in_progress');

-- Deployments that are ready start in turn over organizations. The row says whose turn was last.
DROP INDEX deployments_lined_up;
CREATE INDEX deployments_lined_up ON deployments (organization_id, id) WHERE status = 'queued' AND lined_up = 2;
CREATE TABLE turns (
  queue TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL
);

-- A domain is waited for by as many environments as like; it serves one of them. Those that serve already go on.
CREATE TABLE domains (
  name TEXT NOT NULL,
  project_id TEXT NOT NULL,
  environment TEXT NOT NULL,
  organization_id TEXT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT,
  PRIMARY KEY (project_id, environment, name)
);
INSERT INTO domains (name, project_id, environment, organization_id, status)
  SELECT name, project_id, environment, organization_id, 'active' FROM app_domains;
DROP INDEX app_domains_of_app;
DROP TABLE app_domains;
ALTER TABLE domains RENAME TO app_domains;
CREATE UNIQUE INDEX app_domains_active ON app_domains (name) WHERE status = 'active';
CREATE INDEX app_domains_by_name ON app_domains (name);

-- Hosts that an organization gave up, and that no other may have until then.
CREATE TABLE given_up_hosts (
  name TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  until TEXT NOT NULL
);
CREATE INDEX given_up_hosts_by_time ON given_up_hosts (until);
