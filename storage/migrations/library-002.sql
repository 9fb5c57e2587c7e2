-- library.db, schema 2: what a message is, what it follows, by which tokenizer its tokens were made.
-- Schema 1 reads these files: its columns keep their meaning, `checksum` covers what it covered.
ALTER TABLE message ADD COLUMN kind TEXT NOT NULL DEFAULT 'text' CHECK(kind IN ('text', 'document'));
ALTER TABLE message ADD COLUMN title TEXT NOT NULL DEFAULT '';
ALTER TABLE message ADD COLUMN parent INTEGER REFERENCES message(id);  -- NULL: first of its chat
-- Tokenizer::hash(); NULL: not known, the row is of schema 1.
ALTER TABLE message ADD COLUMN tokenizer INTEGER;
-- 1: on the path from the chat's first message to its last; 0: cut by an edit or a new answer.
ALTER TABLE message ADD COLUMN live INTEGER NOT NULL DEFAULT 1 CHECK(live IN (0, 1));
-- Over `checksum` and the columns above but `live`; NULL: the row is of schema 1.
ALTER TABLE message ADD COLUMN checksum_2 INTEGER;
CREATE INDEX message_parent ON message(parent);

-- Of its messages that are live: a flag that changed by itself is noticed.
ALTER TABLE chat ADD COLUMN n_live INTEGER NOT NULL DEFAULT 0;
-- The model of the messages of schema 1, whose tokenizer nobody wrote down.
ALTER TABLE chat ADD COLUMN model_1 TEXT NOT NULL DEFAULT '';

UPDATE message SET parent = (SELECT max(m.id) FROM message m WHERE m.chat = message.chat AND
                             m.seq = message.seq - 1);
UPDATE chat SET n_live = last_seq, model_1 = model_fingerprint;
