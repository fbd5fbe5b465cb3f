-- What an environment keeps and runs beside its app: protection, the size of its data, schedules and their runs.

-- User and hash of the password that stand before the app.
ALTER TABLE environments ADD COLUMN protect TEXT;

-- The size of /data at the last look, and the workers of the live release by name, as JSON.
ALTER TABLE apps ADD COLUMN data_bytes BIGINT;
ALTER TABLE apps ADD COLUMN workers TEXT;

CREATE TABLE schedules (
  project_id TEXT NOT NULL,
  environment TEXT NOT NULL,
  name TEXT NOT NULL,
  organization_id TEXT NOT NULL,
  cron TEXT NOT NULL,
  command TEXT NOT NULL,
  timeout_s INTEGER NOT NULL,
  next_at TEXT NOT NULL,
  PRIMARY KEY (project_id, environment, name)
);

CREATE TABLE schedule_runs (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL,
  environment TEXT NOT NULL,
  organization_id TEXT NOT NULL,
  name TEXT NOT NULL,
  status TEXT NOT NULL,
  started_at TEXT NOT NULL,
  ended_at TEXT,
  exit_code INTEGER
);
CREATE INDEX schedule_runs_of_environment ON schedule_runs (project_id, environment, id);
CREATE INDEX schedule_runs_running ON schedule_runs (project_id, environment, name) WHERE status = 'running';
