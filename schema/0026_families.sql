-- The rate windows of its makers that count the requests of a key too, as JSON: [[key, limit], …], the nearest maker first.
-- They stay when those keys end. Null: only its own window. Until now it was one key, counted with the limit of this key.
ALTER TABLE api_keys RENAME COLUMN window_key_id TO shared_windows;
UPDATE api_keys SET shared_windows = '[["' || shared_windows || '",' || rate_limit || ']]' WHERE shared_windows IS NOT NULL;
-- When the last mail about a crash of the environment was made. At most one is made in an hour, and one for each release.
ALTER TABLE apps ADD COLUMN mailed_at TEXT;
