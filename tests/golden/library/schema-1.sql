-- A library of schema 1 as commit 51e7adc wrote it (two chats, by its command line), dumped by sqlite3. The path of the
-- model is made up; everything else is as it was.
PRAGMA application_id=1397508418;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES('library_id','d25ba7ab248b7ef4b3f639f1a3356b2c');
CREATE TABLE setting(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
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
INSERT INTO chat VALUES(1,'notes','notes','6047ae18711e1f50d5c38e50cdd79c79','/home/someone/models/notes-mini-q8_0.gguf','{"allocator":{"constant":0.5,"delta":7,"use":"pyramid"},"assigner":{"use":"top_k"},"codec":{"k":{"bits":2,"group":16,"use":"minikv2"},"v":{"bits":2,"group":16,"use":"minikv2"}},"differs":"4 sinks and a tail of 128 stay exact, the tail counts as recent; scores are averaged over the query heads of a lane; budgets by largest remainder; one selection per prompt of 256 tokens or more","filter":[{"recent":0.5,"sinks":4,"tail":128,"use":"protect"}],"keep":1,"merger":{"use":"none"},"name":"minikv","reader":{"use":"all"},"recipe":1,"scorer":{"use":"attention_sum"},"source":"arXiv:2411.18077","trigger":{"min_tokens":256,"use":"end_of_prompt"}}',0,NULL,1795299560510,1795299560719,7,NULL,6);
INSERT INTO chat VALUES(2,'talk','talk','6047ae18711e1f50d5c38e50cdd79c79','/home/someone/models/notes-mini-q8_0.gguf','{"codec":{"k":"exact","v":"exact"},"differs":"nothing is left out and nothing is rounded beyond fp16","keep":1,"name":"full","reader":{"use":"all"},"recipe":1,"source":"ours","trigger":{"use":"never"}}',0,'You answer questions.',1795299560808,1795299560851,11,NULL,3);
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
INSERT INTO message VALUES(1,1,1,'user','complete',1795299560544,X'0100000003000000450100000b01000005000000dc070000b6020000380100008f010000d207000030010000e8020000c70700000400000005000000',replace('todo.txt\n\nBuy milk on Monday.','\n',char(10)),2683811037057191858);
INSERT INTO message VALUES(2,1,2,'assistant','complete',1795299560569,X'0300000018020000d5010000bc02000005000000ad010000c70700000400000005000000','Noted.',7191501292867627899);
INSERT INTO message VALUES(3,1,3,'user','complete',1795299560576,X'03000000450100000b010000050000004101000018010000cc01000030010000e8020000d50700000400000005000000','What is bought on Monday?',3594953122780671339);
INSERT INTO message VALUES(4,1,4,'assistant','complete',1795299560591,X'0300000018020000d5010000bc020000050000000d01000068010000320100003a01000044010000c70700000400000005000000','The notes do not say.',-6368155851019008073);
INSERT INTO message VALUES(5,1,5,'user','complete',1795299560701,X'03000000450100000b01000005000000e5010000180100000e01000077020000d50700000400000005000000','Where is the bell?',-4021420183626111061);
INSERT INTO message VALUES(6,1,6,'assistant','complete',1795299560719,X'0300000018020000d5010000bc020000050000000d01000068010000320100003a01000044010000c70700000400000005000000','The notes do not say.',7013315331654500077);
INSERT INTO message VALUES(7,2,1,'system','complete',1795299560839,X'0100000003000000c0070000cd07000006060000cb07000005000000e90500005806000059060000c70700000400000005000000','You answer questions.',7686040154483564605);
INSERT INTO message VALUES(8,2,2,'user','complete',1795299560846,X'03000000450100000b01000005000000e5010000180100000e01000077020000d50700000400000005000000','Where is the bell?',-3744194805639207617);
INSERT INTO message VALUES(9,2,3,'assistant','complete',1795299560851,X'0300000018020000d5010000bc020000050000000d01000068010000320100003a01000044010000c70700000400000005000000','The notes do not say.',6527054011931708747);
CREATE TABLE message_part(
  message INTEGER NOT NULL REFERENCES message(id),
  seq INTEGER NOT NULL,
  tokens BLOB NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY(message, seq)
) STRICT, WITHOUT ROWID;
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('chat',2);
INSERT INTO sqlite_sequence VALUES('message',9);
CREATE UNIQUE INDEX chat_name ON chat(name) WHERE removed_ms IS NULL AND name <> '';
CREATE INDEX chat_used ON chat(used_seq);
CREATE INDEX message_streaming ON message(id) WHERE state = 'streaming';
COMMIT;
PRAGMA user_version=1;
