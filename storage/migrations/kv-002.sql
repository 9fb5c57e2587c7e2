-- Schema 2: caches have keys of their own. Files of schema 1 are thrown away at opening, as those of any
-- other version (kv_store.h, invariant 4), so this only makes new ones.
DROP TABLE block;
DROP TABLE block_bytes;
DROP TABLE chat;

CREATE TABLE cache(
  id INTEGER PRIMARY KEY,     -- ours
  key TEXT NOT NULL UNIQUE,   -- the caller's
  chat INTEGER,               -- of library.db, with which it goes; NULL: of none
  used_seq INTEGER NOT NULL,  -- rises with every use of any cache
  generation INTEGER,         -- of the manifest; NULL: none yet
  manifest BLOB,
  model TEXT,                 -- of the manifest, for listing; NULL: none yet
  recipe TEXT,
  n_tokens INTEGER
) STRICT;
CREATE INDEX cache_of_chat ON cache(chat);

-- Sizes apart from bytes: sums and sweeps then read no block.
CREATE TABLE block(
  cache INTEGER NOT NULL REFERENCES cache(id),
  id INTEGER NOT NULL,     -- the writer's
  bytes_id INTEGER NOT NULL UNIQUE,
  size_bytes INTEGER NOT NULL,
  live INTEGER NOT NULL,   -- 1: the manifest points to it
  PRIMARY KEY(cache, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE block_bytes(id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
