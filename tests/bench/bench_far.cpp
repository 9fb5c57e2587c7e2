// Pages on disk: decode steps over the same text with its keys and values in memory, and under a
// limit of a part of what they take with the rest in a file. Rounds of steps in turn; both go on
// with the same token, and their logits are compared bit for bit.
//   bench_far MODEL FOLDER [RECIPE] [DEPTH] [PART] [THREADS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/rounds.h"
#include "kernels/base/rng.h"
#include "runtime/engine.h"
#include "runtime/engine_state.h"
#include "runtime/limits/presets.h"
#include "runtime/model/model.h"
#include "runtime/prefill/prefill_text.h"
#include "storage/far/far_file.h"

namespace satchel::runtime {
namespace {

using bench::must;

constexpr std::size_t kRounds = 5, kSteps = 8;

// A cache of its own arena that has read the text.
struct Reader {
  std::unique_ptr<kvcache::Cache> cache;
  std::vector<float> logits;
  std::vector<double> step_ms = {};
  double read_s = 0;
};

Reader read(Engine& engine, const std::string& recipe, std::size_t bytes,
            std::unique_ptr<kvcache::FarStore> store, std::span<const std::int32_t> text) {
  auto arena = must(kvcache::Arena::open(engine.state().backend, bytes));
  if (store != nullptr) arena->set_far(std::move(store));
  Reader made{.cache = must(kvcache::Cache::open(arena, engine.config().cache_shape(),
                                                 must(resolve_recipe(recipe)))),
              .logits = std::vector<float>(engine.config().n_vocabulary)};
  const RepeatScript script;
  const ProgressFn silent;
  made.read_s = bench::seconds_of([&] {
    must(prefill_text(
        engine.model(),
        {.cache = *made.cache, .text = text, .script = script, .stop = {}, .progress = silent},
        {.end = text.size(), .logits = made.logits}));
  });
  return made;
}

void go_on(Engine& engine, Reader& reader, std::span<const std::int32_t> ids,
           std::vector<std::vector<float>>& logits) {
  const double s = bench::seconds_of([&] {
    for (const std::int32_t id : ids) {
      must(engine.model().decode_step(*reader.cache, id, reader.logits));
      logits.push_back(reader.logits);
    }
  });
  reader.step_ms.push_back(s * 1000 / static_cast<double>(ids.size()));
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void tell(const char* name, const Reader& reader, const Reader& full) {
  const kvcache::CacheStats stats = reader.cache->stats();
  std::printf(
      "%-28s read %7.1f s  %7.1f ms a step  %.2f of full's speed  %7.1f MB of memory at most, "
      "%7.1f MB on disk\n",
      name, reader.read_s, median(reader.step_ms), median(full.step_ms) / median(reader.step_ms),
      static_cast<double>(stats.arena_peak_bytes) / 1e6,
      static_cast<double>(stats.far_bytes) / 1e6);
}

int run(int argc, char** argv) {
  EngineOptions options;
  options.model = argv[1];
  options.backend = "cpu";
  const std::string recipe = argc > 3 ? argv[3] : "full";
  const std::size_t depth = argc > 4 ? std::strtoul(argv[4], nullptr, 10) : 4096;
  const std::size_t part = argc > 5 ? std::strtoul(argv[5], nullptr, 10) : 10;
  if (argc > 6) options.n_threads = std::strtoul(argv[6], nullptr, 10);
  const auto engine = must(Engine::open(options));
  Rng rng(7);
  std::vector<std::int32_t> text(depth);
  for (std::int32_t& id : text)
    id = static_cast<std::int32_t>(rng.next() % engine->config().n_vocabulary);
  const std::size_t all = depth * engine->config().cache_shape().fp16_bytes_per_token();
  const std::size_t plenty = all + all / 4 + (std::size_t{256} << 20);
  Reader full = read(*engine, "full", plenty, nullptr, text);
  Reader near = read(*engine, recipe, plenty, nullptr, text);
  Reader far = read(*engine, recipe, all / part, must(storage::FarFile::open(argv[2])), text);
  bool is_same = near.logits == far.logits;
  std::vector<std::int32_t> ids(kSteps);
  for (std::size_t round = 0; round < kRounds; ++round) {
    for (std::int32_t& id : ids)
      id = static_cast<std::int32_t>(rng.next() % engine->config().n_vocabulary);
    std::vector<std::vector<float>> of_full, of_near, of_far;
    go_on(*engine, full, ids, of_full);
    go_on(*engine, near, ids, of_near);
    go_on(*engine, far, ids, of_far);
    is_same = is_same && of_near == of_far;
  }
  std::printf("%s, %zu tokens, fp16 cache %.1f MB, limit a part of 1/%zu\n",
              engine->config().name.c_str(), depth, static_cast<double>(all) / 1e6, part);
  tell("full in memory", full, full);
  tell((recipe + " in memory").c_str(), near, full);
  tell((recipe + " on disk").c_str(), far, full);
  std::printf("logits are %s\n", is_same ? "the same, bit for bit" : "DIFFERENT");
  return is_same ? 0 : 1;
}

}  // namespace
}  // namespace satchel::runtime

int main(int argc, char** argv) {
  if (argc >= 3) return satchel::runtime::run(argc, argv);
  std::fputs("bench_far MODEL FOLDER [RECIPE] [DEPTH] [PART] [THREADS]\n", stderr);
  return 2;
}
