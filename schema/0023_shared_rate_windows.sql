-- The key whose rate window counts the requests of a key: of the first of its makers that had a limit of its own. It stays
-- when that key ends. Null: its own window.
ALTER TABLE api_keys ADD COLUMN window_key_id TEXT;
