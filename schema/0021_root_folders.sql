-- The folder of the repository that is built; null for all of it. A deployment keeps the one that it was made with.
ALTER TABLE environments ADD COLUMN root TEXT;
ALTER TABLE deployments ADD COLUMN root TEXT;
