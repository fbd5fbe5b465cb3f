-- Who made a deployment, as JSON: user_id, key_id, via. Null for deployments from before.
ALTER TABLE deployments ADD COLUMN created_by TEXT;
