-- library.db, schema 3: documents that people keep for other chats.
CREATE TABLE document(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  hash TEXT NOT NULL UNIQUE,  -- of text (runtime/contract/document_cache.h): also its checksum
  title TEXT NOT NULL,
  text TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  used_ms INTEGER NOT NULL
) STRICT;
