-- Schema 3: caches share records, and a manifest may have a note. Files of schema 2 go on.
ALTER TABLE cache ADD COLUMN note TEXT NOT NULL DEFAULT '';  -- the caller's, with the manifest

-- As in schema 2, but bytes_id is no longer unique: rows of several caches point to the same bytes.
CREATE TABLE shared_block(
  cache INTEGER NOT NULL REFERENCES cache(id),
  id INTEGER NOT NULL,     -- the writer's
  bytes_id INTEGER NOT NULL,
  size_bytes INTEGER NOT NULL,
  live INTEGER NOT NULL,   -- 1: the manifest points to it
  PRIMARY KEY(cache, id)
) STRICT, WITHOUT ROWID;
INSERT INTO shared_block SELECT cache, id, bytes_id, size_bytes, live FROM block;
DROP TABLE block;
ALTER TABLE shared_block RENAME TO block;
CREATE INDEX block_of_bytes ON block(bytes_id);
