#!/usr/bin/env python3
"""Writes models/notes-heldout.jsonl: conversations of the notes world with names that training never showed.

    python3 tests/oracle/make_heldout.py ../shared/models/trainer > models/notes-heldout.jsonl

One line a conversation: {"set", "notes", "exchanges": [{"ask", "value", "answer", "kind"}]}, as app/cli/recall_file.h
describes it. `value` is the string that a right answer contains. 34 facts make 640 to 900 tokens, which leaves room for five questions in the model's 1,280.
"""
import json
import random
import sys

N_CONVERSATIONS, N_FACTS, N_QUESTIONS, SEED = 40, 34, 5, 20260

sys.path.insert(0, sys.argv[1])
import notes_world  # noqa: E402

rng = random.Random(SEED)
for _ in range(N_CONVERSATIONS):
    while True:
        turns = notes_world.sample(rng, N_FACTS, 0.4, N_QUESTIONS, split="test", p_unknown=0.0, p_new=0.0, p_small=0.0)
        if turns[0][0] == "user" and turns[1][1] == "Noted.":  # not one that begins with small talk
            break
    exchanges = [{"ask": q[1], "value": a[2], "answer": a[1], "kind": "fact"} for q, a in zip(turns[2::2], turns[3::2])]
    print(json.dumps({"set": "names", "notes": turns[0][1], "exchanges": exchanges}))
