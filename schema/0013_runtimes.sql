-- The runtimes of the servers on one database. Each has a folder of its own, and an environment runs on one of them.
CREATE TABLE runtimes (
  id TEXT PRIMARY KEY,
  names TEXT NOT NULL,
  host TEXT NOT NULL,
  apps_url TEXT NOT NULL,
  lease_since TEXT NOT NULL,
  lease_until TEXT NOT NULL
);
-- Null in a database file, whose one server runs everything.
ALTER TABLE apps ADD COLUMN runtime_id TEXT;
CREATE INDEX apps_of_runtime ON apps (runtime_id, project_id, environment) WHERE runtime_id IS NOT NULL;
