// Several chats that answer at once (Model::decode): tokens per second of all together for 1, 2, 4
// and 8 of them, each behind a prompt of its own; rounds in turn.
//   bench_together MODEL [RECIPE] [DEPTH] [THREADS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "app/eval/measure/passes.h"
#include "kernels/base/clock.h"
#include "runtime/engine.h"
#include "runtime/engine_state.h"
#include "runtime/limits/presets.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kCounts[] = {1, 2, 4, 8}, kMost = 8, kSteps = 16, kRounds = 5;

struct Chat {
  std::unique_ptr<kvcache::Cache> cache;
  std::vector<float> logits;
};

Result<std::vector<Chat>> open_chats(Engine& engine, const std::string& recipe_name,
                                     std::size_t depth) {
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, resolve_recipe(recipe_name));
  const std::size_t n_tokens = depth + kRounds * kSteps * std::size(kCounts);
  SATCHEL_TRY_ASSIGN(const Estimate needs, engine.estimate(recipe, {.n_tokens = n_tokens}));
  SATCHEL_TRY(engine.set_budget(kMost * needs.arena_bytes));
  std::vector<std::int32_t> ids(depth);
  for (std::size_t i = 0; i < depth; ++i)
    ids[i] = static_cast<std::int32_t>((i * 7919 + 17) % engine.config().n_vocabulary);
  std::vector<Chat> chats(kMost);
  for (Chat& chat : chats) {
    SATCHEL_TRY_ASSIGN(chat.cache, kvcache::Cache::open(engine.state().arena,
                                                        engine.config().cache_shape(), recipe));
    chat.logits.resize(engine.config().n_vocabulary);
    SATCHEL_TRY(eval::read_document(engine, *chat.cache, ids, {}, chat.logits));
  }
  return chats;
}

// Milliseconds of kSteps steps of the first n.
Result<double> steps_ms(Engine& engine, std::vector<Chat>& chats, std::size_t n) {
  std::vector<DecodeItem> items;
  for (std::size_t i = 0; i < n; ++i)
    items.push_back({.cache = chats[i].cache.get(), .id = 0, .logits = chats[i].logits});
  const SystemClock clock;
  const double began = clock.steady_ms();
  for (std::size_t step = 0; step < kSteps; ++step) {
    for (DecodeItem& item : items)
      item.id = static_cast<std::int32_t>((step * 31 + 7) % engine.config().n_vocabulary);
    SATCHEL_TRY(engine.model().decode(items));
  }
  return clock.steady_ms() - began;
}

Result<void> run(int argc, char** argv) {
  EngineOptions options;
  options.model = argv[1];
  const std::string recipe = argc > 2 ? argv[2] : "full";
  const std::size_t depth = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 512;
  if (argc > 4) options.n_threads = std::strtoul(argv[4], nullptr, 10);
  SATCHEL_TRY_ASSIGN(const auto engine, Engine::open(options));
  SATCHEL_TRY_ASSIGN(std::vector<Chat> chats, open_chats(*engine, recipe, depth));
  std::vector<std::vector<double>> ms(std::size(kCounts));
  for (std::size_t round = 0; round < kRounds; ++round)
    for (std::size_t i = 0; i < std::size(kCounts); ++i) {
      SATCHEL_TRY_ASSIGN(const double took, steps_ms(*engine, chats, kCounts[i]));
      ms[i].push_back(took);
    }
  std::printf("%s on %s, %s, %zu tokens each\n", engine->config().name.c_str(),
              engine->device().c_str(), recipe.c_str(), depth);
  double alone = 0;
  for (std::size_t i = 0; i < std::size(kCounts); ++i) {
    std::sort(ms[i].begin(), ms[i].end());
    const double per_s = static_cast<double>(kCounts[i] * kSteps) * 1000 / ms[i][kRounds / 2];
    if (i == 0) alone = per_s;
    std::printf("%zu chats  %8.1f tok/s together  %.2f times one\n", kCounts[i], per_s,
                per_s / alone);
  }
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
