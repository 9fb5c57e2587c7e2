"""32 clients at once, each in chats of its own, against `satchel serve` with the bundled model.

    serve_crowd.py PATH/TO/satchel models/notes-heldout.jsonl [SECONDS]

Each chat is about notes of its own. First it is talked through alone; then every answer to it must be the same,
whoever else asks meanwhile: a word of another chat would be another text. A quarter of the clients reads whole answers,
a quarter streams, a quarter reads slowly, a quarter leaves in the middle and asks again; half of each alternates two
chats; most name a session, eight are known by their messages. One more begins chats and deletes them. When memory was
full once, SECONDS are measured (default 10); then half as long with a store, whose chats are on disk.
"""
import itertools
import json
import pathlib
import re
import sys
import tempfile
import threading
import time

from serving import Server, events_of

N_CLIENTS, N_QUESTIONS, TOKENS = 32, 3, 24
PATIENCE = 120  # seconds, after which a client or the server hangs
HEALTH_S = 2  # the most that /health may take, on a machine that is busy


class Chat:
    """Notes, questions about them, and what is answered when nobody else asks."""

    def __init__(self, number, row):
        self.session = f"crowd-{number}"
        self.notes = row["notes"]
        self.exchanges = row["exchanges"][:N_QUESTIONS]
        self.said, self.n_prompt = [], []

    def messages(self, turn):
        """Up to the question of a turn."""
        out = [{"role": "user", "content": self.notes}, {"role": "assistant", "content": "Noted."}]
        for exchange, answer in zip(self.exchanges, self.said[:turn]):
            out += [{"role": "user", "content": exchange["ask"]}, {"role": "assistant", "content": answer}]
        return out + [{"role": "user", "content": self.exchanges[turn]["ask"]}]


class Counts:
    def __init__(self):
        self.lock, self.of = threading.Lock(), dict.fromkeys(("answers", "left", "refused", "reread", "reread_in_part", "tokens"), 0)

    def add(self, name, n=1):
        with self.lock:
            self.of[name] += n


class Client:
    KINDS = ("whole", "streamed", "slow", "leaving")

    def __init__(self, number, chats, server, counts):
        self.kind = self.KINDS[number % 4]
        self.names_session = number >= 8
        self.chats, self.server, self.counts = chats, server, counts

    def talk(self, ends):
        turns = itertools.cycle(itertools.product(range(N_QUESTIONS), self.chats))
        for turn, chat in turns:
            if ends.is_set():
                return
            if self.kind == "leaving":
                self.ask(chat, turn, leaves=True)
            text, usage = self.ask(chat, turn)
            assert text == chat.said[turn], (chat.session, turn, text, chat.said[turn])
            assert usage["prompt_tokens"] == chat.n_prompt[turn], (usage, chat.n_prompt[turn])
            cached = usage["prompt_tokens_details"]["cached_tokens"]
            # What the turn before it had read is not read again, unless the chat was closed meanwhile to make room; nor is
            # what a client had read that left and asks the same again.
            before = chat.n_prompt[turn - 1] if turn > 0 else 0
            assert cached <= usage["prompt_tokens"], (turn, usage)
            self.counts.add("reread", cached == 0)
            self.counts.add("reread_in_part", 0 < cached <= before)
            self.counts.add("answers")
            self.counts.add("tokens", usage["completion_tokens"])

    def ask(self, chat, turn, leaves=False):
        body = {"messages": chat.messages(turn), "max_tokens": TOKENS}
        if self.names_session:
            body["satchel"] = {"session": chat.session}
        if self.kind != "whole":
            body.update(stream=True, stream_options={"include_usage": True})
        while True:
            response = self.server.ask("/v1/chat/completions", body)
            if response.status != 429:
                break
            assert int(response.headers["Retry-After"]) >= 1 and json.loads(response.read())["error"]["code"] == "busy"
            self.counts.add("refused")
            time.sleep(0.1)  # sooner than asked, so that enough of them press
        assert response.status == 200, (response.status, response.read())
        if self.kind == "whole":
            document = json.loads(response.read())
            return document["choices"][0]["message"]["content"], document["usage"]
        return self.read(response, leaves)

    def read(self, response, leaves):
        text, usage = "", None
        for _, data in events_of(response):
            if data == "[DONE]":
                break
            chunk = json.loads(data)
            assert "error" not in chunk, chunk
            text += "".join(choice["delta"].get("content") or "" for choice in chunk["choices"])
            usage = chunk.get("usage") or usage
            if leaves and text:
                self.counts.add("left")
                break
            if self.kind == "slow":
                time.sleep(0.02)
        response.close()
        return text, usage


def metrics(server):
    text = server.ask("/metrics").read().decode()
    return {name: int(value) for name, value in re.findall(r"^satchel_(\S+) (\d+)$", text, re.M)}


def holds(server):
    """Of the process: bytes in memory, threads, open files."""
    at = pathlib.Path("/proc", str(server.process.pid))
    status = (at / "status").read_text()
    return {"bytes": int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024, "threads": int(re.search(r"Threads:\s+(\d+)", status)[1]),
            "files": len(list((at / "fd").iterdir()))}


def talk_alone(server, chats):
    alone = Client(0, chats, server, Counts())
    for chat in chats:
        for turn in range(N_QUESTIONS):
            text, usage = alone.ask(chat, turn)
            chat.said.append(text)
            chat.n_prompt.append(usage["prompt_tokens"])
    pairs = [(answer, exchange["value"]) for chat in chats for answer, exchange in zip(chat.said, chat.exchanges)]
    n_right = sum(value in answer for answer, value in pairs)
    assert n_right > 0.9 * len(pairs), (n_right, len(pairs))  # the notes are what it answers from
    assert len({tuple(chat.said) for chat in chats}) == len(chats)
    return n_right, len(pairs)


class Crowd:
    def __init__(self, server, chats):
        self.counts, self.failed, self.ends = Counts(), [], threading.Event()
        self.server, self.healths = server, []
        left = iter(chats)
        clients = [Client(i, [next(left) for _ in range(1 + i // 4 % 2)], server, self.counts) for i in range(N_CLIENTS)]
        works = [client.talk for client in clients] + [self.check_health, self.delete_chats]
        self.threads = [threading.Thread(target=self.guard, args=(work,), daemon=True) for work in works]
        for thread in self.threads:
            thread.start()

    def guard(self, work):
        try:
            work(self.ends)
        except BaseException as error:
            self.failed.append(error)
            self.ends.set()

    def check_health(self, ends):
        while not ends.wait(0.05):
            began = time.monotonic()
            assert self.server.ask("/health").status == 200
            self.healths.append(time.monotonic() - began)

    def delete_chats(self, ends):
        for number in itertools.count():
            if ends.wait(0.2):
                return
            session = f"short-{number}"
            body = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4, "satchel": {"session": session}}
            if self.server.ask("/v1/chat/completions", body).status == 429:
                continue
            gone = self.server.ask("/satchel/sessions/" + session, method="DELETE")
            assert gone.status == 200, (gone.status, gone.read())
            assert self.server.ask("/satchel/sessions/" + session).status == 404

    def wait(self, seconds, until=lambda: False):
        """Every half second: what the process holds."""
        seen, end = [], time.monotonic() + seconds
        while time.monotonic() < end and not until():
            assert not self.ends.wait(0.5), self.failed
            seen.append(holds(self.server)["bytes"])
        return seen

    def end(self):
        self.ends.set()
        for thread in self.threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a client hangs"
        assert not self.failed, self.failed


def ask_all_at_once(server, chats, seconds, fills_memory=True):
    before, began = holds(server), time.monotonic()
    crowd = Crowd(server, chats)
    if fills_memory:
        crowd.wait(PATIENCE, until=lambda: metrics(server)["chats_closed_total"] > 0)
    warm_s, n_before = time.monotonic() - began, dict(crowd.counts.of)
    seen = crowd.wait(seconds)
    n = {name: count - n_before[name] for name, count in crowd.counts.of.items()}
    crowd.end()
    deadline = time.monotonic() + 5
    while metrics(server)["requests_in_work"] > 0 or holds(server)["files"] > before["files"]:
        assert time.monotonic() < deadline, (metrics(server), holds(server), before)
        time.sleep(0.05)
    after, now = holds(server), metrics(server)
    middle, most = seen[len(seen) // 2], max(seen[len(seen) // 2:])
    print(json.dumps({"warm_s": round(warm_s, 1), "seconds": seconds, **n,
                      "health_ms_most": round(max(crowd.healths) * 1000), "healths": len(crowd.healths),
                      "bytes": {"at_first": seen[0], "in_the_middle": middle, "most_since": most},
                      "before": before, "after": after, "metrics": now}, indent=1))
    assert min(n["answers"], n["left"], n["refused"]) > 0, n
    assert n["reread"] < 0.05 * n["answers"] or not fills_memory, n
    assert n["reread_in_part"] == 0, n
    assert after["threads"] == before["threads"]
    assert now['http_responses_total{class="5xx"}'] == 0 and now["clients_left_total"] > 0
    assert max(crowd.healths) < HEALTH_S
    return middle, most


def main():
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 10
    rows = [json.loads(line) for line in open(sys.argv[2], encoding="utf-8")]
    rows = [row for row in rows if row["set"] == "names-512"]
    chats = [Chat(i, row) for i, row in enumerate(rows[:N_CLIENTS * 3 // 2])]
    assert len(chats) == N_CLIENTS * 3 // 2
    options = ("--recipe", "full", "--budget", "300MB", "--threads", "1", "--metrics")
    with Server(sys.argv[1], *options) as server:
        print("right alone: %d of %d" % talk_alone(server, chats))
        middle, most = ask_all_at_once(server, chats, seconds)
    assert most < 1.05 * middle, "memory grows"
    with tempfile.TemporaryDirectory() as folder, Server(sys.argv[1], "--store", folder, *options) as server:
        ask_all_at_once(server, chats, seconds / 2, fills_memory=False)


if __name__ == "__main__":
    main()
