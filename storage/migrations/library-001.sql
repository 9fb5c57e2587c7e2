-- library.db, schema 1. Times are milliseconds since 1970, UTC; order is that of sequence numbers.
PRAGMA application_id = 0x534c4942;  -- "SLIB"

-- library_id ties the saved caches in kvcache.db to this library.
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES('library_id', lower(hex(randomblob(16))));

CREATE TABLE setting(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- AUTOINCREMENT: an id is never given twice, so blocks of a deleted chat cannot become another's.
CREATE TABLE chat(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  title TEXT NOT NULL,
  model_fingerprint TEXT NOT NULL,
  model_path TEXT NOT NULL,
  recipe TEXT NOT NULL,           -- JSON
  budget_bytes INTEGER NOT NULL,  -- 0: the default
  system TEXT,                    -- NULL: the template's own
  created_ms INTEGER NOT NULL,
  used_ms INTEGER NOT NULL,
  used_seq INTEGER NOT NULL,      -- rises with every use of any chat
  removed_ms INTEGER,             -- NULL: kept
  last_seq INTEGER NOT NULL DEFAULT 0  -- of its messages, which have no gap: a lost row is noticed
) STRICT;
CREATE UNIQUE INDEX chat_name ON chat(name) WHERE removed_ms IS NULL AND name <> '';
CREATE INDEX chat_used ON chat(used_seq);

CREATE TABLE message(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  chat INTEGER NOT NULL REFERENCES chat(id),
  seq INTEGER NOT NULL,  -- place in the chat, from 1
  role TEXT NOT NULL CHECK(role IN ('system', 'user', 'assistant')),
  state TEXT NOT NULL CHECK(state IN ('complete', 'streaming', 'interrupted')),
  created_ms INTEGER NOT NULL,
  tokens BLOB NOT NULL,  -- int32, little-endian
  text TEXT NOT NULL,
  checksum INTEGER NOT NULL,  -- FNV-1a over the row (storage/library/messages.cpp)
  UNIQUE(chat, seq)
) STRICT;
CREATE INDEX message_streaming ON message(id) WHERE state = 'streaming';

-- What an answer gained since its row was written; folded into the row when it ends, so that a
-- long answer is not written again with each part.
CREATE TABLE message_part(
  message INTEGER NOT NULL REFERENCES message(id),
  seq INTEGER NOT NULL,
  tokens BLOB NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY(message, seq)
) STRICT, WITHOUT ROWID;
