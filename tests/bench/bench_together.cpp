// Several chats that answer at once through the chat service: tokens per second of all together
// for 1, 2, 4 and 8 of them, each on a thread of its own behind a prompt of its own; rounds in
// turn. "one by one" has the same answers made after each other in the same round.
//   bench_together MODEL [RECIPE] [DEPTH] [THREADS] [SHARED]
//   SHARED  of the words of DEPTH, those that all chats have in common: one chat reads them, once,
//           and the others are branches of it
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/base/clock.h"
#include "runtime/chat/chat_service.h"
#include "runtime/limits/presets.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kCounts[] = {1, 2, 4, 8}, kRounds = 3, kTokens = 48;

struct Rate {
  double tokens = 0, ms = 0;
  double per_s() const { return tokens * 1000 / ms; }
};

// Some words of the chat's own, each about a token.
std::string words(std::size_t chat, std::size_t n) {
  const char* const some[] = {" river", " stone", " green", " seven", " light", " under", " house"};
  std::string text = "Chat " + std::to_string(chat) + ":";
  for (std::size_t i = 0; i < n; ++i) text += some[(i * (chat + 3) + i / 7) % std::size(some)];
  return text + ". Go on.";
}

struct Begin {
  ChatStart start;
  std::size_t n_words = 0;                // of each chat, for itself
  std::optional<ChatHandle> shared = {};  // what all of them go on from
};

Result<void> read(ChatService& service, ChatHandle chat, std::span<const MessageText> messages) {
  SATCHEL_TRY(service.append(chat, messages));
  SATCHEL_TRY(service.read(chat));
  return {};
}

Result<ChatHandle> read_chat(ChatService& service, const Begin& begin, std::size_t chat) {
  SATCHEL_TRY_ASSIGN(const ChatHandle handle,
                     begin.shared ? service.branch(*begin.shared) : service.begin(begin.start));
  const std::string text = words(chat, begin.n_words);
  const MessageText message{.role = Role::user, .text = text};
  SATCHEL_TRY(read(service, handle, {&message, 1}));
  return handle;
}

Result<ChatHandle> read_shared(ChatService& service, const ChatStart& start, std::size_t n_words) {
  SATCHEL_TRY_ASSIGN(const ChatHandle chat, service.begin(start));
  const std::string text = words(0, n_words);
  const MessageText both[] = {{.role = Role::user, .text = text},
                              {.role = Role::assistant, .text = "Yes."}};
  SATCHEL_TRY(read(service, chat, both));
  return chat;
}

Result<Rate> answer(ChatService& service, const std::vector<ChatHandle>& chats, bool at_once) {
  std::vector<std::jthread> threads;
  std::vector<std::size_t> n_tokens(chats.size());
  const SystemClock clock;
  const double began = clock.steady_ms();
  for (std::size_t i = 0; i < chats.size(); ++i) {
    threads.emplace_back([&, i] {
      Sampling sampling{.temperature = 1, .seed = i, .n_tokens_max = kTokens};
      sampling.ends_loops = false;
      const auto report = service.answer(chats[i], sampling);
      if (report.ok()) n_tokens[i] = report->n_tokens;
    });
    if (!at_once) threads.back().join();
  }
  for (std::jthread& thread : threads)
    if (thread.joinable()) thread.join();
  Rate rate{.tokens = 0, .ms = clock.steady_ms() - began};
  for (const std::size_t n : n_tokens) {
    if (n == 0) return Error{ErrorKind::internal, "BENCH", "A chat did not answer."};
    rate.tokens += static_cast<double>(n);
  }
  return rate;
}

Result<Rate> measure(ChatService& service, const Begin& begin, std::size_t n_chats, bool at_once) {
  std::vector<ChatHandle> chats;
  for (std::size_t i = 0; i < n_chats; ++i) {
    SATCHEL_TRY_ASSIGN(const ChatHandle chat, read_chat(service, begin, i));
    chats.push_back(chat);
  }
  Result<Rate> rate = answer(service, chats, at_once);
  for (const ChatHandle chat : chats) service.close(chat);
  return rate;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

Result<void> run(int argc, char** argv) {
  EngineOptions options;
  const std::string recipe = argc > 2 ? argv[2] : "full";
  const std::size_t depth = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 512;
  if (argc > 4) options.n_threads = std::strtoul(argv[4], nullptr, 10);
  const std::size_t shared = argc > 5 ? std::strtoul(argv[5], nullptr, 10) : 0;
  if (shared > depth) return Error{ErrorKind::invalid, "BENCH", "SHARED > DEPTH."};
  ChatService service(nullptr, options);
  SATCHEL_TRY_ASSIGN(const ModelFacts facts, service.open_model(argv[1]));
  SATCHEL_TRY_ASSIGN(kvcache::Recipe resolved, resolve_recipe(recipe));
  // A word may be two tokens.
  const std::size_t n_most = std::min(2 * depth + 2 * kTokens, facts.n_context);
  SATCHEL_TRY_ASSIGN(const Estimate most,
                     service.engine()->estimate(resolved, {.n_tokens = n_most}));
  Begin begin{.start = {.memory = {std::move(resolved), kCounts[3] * most.arena_bytes}},
              .n_words = depth - shared};
  if (shared > 0) {
    SATCHEL_TRY_ASSIGN(begin.shared, read_shared(service, begin.start, shared));
  }
  std::printf("%s on %s, %s, prompts of %zu words, %zu of them shared\n", facts.title.c_str(),
              service.engine()->device().c_str(), recipe.c_str(), depth, shared);
  std::vector<std::vector<double>> at_once(std::size(kCounts)), ratio(std::size(kCounts));
  for (std::size_t round = 0; round < kRounds; ++round)
    for (std::size_t i = 0; i < std::size(kCounts); ++i) {
      SATCHEL_TRY_ASSIGN(const Rate one, measure(service, begin, kCounts[i], false));
      SATCHEL_TRY_ASSIGN(const Rate all, measure(service, begin, kCounts[i], true));
      at_once[i].push_back(all.per_s());
      ratio[i].push_back(all.per_s() / one.per_s());
    }
  for (std::size_t i = 0; i < std::size(kCounts); ++i)
    std::printf("%zu chats  %8.1f tok/s together  %.2f times one by one\n", kCounts[i],
                median(at_once[i]), median(ratio[i]));
  return {};
}

}  // namespace
}  // namespace satchel::runtime

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("bench_together MODEL [RECIPE] [DEPTH] [THREADS]\n", stderr);
    return 2;
  }
  const satchel::Result<void> done = satchel::runtime::run(argc, argv);
  if (!done.ok()) std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return done.ok() ? 0 : 1;
}
