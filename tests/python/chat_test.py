"""A chat in Python: answers, streams, what stops them, errors, threads."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

import satchel
from satchel._call import Call
from support import ENDLESS, NOTES, PET, ModelTest


class Chat(ModelTest):
    def setUp(self):
        super().setUp()
        self.loaded = self.model()
        self.chat = self.loaded.chat()

    def test_it_reads_answers_and_says_what_it_reused(self):
        self.assertIsNone(self.chat.resume)
        first = self.chat.ask(NOTES)
        second = self.chat.ask(PET)
        self.assertIn("rabbit", second.text)
        self.assertEqual(first.n_reused, 0)
        self.assertGreater(second.n_reused, first.n_prompt)
        self.assertEqual(second.n_reused + second.n_prefilled, second.n_prompt)
        self.assertEqual(second.finish, satchel.Finish.END_OF_TURN)
        self.assertIs(second.resume_outcome, satchel.Outcome.RESTORED)
        self.assertEqual([m.role for m in self.chat.messages], ["user", "assistant"] * 2)
        self.assertGreater(self.chat.stats.bytes, 0)

    def test_a_stream_says_the_answer_in_deltas(self):
        self.chat.ask(NOTES)
        stream = self.chat.send(PET)
        deltas = list(stream)
        self.assertGreater(len(deltas), 3)
        self.assertEqual("".join(deltas), stream.answer.text)
        self.assertEqual(stream.answer, stream.answer)
        self.assertEqual(list(stream), [])
        self.assertFalse(deltas[0].is_thought)

    def test_a_stream_left_early_stops_the_answer_and_the_chat_keeps_what_was_said(self):
        for leave in ("break", "close", "with", "del"):
            with self.subTest(leave):
                chat = self.loaded.chat()
                if leave == "break":
                    for _ in chat.send(PET, sampling=ENDLESS):
                        break
                elif leave == "with":
                    with chat.send(PET, sampling=ENDLESS) as stream:
                        next(stream)
                    self.assertEqual(stream.answer.finish, satchel.Finish.STOPPED)
                else:
                    stream = chat.send(PET, sampling=ENDLESS)
                    next(stream)
                    if leave == "close":
                        stream.close()
                        self.assertEqual(list(stream), [])
                    del stream
                self.assertEqual(chat.messages[-1].state, "interrupted")
                self.assertGreater(chat.ask(PET).n_answer, 0)

    def test_a_conversation_from_elsewhere_a_fork_and_a_cut(self):
        noted = self.chat.ask(NOTES).text
        pet = self.chat.ask(PET).text
        other = self.loaded.chat()
        ids = other.append([("user", NOTES), ("assistant", noted), ("user", PET)])
        self.assertGreater(other.prefill().n_tokens, 0)
        self.assertEqual(other.answer().answer.text, pet)
        fork = other.fork()
        fork.truncate(ids[2])
        self.assertEqual(fork.answer().answer.text, pet)
        self.assertEqual(fork.messages, other.messages)
        fork.pin(ids[0])
        fork.forget(ids[1])
        fork.truncate(0)
        self.assertEqual(fork.messages, [])
        with self.assertRaises(ValueError):
            other.append([("nobody", "Hi")])

    def test_a_document_is_compressed_under_a_recipe_and_a_limit(self):
        phases = []
        chat = self.loaded.chat(recipe="compact")
        report = chat.add_document("notes.txt", NOTES * 20, progress=lambda *now: phases.append(now))
        self.assertGreater(report.n_tokens, 300)
        self.assertEqual(phases[0][0], satchel.Phase.PREFILL)
        chat.idle()
        self.assertLess(chat.stats.bytes, chat.stats.fp16_bytes)
        self.assertGreater(chat.stats.n_evicted, 0)
        self.assertTrue(chat.fidelity.is_measured)
        before = chat.stats.bytes
        self.assertLess(chat.preview(recipe="extreme").bytes_after, before)
        self.assertEqual(chat.stats.bytes, before)
        chat.set_recipe("extreme")
        self.assertLess(chat.stats.bytes, before)
        self.assertTrue(chat.set_limit(8_000_000).fits)
        self.assertLessEqual(chat.stats.limit_bytes, 8_000_000)
        with self.assertRaises(satchel.InvalidError) as refused:
            chat.set_limit(1000)
        self.assertEqual(refused.exception.code, "LIMIT")
        self.assertTrue(chat.set_limit(refused.exception.detail["least_limit_bytes"]).fits)

    def test_a_model_counts_estimates_and_describes(self):
        self.assertEqual(self.loaded.info.n_context, 2048)
        self.assertIn("threads", self.loaded.device)
        text = "Grüße\0 and tea"
        ids = self.loaded.tokenize(text)
        self.assertEqual(len(ids), self.loaded.count_tokens(text))
        self.assertEqual(self.loaded.detokenize(ids), text)
        estimate = self.loaded.estimate("compact")
        self.assertTrue(estimate.fits)
        self.assertLess(estimate.expected_bytes, estimate.fp16_bytes)
        before = satchel.estimate_model(recipe="compact", limit_bytes=8_000_000, backend="cpu")
        self.assertEqual(before.expected_bytes, self.loaded.estimate("compact", limit_bytes=8_000_000).expected_bytes)
        self.assertIn("compact", [recipe.name for recipe in satchel.recipes()])
        self.assertIn('"satchel"', satchel.check_recipe("compact"))
        seen = satchel.inspect_model(satchel.BUNDLED_MODEL)
        self.assertEqual((seen["context"], seen["layers"]), (self.loaded.info.n_context, self.loaded.info.n_layers))


class Stops(ModelTest):
    def setUp(self):
        super().setUp()
        # A shell has what it starts in the background ignore it.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)

    def test_ctrl_c_reaches_a_thread_that_waits_and_cancels(self):
        waits, cancelled = threading.Event(), threading.Event()

        def body(call):
            call.tell(satchel.Delta("first"))
            waits.wait()
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            self.assertTrue(cancelled.wait(60))

        made = Call(body, cancelled.set)
        stream = satchel.Stream(made, thoughts=False)
        self.assertEqual(next(stream), "first")
        take = made.take

        def take_and_tell():
            waits.set()
            return take()

        made.take = take_and_tell
        with self.assertRaises(KeyboardInterrupt):
            next(stream)
        self.assertTrue(cancelled.is_set())
        self.assertEqual(list(stream), [])

    def test_ctrl_c_stops_a_prompt_and_the_chat_goes_on(self):
        chat = self.model().chat()
        with self.assertRaises(KeyboardInterrupt):
            chat.add_document("notes.txt", NOTES * 20, progress=lambda *_: signal.raise_signal(signal.SIGINT))
        self.assertIn("rabbit", chat.ask(PET).text)

    def test_what_progress_raises_stops_the_call(self):
        chat = self.model().chat()

        def refuse(*_):
            raise LookupError("enough")

        with self.assertRaisesRegex(LookupError, "enough"):
            chat.add_document("notes.txt", NOTES * 20, progress=refuse)
        self.assertEqual(chat.messages[0].title, "notes.txt")
        self.assertIn("rabbit", chat.ask(PET).text)

    def test_another_thread_cancels(self):
        chat = self.model().chat()
        stream = chat.send(PET, sampling=ENDLESS)
        next(stream)
        chat.cancel()
        self.assertEqual(stream.answer.finish, satchel.Finish.STOPPED)

    def test_closing_a_chat_ends_its_call_first(self):
        chat = self.model().chat()
        stream = chat.send(PET, sampling=ENDLESS)
        next(stream)
        chat.close()
        self.assertEqual(stream.answer.finish, satchel.Finish.STOPPED)
        with self.assertRaisesRegex(ValueError, "closed"):
            chat.ask(PET)

    def test_a_chat_that_is_dropped_holds_up_nobody_and_is_freed(self):
        model = self.model()
        chat, dropped = model.chat(), model.chat()
        dropped.ask(NOTES * 10)
        held = dropped.stats.bytes
        with chat.send(PET, sampling=ENDLESS) as stream:
            next(stream)
            del dropped
            gc.collect()
        self.assertEqual(stream.answer.finish, satchel.Finish.STOPPED)
        self.assertGreater(held, 100_000)
        for _ in range(20):  # it is freed after the call that ran, on that one's thread
            chat.ask(NOTES)
            if chat.stats.used_bytes - chat.stats.bytes < held / 2:
                return
        self.fail("it was not freed")

    def test_a_program_ends_though_an_answer_does_not(self):
        program = (
            "from support import *\n"
            "model = satchel.Model(backend='cpu', n_threads=2)\n"
            "stream = model.chat().send(PET, sampling=ENDLESS)\n"
            "print(len(next(stream)) > 0)\n"
        )
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60,
                               cwd=os.path.dirname(os.path.abspath(__file__)))
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "True\n", ""))

    def test_a_forked_child_ends_without_freeing_what_is_the_parents(self):
        model = self.model()
        chat = model.chat()
        chat.ask(NOTES)
        child = os.fork()
        if child == 0:
            chat.close()
            model.close()
            os._exit(7)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)
        self.assertIn("rabbit", chat.ask(PET).text)


class Errors(ModelTest):
    def test_they_have_a_class_a_code_and_a_sentence(self):
        with self.assertRaises(satchel.NotFoundError) as error:
            satchel.Model("/nowhere/model.gguf")
        self.assertEqual(error.exception.code, "MODEL_NOT_FOUND")
        self.assertIn("/nowhere/model.gguf", str(error.exception))
        broken = self.folder / "broken.gguf"
        broken.write_bytes(satchel.BUNDLED_MODEL.read_bytes()[:5000])
        with self.assertRaises(satchel.CorruptError):
            satchel.Model(broken)
        model = self.model()
        with self.assertRaises(satchel.InvalidError) as error:
            model.chat("notes")
        self.assertEqual(error.exception.code, "NO_STORE")
        with self.assertRaises(satchel.InvalidError):
            model.chat(recipe='{"name": 3}')
        with self.assertRaises(satchel.MemoryLimitError):
            model.chat().ask(NOTES * 200)
        with self.assertRaises(ValueError):
            model.chat(thinking="maybe")
        with self.assertRaises(ValueError):
            model.open("a\0b")
        model.close()
        model.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            model.info

    def test_a_second_call_on_a_chat_is_busy_and_another_chat_takes_its_turn(self):
        model = self.model()
        chat, other = model.chat(), model.chat()
        with chat.send(PET, sampling=ENDLESS) as stream:
            next(stream)
            with self.assertRaises(satchel.BusyError):
                chat.messages
            self.assertGreater(chat.stats.n_context, 0)
            answers = []
            waiting = threading.Thread(target=lambda: answers.extend(other.ask(text).text for text in (NOTES, PET)))
            waiting.start()
            next(stream)
        waiting.join()
        self.assertIn("rabbit", answers[1])

    def test_python_runs_while_the_library_works(self):
        chat = self.model().chat()
        turns = 0
        stream = chat.send(PET, sampling=ENDLESS)
        end = threading.Thread(target=lambda: stream.answer)
        end.start()
        while end.is_alive():
            turns += 1
            time.sleep(0)
        self.assertGreater(turns, 1000)

    def test_chats_of_two_models_in_four_threads_answer_as_alone(self):
        models = [self.model(), self.model()]
        answers = [None] * 4

        def talk(i):
            chat = models[i % 2].chat(recipe="compact" if i < 2 else "full")
            answers[i] = [chat.ask(NOTES).text, chat.ask(PET).text]

        alone = []
        for i in (0, 2):
            talk(i)
            alone.append(answers[i])
        threads = [threading.Thread(target=talk, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(answers, [alone[0], alone[0], alone[1], alone[1]])


if __name__ == "__main__":
    unittest.main()
