-- Ends of the process soon after the job began, in a row; -1 while it has run for longer than that.
ALTER TABLE jobs ADD COLUMN strikes INTEGER NOT NULL DEFAULT 0;
DROP INDEX jobs_suspects;
-- Jobs that ran at some ends of their process in a row: the first start without one clears them, wherever they wait.
CREATE INDEX jobs_suspects ON jobs (id) WHERE crashes >= 3;
