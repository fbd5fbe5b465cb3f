-- Who changed what, and each refused sign-in. Rows are added in the transaction of the change, and never changed.
-- The key begins with the organization, so that no further index serves the list of all its entries.
CREATE TABLE audit_log (
  id TEXT NOT NULL,
  organization_id TEXT NOT NULL,
  at TEXT NOT NULL,
  action TEXT NOT NULL,
  target TEXT,
  user_id TEXT,
  key_id TEXT,
  via TEXT NOT NULL,
  address TEXT,
  request_id TEXT,
  PRIMARY KEY (organization_id, id)
);
CREATE INDEX audit_log_by_action ON audit_log (organization_id, action, id);
CREATE INDEX audit_log_by_user ON audit_log (organization_id, user_id, id);
