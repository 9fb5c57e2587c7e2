// F7: a process that is killed at a random moment, while answers stream and caches are saved, has
// lost nothing that it said was saved. (kill -9 does not test a power cut: the page cache
// survives.)
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

#include "fixtures.h"
#include "kernels/base/rng.h"

namespace satchel::storage {
namespace {
using runtime::MessageState;
using runtime::Role;

constexpr int kRounds = 30;
constexpr int kAnswerTokens = 80;

// What the child says once it is saved: message n of a chat with so many tokens at least.
enum class Said : std::int32_t { user, part, finished, snapshot };
struct Ack {
  Said said;
  std::int32_t n;  // message, from 0; generation for snapshot
  std::int32_t n_tokens;
};

std::string question(std::int32_t n) {
  return "question " + std::to_string(n);
}
std::string answer(std::int32_t n) {
  return std::string(kAnswerTokens, static_cast<char>('a' + n % 26));
}
std::vector<std::int32_t> tokens_of(const std::string& text) {
  return {text.begin(), text.end()};
}

void say_saved(int pipe, Ack ack) {
  if (::write(pipe, &ack, sizeof ack) != sizeof ack) ::_exit(9);
}

void stream(Library& library, ChatId chat, std::int32_t n, int pipe) {
  const MessageId id = begin_answer(library, chat);
  const std::string text = answer(n);
  const std::vector<std::int32_t> tokens = tokens_of(text);
  for (std::int32_t i = 0; i < kAnswerTokens; ++i) {
    const auto at = static_cast<std::size_t>(i);
    must(
        library.extend(id, std::string_view(text).substr(at, 1), std::span(tokens).subspan(at, 1)));
    if (i % 7 != 6) continue;
    must(library.flush());
    say_saved(pipe, {Said::part, n, i + 1});
  }
  must(library.finish(id, MessageState::complete, "", {}));
  say_saved(pipe, {Said::finished, n, kAnswerTokens});
}

[[noreturn]] void live_until_killed(const TempFolder& folder, int pipe) {
  try {
    const auto store = open_store(folder);
    const ChatId chat = must(store->library().find_chat("chat"))->id;
    const auto manifest = must(store->kv()->newest_manifest(key_of(chat)));
    std::uint64_t generation = manifest ? manifest->generation : 0;
    for (auto n = static_cast<std::int32_t>(must(store->library().messages(chat)).size());;) {
      say(store->library(), chat, question(n), tokens_of(question(n)));
      say_saved(pipe, {Said::user, n++, 0});
      stream(store->library(), chat, n++, pipe);
      ++generation;
      const kvcache::RecordId record = generation;
      must(store->kv()->put_record(key_of(chat), record,
                                   bytes_of(50'000, static_cast<unsigned>(record))));
      must(store->kv()->commit(key_of(chat),
                               {.generation = generation, .live = std::span(&record, 1)}));
      say_saved(pipe, {Said::snapshot, static_cast<std::int32_t>(generation), 0});
    }
  } catch (...) {
    ::_exit(8);
  }
}

struct Ledger {
  std::map<std::int32_t, std::int32_t> n_tokens;  // by message: at least
  std::map<std::int32_t, bool> finished;
  std::uint64_t generation = 0;

  void add(const Ack& ack) {
    if (ack.said == Said::snapshot)
      generation = static_cast<std::uint64_t>(ack.n);
    else
      n_tokens[ack.n] = ack.n_tokens;
    if (ack.said == Said::finished) finished[ack.n] = true;
  }
};

void check(Store& store, ChatId chat, const Ledger& ledger) {
  const auto found = must(store.library().messages(chat));
  ASSERT_TRUE(ledger.n_tokens.empty() ||
              static_cast<std::size_t>(ledger.n_tokens.rbegin()->first) < found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto n = static_cast<std::int32_t>(i);
    const std::string whole =
        found[i].role == Role::user ? question(n) : answer(n).substr(0, found[i].text.size());
    EXPECT_EQ(found[i].text, whole);
    EXPECT_EQ(found[i].tokens, tokens_of(whole));
    EXPECT_NE(found[i].state, MessageState::streaming);
    if (const auto said = ledger.n_tokens.find(n); said != ledger.n_tokens.end()) {
      EXPECT_GE(static_cast<std::int32_t>(found[i].tokens.size()), said->second);
    }
    if (ledger.finished.contains(n)) {
      EXPECT_EQ(found[i].state, MessageState::complete);
    }
  }
  const auto manifest = must(store.kv()->newest_manifest(key_of(chat)));
  const std::uint64_t generation = manifest ? manifest->generation : 0;
  EXPECT_GE(generation, ledger.generation);
  if (generation > 0) {
    EXPECT_EQ(must(store.kv()->record(key_of(chat), generation)),
              bytes_of(50'000, static_cast<unsigned>(generation)));
  }
}

// Runs a child, kills it after `delay_us`, and takes down what it said.
void run_and_kill(const TempFolder& folder, unsigned delay_us, Ledger& ledger) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    (void)::close(ends[0]);
    live_until_killed(folder, ends[1]);
  }
  (void)::close(ends[1]);
  ::usleep(delay_us);
  (void)::kill(child, SIGKILL);
  for (Ack ack{}; ::read(ends[0], &ack, sizeof ack) == sizeof ack;) ledger.add(ack);
  (void)::close(ends[0]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << WEXITSTATUS(status);
}

TEST(Kill, at_any_moment_loses_no_message_that_was_said_to_be_saved) {
  const TempFolder folder(Place::memory);
  const ChatId chat = must(open_store(folder)->library().create_chat(named("chat")));
  Ledger ledger;
  Rng rng(20261121);
  std::size_t n_unclean = 0, n_interrupted = 0;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE("seed 20261121, round " + std::to_string(round));
    run_and_kill(folder, 1000 + static_cast<unsigned>(rng.uniform() * 40'000), ledger);
    {
      const auto store = open_store(folder);
      n_unclean += store->ended_unclean() ? 1u : 0u;
      n_interrupted += store->library().report().n_interrupted;
      EXPECT_FALSE(store->library().report().read_only.has_value());
      check(*store, chat, ledger);
    }
    ASSERT_EQ(integrity(folder / "data/library.db"), "ok");
    ASSERT_EQ(integrity(folder / "cache/kvcache.db"), "ok");
    if (HasFailure()) return;
  }
  RecordProperty("faults", kRounds);
  EXPECT_GT(n_unclean, 0u);
  EXPECT_GT(n_interrupted, 0u) << "no kill fell into an answer: the test is too slow or too fast";
  EXPECT_GT(ledger.n_tokens.size(), 10u);
}

}  // namespace
}  // namespace satchel::storage
