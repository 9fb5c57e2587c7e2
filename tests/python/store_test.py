"""Chats on disk: resumed by another process, and the same as the command line's.

python3 store_test.py SATCHEL
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

import satchel
from support import NOTES, PET, ModelTest

QUESTIONS = [NOTES, PET, "Which pet does Estelle Ibarra keep?", "What does Quentin work as?"]


def in_another_process(program, *arguments):
    here = pathlib.Path(__file__).resolve().parent
    text = "import sys\nfrom support import *\n" + program
    done = subprocess.run([sys.executable, "-c", text, *arguments], cwd=here, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


class Store(ModelTest):
    def test_what_was_read_compressed_and_saved_is_resumed_by_another_process(self):
        before = in_another_process(
            """
import json, os
model = satchel.Model(store=sys.argv[1], backend="cpu", n_threads=2)
chat = model.chat("notes", recipe="compact")
chat.add_document("notes.txt", NOTES * 20)
chat.idle()
answer = chat.ask(PET).text
print(json.dumps([chat.resume, answer, chat.stats.n_evicted]), flush=True)
os._exit(0)  # as a kill does: nothing is closed
""",
            str(self.folder),
        )
        model = self.model(store=self.folder)
        self.assertEqual([saved.name for saved in model.chats()], ["notes"])
        chat = model.chat("notes", recipe="compact", system="of a new chat only")
        self.assertIs(chat.resume.outcome, satchel.Outcome.RESTORED)
        self.assertEqual((chat.resume.n_recomputed, chat.resume.n_reused), (0, chat.resume.n_tokens))
        self.assertEqual(before, [None, chat.messages[-1].text, chat.stats.n_evicted])
        self.assertEqual(chat.messages[0].title, "notes.txt")
        again = chat.ask(PET)
        self.assertIn("rabbit", again.text)
        self.assertEqual(again.n_reused, chat.resume.n_tokens)

    def test_a_chat_goes_on_from_bytes(self):
        chat = self.model().chat(recipe="compact")
        chat.add_document("notes.txt", NOTES * 20)
        saved, answer = chat.snapshot(), chat.ask(PET).text
        model = self.model(store=self.folder)
        again = model.load_snapshot(saved, "from bytes")
        self.assertIs(again.resume.outcome, satchel.Outcome.RESTORED)
        self.assertEqual((again.resume.n_recomputed, again.resume.n_reused), (0, again.resume.n_tokens))
        self.assertEqual(again.ask(PET).text, answer)
        self.assertEqual([each.name for each in model.chats()], ["from bytes"])
        self.assertEqual([each.text for each in again.messages], [each.text for each in chat.messages])
        with self.assertRaises(satchel.CorruptError) as error:
            model.load_snapshot(saved[:-1])
        self.assertEqual(error.exception.code, "CHAT_DAMAGED")

    def test_chats_are_opened_by_name_listed_and_removed(self):
        model = self.model(store=self.folder, cache_folder=self.folder / "caches")
        with self.assertRaises(satchel.NotFoundError) as error:
            model.open("notes")
        self.assertEqual(error.exception.code, "CHAT_NOT_FOUND")
        with model.chat("notes") as chat:
            chat.ask(NOTES)
            with self.assertRaises(satchel.BusyError):
                model.remove("notes")
        with model.open("notes") as chat:
            self.assertIs(chat.resume.outcome, satchel.Outcome.RESTORED)
        model.remove("notes")
        self.assertEqual(model.chats(), [])
        self.assertTrue(any((self.folder / "caches").iterdir()))

    def test_documents_are_listed_kept_and_removed(self):
        model, text = self.model(store=self.folder), NOTES * 20
        self.assertEqual(model.documents(), [])
        with model.chat("notes") as chat:
            n_tokens = chat.add_document("notes.txt", text).n_tokens
        self.assertEqual([(each.title, each.kept) for each in model.documents()], [("notes.txt", False)])
        self.assertGreaterEqual(model.documents()[0].readings[0]["tokens"], n_tokens)
        kept = model.keep_document("notes.txt", text)
        self.assertEqual([(each.id, each.kept) for each in model.documents()], [(kept, True)])
        self.assertEqual(model.document_text(kept), text)
        with model.chat("again") as chat:
            self.assertGreater(chat.add_document("notes.txt", text).n_shelf, n_tokens // 2)
        model.remove_document(kept)
        with self.assertRaises(satchel.NotFoundError) as error:
            model.remove_document("0" * 32)
        self.assertEqual(error.exception.code, "DOC_NOT_FOUND")

    def test_a_key_opens_its_store_or_says_why_it_cannot(self):
        try:
            self.model(store=self.folder, key="harbour").chat("notes").ask(NOTES)
        except satchel.InvalidError as error:
            self.assertEqual(error.code, "LIBRARY_KEY")  # built without SQLCipher
            self.assertIn("without encryption", str(error))
            return
        with self.assertRaises(satchel.InvalidError) as error:
            self.model(store=self.folder)
        self.assertEqual(error.exception.code, "LIBRARY_KEY")

    def test_a_model_moves_to_the_cpu_and_answers_what_was_not_answered(self):
        chat = self.model(store=self.folder).chat("notes")
        noted = chat.ask(NOTES)
        self.assertEqual(chat.use_cpu().answer.text, "")
        chat.append([("user", PET)])
        answer = chat.use_cpu().answer
        self.assertIn("rabbit", answer.text)
        self.assertGreater(answer.n_prompt, noted.n_prompt)

    def test_what_was_cut_and_said_otherwise_is_gone_back_to(self):
        chat = self.model(store=self.folder).chat("notes")
        noted = chat.ask(NOTES)
        chat.ask(PET)
        before = chat.messages
        question = before[-2].id
        self.assertEqual(chat.versions(question), [question])
        chat.truncate(noted.answer_id)
        chat.ask("What does Quentin do?")
        versions = chat.versions(chat.messages[-2].id)
        self.assertEqual(versions, [question, chat.messages[-2].id])
        chat.switch_to(question)
        self.assertEqual(chat.messages, before)

    def test_a_store_has_one_writer_and_is_free_when_the_model_is_closed(self):
        first = self.model(store=self.folder)
        chat = first.chat("notes")
        chat.ask(NOTES)
        with self.assertRaises(satchel.StorageError) as error:
            satchel.Model(store=self.folder)
        self.assertEqual(error.exception.code, "LIBRARY_LOCKED")
        first.close()
        self.assertEqual(len(self.model(store=self.folder).open("notes").messages), 2)


@unittest.skipUnless(len(sys.argv) > 1, "the command line is not built")
class CommandLine(ModelTest):
    def said(self, question, store):
        done = subprocess.run(
            [PROGRAM, "chat", "--chat", "notes", "--recipe", "compact", "-p", question, "--json", "--store", store, "-t", "2",
             "--backend", "cpu", "-n", "64"],
            capture_output=True, text=True, timeout=120, check=True)
        return json.loads(done.stdout)

    def test_the_same_conversation_is_the_same_token_for_token(self):
        chat = self.model(store=self.folder / "python").chat("notes", recipe="compact")
        for question in QUESTIONS:
            theirs = self.said(question, self.folder / "program")
            ours = chat.ask(question, sampling=satchel.Sampling(n_tokens_max=64))
            self.assertEqual(
                (ours.text, ours.n_answer, ours.finish.name.lower()),
                (theirs["answer"], theirs["tokens"], theirs["finish"]),
            )
        ours, goes_on = chat.messages, chat.fork().ask(PET).text
        theirs = self.model(store=self.folder / "program").open("notes")
        self.assertIs(theirs.resume.outcome, satchel.Outcome.RESTORED)
        self.assertEqual([(m.text, m.tokens) for m in theirs.messages], [(m.text, m.tokens) for m in ours])
        self.assertEqual(theirs.ask(PET).text, goes_on)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None
    unittest.main()
