-- Sign-ins with OpenID Connect: such a session has a person and no key. It ends with either, or itself.
CREATE TABLE sessions_of_people (
  hash TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  api_key_id TEXT REFERENCES api_keys (id) ON DELETE CASCADE,
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL
);
INSERT INTO sessions_of_people (hash, organization_id, user_id, api_key_id, created_at, expires_at)
  SELECT sessions.hash, sessions.organization_id, api_keys.user_id, api_keys.id, sessions.created_at, sessions.expires_at
  FROM sessions JOIN api_keys ON api_keys.id = sessions.api_key_id;
DROP TABLE sessions;
ALTER TABLE sessions_of_people RENAME TO sessions;
CREATE INDEX sessions_by_key ON sessions (api_key_id);
CREATE INDEX sessions_by_user ON sessions (user_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- The sign-ins that came back from the issuer, so that none comes back twice. A row goes once its sign-in would be too old.
CREATE TABLE used_sign_ins (
  hash TEXT PRIMARY KEY,
  expires_at TEXT NOT NULL
);
CREATE INDEX used_sign_ins_by_expiry ON used_sign_ins (expires_at);
