-- What is asked at a request must not take longer the more lies in wait.

-- Turning an endpoint off begins a new epoch of it: what is pending of an older one counts as skipped, however much that
-- is. What is tried for the last time is found, and taken along.
ALTER TABLE endpoints ADD COLUMN epoch BIGINT NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN epoch BIGINT NOT NULL DEFAULT 0;
DROP INDEX deliveries_due;
CREATE INDEX deliveries_due ON deliveries (endpoint_id, epoch, next_attempt_at, id) WHERE status = 'pending';
CREATE INDEX deliveries_last ON deliveries (endpoint_id) WHERE status = 'pending' AND rung = 6;

-- The first of an environment's queue lines up where nothing of that environment runs: 1 until it is ready, then 2 until it
-- has a place. So who is next is found without a look at all that is queued, and one job sees to all of them.
ALTER TABLE deployments ADD COLUMN lined_up INTEGER NOT NULL DEFAULT 0;
CREATE INDEX deployments_getting_ready ON deployments (ready_at) WHERE status = 'queued' AND lined_up = 1;
CREATE INDEX deployments_lined_up ON deployments (id) WHERE status = 'queued' AND lined_up = 2;
UPDATE deployments SET lined_up = 1 WHERE id IN (
  SELECT min(id) FROM deployments WHERE status = 'queued' GROUP BY project_id, environment
) AND NOT EXISTS (
  SELECT 1 FROM deployments AS other WHERE other.status IN ('building', 'deploying')
    AND other.project_id = deployments.project_id AND other.environment = deployments.environment
);
DELETE FROM jobs WHERE kind IN ('deployments.turn', 'deployments.turns');

-- The projects that deploy a repository are found one by one, and not by all of their deployments.
DROP INDEX deployments_of_repo;
CREATE INDEX deployments_of_repo ON deployments (organization_id, repo, project_id, id) WHERE repo IS NOT NULL;
