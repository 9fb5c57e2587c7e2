-- kvcache.db, schema 1. Disposable: a later schema drops the file.
PRAGMA application_id = 0x534b5643;  -- "SKVC"

CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE chat(
  id INTEGER PRIMARY KEY,  -- of library.db
  used_seq INTEGER NOT NULL,  -- rises with every use of any chat
  generation INTEGER,         -- of the manifest; NULL: none yet
  manifest BLOB
) STRICT;

-- Sizes apart from bytes: sums and sweeps then read no block.
CREATE TABLE block(
  chat INTEGER NOT NULL REFERENCES chat(id),
  id INTEGER NOT NULL,     -- the writer's
  bytes_id INTEGER NOT NULL UNIQUE,
  size_bytes INTEGER NOT NULL,
  live INTEGER NOT NULL,   -- 1: the manifest points to it
  PRIMARY KEY(chat, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE block_bytes(id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
