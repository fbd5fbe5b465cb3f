-- What a tester tells of simulated work. The outcome is kept with the work that took it, so that it stays whatever happens
-- to the scenario.

CREATE TABLE scenarios (
  id TEXT PRIMARY KEY,
  match TEXT NOT NULL,
  next TEXT,
  outcome TEXT NOT NULL,
  times BIGINT,
  used BIGINT NOT NULL
);

ALTER TABLE deployments ADD COLUMN script TEXT;
ALTER TABLE generations ADD COLUMN script TEXT;
