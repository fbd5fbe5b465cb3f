-- Files of generations, where several machines share a database: parts of 1 MiB, in base64, because the engines have no
-- type for bytes in common.
CREATE TABLE asset_parts (
  name TEXT NOT NULL,
  part INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  content TEXT NOT NULL,
  PRIMARY KEY (name, part)
);
