-- Generations that are ready start in turn over organizations, the oldest of each first. Only the query for the next
-- one has this condition, so that it uses this index.
CREATE INDEX generations_in_turn ON generations (organization_id, ready_at, id) WHERE status || '' = 'queued';
