"""The notes world: what is promised of its conversations. Needs Python alone."""

import random
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "training"))
from notes import facts, words, world  # noqa: E402

EVERYTHING = world.Mix(unknown=0.2, added=0.15, corrected=0.15, small=0.1, about=0.1)


def conversation(seed, held=world.Held(), mix=EVERYTHING):
    talk = world.Conversation(random.Random(seed), held, mix)
    turns = talk.notes(3000, 0.3, len)
    for _ in range(30):
        turns += talk.exchange()
    return talk, turns


class World(unittest.TestCase):
    def test_same_seed_same_conversation(self):
        self.assertEqual(conversation(5)[1], conversation(5)[1])
        self.assertNotEqual(conversation(5)[1], conversation(6)[1])

    def test_held_out_words_are_not_in_the_training_lists(self):
        for train, held in (
            (words.FIRST, words.FIRST_HELD_OUT),
            (words.LAST, words.LAST_HELD_OUT),
            (words.FILLERS, words.FILLERS_HELD_OUT),
        ):
            self.assertFalse(set(train) & set(held))
            self.assertEqual(len(set(train)), len(train))
        self.assertFalse({k.name for k in facts.KINDS} & {k.name for k in facts.KINDS_HELD_OUT})

    def test_training_shows_nothing_that_is_held_out(self):
        kinds = {k.name for k in facts.KINDS_HELD_OUT}
        for seed in range(60):
            talk, turns = conversation(seed)
            text = world.render(turns)
            for filler in words.FILLERS_HELD_OUT:
                self.assertNotIn(filler, text)
            for fact in talk.facts:
                self.assertNotIn(fact.kind.name, kinds)
            for (
                kind
            ) in facts.KINDS:  # a held-out wording would show as its sentence with some subject and value of this talk
                for fact in (f for f in talk.facts if f.kind is kind):
                    self.assertNotIn(fact.say(kind.statements[-1]), text)
                    self.assertNotIn(fact.say(kind.questions[-1]), text)
            for person in talk.world.people:
                self.assertFalse(set(person.split()) & words.HELD_OUT, f"seed {seed}")

    def test_held_out_conversations_use_held_out_names_only(self):
        talk, _ = conversation(1, world.Held(names=True))
        self.assertTrue(talk.world.people)
        for person in talk.world.people:
            self.assertTrue(set(person.split()) <= words.HELD_OUT, person)

    def test_every_answer_was_told_before(self):
        for seed in range(60):
            _, turns = conversation(seed)
            told = ""
            for turn in turns:
                if turn.role == "user":
                    told += turn.text + "\n"
                elif turn.kind in ("fact", "added", "corrected", "list", "quote"):
                    self.assertIn(turn.value.lower(), told.lower())
                    self.assertIn(turn.value, turn.text)
                elif turn.kind == "about":
                    for sentence in re.split(r'(?<=[."]) ', turn.value):
                        self.assertIn(sentence, told)

    def test_what_was_not_told_is_unknown(self):
        for seed in range(60):
            talk, turns = conversation(seed)
            by_question = {}
            for fact in talk.facts:
                for wording in fact.kind.questions:
                    by_question[fact.say(wording)] = fact
            for question, answer in zip(turns, turns[1:]):
                if answer.kind == "unknown":
                    self.assertNotIn(question.text, by_question)

    def test_a_corrected_fact_has_its_last_value(self):
        n = 0
        for seed in range(60):
            _, turns = conversation(seed)
            for at, turn in enumerate(turns):
                if turn.kind != "corrected":
                    continue
                told = [
                    t.text
                    for t in turns[:at]
                    if t.role == "user" and t.text.startswith(tuple(world.CORRECTED)) and turn.value in t.text
                ]
                n += 1
                self.assertTrue(told, turn)
        self.assertGreater(n, 20)

    def test_counts_are_right(self):
        n = 0
        for seed in range(200):
            talk, turns = conversation(seed, mix=world.Mix(corrected=0.0))
            items = {f.subject: f.value.replace(" and ", ", ").split(", ") for f in talk.facts if f.n_listed}
            for turn in turns:
                if turn.kind == "count":
                    n += 1
                    self.assertEqual(turn.value, words.COUNTS[len(items[turn.text.split(" bought ")[0]])])
        self.assertGreater(n, 20)

    def test_no_subject_has_two_facts_of_a_kind(self):
        for seed in range(30):
            talk, _ = conversation(seed)
            keys = [(f.kind.name, f.subject) for f in talk.facts]
            self.assertEqual(len(keys), len(set(keys)))


if __name__ == "__main__":
    unittest.main()
