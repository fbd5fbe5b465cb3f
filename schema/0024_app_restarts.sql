-- How often processes of the live release ended by themselves since it went live, and within the last hour that began with
-- such an end.
ALTER TABLE apps ADD COLUMN restarts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE apps ADD COLUMN restarts_since TEXT;
ALTER TABLE apps ADD COLUMN hour_restarts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE apps ADD COLUMN hour_since TEXT;
