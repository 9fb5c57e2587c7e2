// The longest gap between two tokens of a chat that answers while another chat reads a text, how
// long that took, and how long it takes alone; rounds in turn.
//   bench_beside MODEL [RECIPE] [TOKENS] [THREADS]
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/base/clock.h"
#include "runtime/chat/chat_service.h"
#include "runtime/limits/presets.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kRounds = 3, kTokens = 4000;

// So many tokens, or a few less.
Result<std::string> text_of(const Engine& engine, std::size_t n_tokens) {
  std::string text;
  for (std::size_t i = 0;; ++i) {
    const std::string line = "The brass bell of room " + std::to_string(i) + " hangs by door " +
                             std::to_string(7 * i % 100) + ". ";
    SATCHEL_TRY_ASSIGN(const auto ids,
                       engine.tokenizer().encode(text + line, SpecialText::as_text));
    if (ids.size() > n_tokens) return text;
    text += line;
  }
}

// A chat that answers until it is destroyed.
class Answer {
 public:
  Answer(ChatService& service, ChatHandle chat)
      : answers_([this, &service, chat](const std::stop_token& stop) {
          Sampling sampling{.temperature = 1, .seed = 7, .n_tokens_max = 0};
          sampling.ends_loops = false;
          const ChatSink sink = [this](ChatHandle, const ChatEvent& event) {
            if (!std::holds_alternative<AnswerDelta>(event)) return;
            const double now_ms = clock_.steady_ms();
            if (watches_) gap_ms_ = std::max(gap_ms_.load(), now_ms - last_ms_);
            if (watches_) ++n_deltas_;
            last_ms_ = now_ms;
            has_begun_ = true;
          };
          (void)service.send(chat, "Tell me a long story.", sampling, {stop, sink});
          has_begun_ = true;
          is_over_ = true;
        }) {
    while (!has_begun_) std::this_thread::yield();
  }
  void watch() { watches_ = true; }
  bool is_over() const { return is_over_; }
  double gap_ms() const { return gap_ms_; }
  std::size_t n_deltas() const { return n_deltas_; }

 private:
  const SystemClock clock_;
  std::atomic<bool> has_begun_ = false, watches_ = false, is_over_ = false;
  std::atomic<double> gap_ms_ = 0, last_ms_ = 0;
  std::atomic<std::size_t> n_deltas_ = 0;
  std::jthread answers_;
};

// Milliseconds of reading the text in a chat of its own.
Result<double> read(ChatService& service, const ChatStart& start, const std::string& text) {
  SATCHEL_TRY_ASSIGN(const ChatHandle chat, service.begin(start));
  const SystemClock clock;
  const double began_ms = clock.steady_ms();
  SATCHEL_TRY(service.attach(chat, {.title = "text", .text = text}));
  const double ms = clock.steady_ms() - began_ms;
  service.close(chat);
  return ms;
}

Result<void> round(ChatService& service, const ChatStart& start, const std::string& text) {
  SATCHEL_TRY_ASSIGN(const double alone_ms, read(service, start, text));
  SATCHEL_TRY_ASSIGN(const ChatHandle chat, service.begin(start));
  {
    Answer answer(service, chat);
    answer.watch();
    SATCHEL_TRY_ASSIGN(const double ms, read(service, start, text));
    const std::size_t n = answer.n_deltas();
    while (!answer.is_over() && answer.n_deltas() == n) std::this_thread::yield();
    std::printf("alone %6.0f ms  beside an answer %6.0f ms  longest gap %6.0f ms  %4zu deltas%s\n",
                alone_ms, ms, answer.gap_ms(), n, answer.is_over() ? "  (it ended)" : "");
  }
  service.close(chat);
  return {};
}

Result<void> run(int argc, char** argv) {
  EngineOptions options;
  const std::string recipe = argc > 2 ? argv[2] : "full";
  const std::size_t n_tokens = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : kTokens;
  if (argc > 4) options.n_threads = std::strtoul(argv[4], nullptr, 10);
  ChatService service(nullptr, options);
  SATCHEL_TRY_ASSIGN(const ModelFacts facts, service.open_model(argv[1]));
  SATCHEL_TRY_ASSIGN(kvcache::Recipe resolved, resolve_recipe(recipe));
  const std::size_t n_most = std::min(n_tokens + 64, service.engine()->config().context);
  SATCHEL_TRY_ASSIGN(const Estimate most,
                     service.engine()->estimate(resolved, {.n_tokens = n_most}));
  const ChatStart start{.memory = {std::move(resolved), 3 * most.arena_bytes}};
  SATCHEL_TRY_ASSIGN(const std::string text, text_of(*service.engine(), n_tokens));
  std::printf("%s on %s, %s, a text of %zu tokens\n", facts.title.c_str(),
              service.engine()->device().c_str(), recipe.c_str(), n_tokens);
  for (std::size_t i = 0; i < kRounds; ++i) SATCHEL_TRY(round(service, start, text));
  return {};
}

}  // namespace
}  // namespace satchel::runtime

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("bench_beside MODEL [RECIPE] [TOKENS] [THREADS]\n", stderr);
    return 2;
  }
  const satchel::Result<void> done = satchel::runtime::run(argc, argv);
  if (!done.ok()) std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return done.ok() ? 0 : 1;
}
