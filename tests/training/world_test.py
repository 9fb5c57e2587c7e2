"""The notes world: what is promised of its conversations. Needs Python alone."""

import random
import re
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "training"))
from notes import facts, files, words, world  # noqa: E402

EVERYTHING = world.Mix(unknown=0.2, added=0.15, corrected=0.15, small=0.1, about=0.1)


class Watched(world.Conversation):
    """Remembers every fact, those that were corrected later too, and what was answered about which."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.ever = []
        state, ask = self.world.state, self.world.ask
        self.world.state = lambda fact: (self.ever.append(fact), state(fact))[1]
        self.asked_for = {}

        def watched_ask(fact):
            question, answer = ask(fact)
            self.asked_for[id(answer)] = fact
            self.kept = getattr(self, "kept", []) + [
                answer
            ]  # an id is one object's only while it lives
            return question, answer

        self.world.ask = watched_ask


def conversation(seed, held=world.Held(), mix=EVERYTHING):
    talk = Watched(random.Random(seed), held, mix)
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
            said = text.lower()
            for fact in talk.ever:
                self.assertNotIn(fact.kind.name, kinds)
                self.assertNotIn(fact.say(fact.kind.statements[-1]).lower(), said)
                self.assertNotIn(fact.say(fact.kind.questions[-1]).lower(), said)
            for person in talk.world.people:
                self.assertFalse(set(person.split()) & words.HELD_OUT, f"seed {seed}")

    def test_held_out_conversations_use_held_out_names_only(self):
        talk, _ = conversation(1, world.Held(names=True))
        self.assertTrue(talk.world.people)
        for person in talk.world.people:
            self.assertTrue(set(person.split()) <= words.HELD_OUT, person)

    def test_half_a_name_is_not_enough_to_find_somebody(self):
        for held in (world.Held(), world.Held(names=True)):
            n, n_alike = 0, 0
            for seed in range(20):
                full = [p.split() for p in conversation(seed, held)[0].world.people if " " in p]
                n += 2 * len(full)
                n_alike += sum(
                    [p[at] for p in full].count(p[at]) > 1 for p in full for at in (0, 1)
                )
            self.assertGreater(n_alike / n, 0.4, held)

    def test_some_conversations_open_with_a_question_that_nothing_answers(self):
        mix, n = world.Mix(opening=0.1), 0
        for seed in range(300):
            talk = world.Conversation(random.Random(seed), mix=mix)
            opening = talk.opening()
            if opening and opening[1].kind == "unknown":
                n += 1
                talk.notes(3000, 0.3, len)
                told = {fact.say(q) for fact in talk.facts for q in fact.kind.questions}
                self.assertNotIn(opening[0].text, told)
        self.assertTrue(15 < n < 50, n)

    def test_a_file_appears_whole_or_not_at_all(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "log.txt"
            file.write_text("earlier")
            with self.assertRaises(KeyError), files.whole(file) as new:
                new.write_text("half of")
                raise KeyError
            self.assertEqual(file.read_text(), "earlier")
            with files.whole(file) as new:
                new.write_text("later")
            self.assertEqual([p.read_text() for p in Path(folder).glob("*.txt")], ["later"])

    def test_every_answer_was_told_before(self):
        n = 0
        for seed in range(60):
            talk, turns = conversation(seed)
            told = ""
            for turn in turns:
                if turn.role == "user":
                    told += turn.text + "\n"
                elif turn.kind in ("fact", "added", "corrected", "list", "quote"):
                    fact = talk.asked_for[id(turn)]
                    n += 1
                    self.assertIn(fact.told, told)
                    self.assertIn(fact.value.lower(), fact.told.lower())
                    self.assertIn(fact.value, turn.value)
                    self.assertTrue(turn.text.endswith(turn.value), turn)
                elif turn.kind == "about":
                    for sentence in re.split(r'(?<=[."]) ', turn.value):
                        self.assertIn(sentence, told)
        self.assertGreater(n, 200)

    def test_a_right_answer_is_no_part_of_another_value(self):
        by_kind = {kind.name: kind for kind in facts.KINDS}
        for kind, right, wrong in (
            ("birthday", "1 May", "21 May"),
            ("phone", "413", "4138"),
            ("list", "rope and nails", "salt, rope and nails"),
        ):
            judged = facts.Fact(by_kind[kind], "Mira", right).judged
            self.assertIn(judged, "".join(facts.Fact(by_kind[kind], "Mira", right).canonical()))
            self.assertNotIn(judged, "".join(facts.Fact(by_kind[kind], "Mira", wrong).canonical()))

    def test_what_was_not_told_is_unknown(self):
        for seed in range(60):
            talk, turns = conversation(seed)
            by_question = {}
            for fact in talk.ever:
                for wording in (*fact.kind.questions, *filter(None, [fact.kind.count])):
                    by_question[fact.say(wording)] = fact
            for question, answer in zip(turns, turns[1:]):
                if answer.kind == "unknown":
                    self.assertNotIn(question.text, by_question)

    def test_a_corrected_fact_has_its_last_value(self):
        n = 0
        for seed in range(60):
            talk, turns = conversation(seed)
            for at, turn in enumerate(turns):
                if turn.kind != "corrected":
                    continue
                fact = talk.asked_for[id(turn)]
                same = [f for f in talk.ever if (f.kind, f.subject) == (fact.kind, fact.subject)]
                before = "\n".join(t.text for t in turns[:at] if t.role == "user")
                last = max(same, key=lambda f: before.rfind(f.told))
                n += 1
                self.assertGreater(len(same), 1)
                self.assertIs(last, fact)
        self.assertGreater(n, 20)

    def test_what_the_notes_say_about_somebody_is_what_holds(self):
        for seed in range(60):
            talk, turns = conversation(seed)
            for turn in turns[-2:]:
                if turn.kind == "about":
                    self.assertTrue(
                        any(
                            turn.text == " ".join(talk.told(s))
                            for s in {f.subject for f in talk.facts}
                        )
                    )

    def test_a_recital_is_foreseeable_in_every_second_part(self):
        talk, _ = conversation(3)
        _, answer = talk.recite(2000, len)
        self.assertEqual("".join(answer.parts), answer.text)
        known = {part for fact in talk.facts for part in [fact.canonical()[1]]}
        self.assertTrue(set(answer.parts[1::2]) <= known)
        self.assertEqual(talk.recite(3, len), [])

    def test_counts_are_right(self):
        n = 0
        for seed in range(200):
            talk, turns = conversation(seed, mix=world.Mix(corrected=0.0))
            items = {
                f.subject: f.value.replace(" and ", ", ").split(", ")
                for f in talk.facts
                if f.n_listed
            }
            for turn in turns:
                if turn.kind == "count":
                    n += 1
                    bought = items[turn.text.split(" bought ")[0]]
                    self.assertEqual(turn.value, words.COUNTS[len(bought)] + " things.")
        self.assertGreater(n, 20)

    def test_no_subject_has_two_facts_of_a_kind(self):
        for seed in range(30):
            talk, _ = conversation(seed)
            keys = [(f.kind.name, f.subject) for f in talk.facts]
            self.assertEqual(len(keys), len(set(keys)))


if __name__ == "__main__":
    unittest.main()
