// Pages on disk: decode steps behind a text with its keys and values in memory, and under a limit
// of a part of what they take with the rest in a file. Keys and values are made up, alike in all
// caches. Rounds of steps in turn; all go on with the same tokens, and the logits of one recipe are
// compared bit for bit.
//   bench_far MODEL FOLDER [RECIPE] [DEPTH] [PART] [THREADS] [cold]
//   cold     the system forgets the file before each step, as where memory is short
#include <fcntl.h>
#include <unistd.h>

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
#include "storage/far/far_file.h"

namespace satchel::runtime {
namespace {

using bench::must;

constexpr std::size_t kRounds = 5, kSteps = 6, kSpan = kvcache::kSpanCramped;

// A cache in an arena of its own.
struct Reader {
  std::string name;
  std::unique_ptr<kvcache::Cache> cache;
  int descriptor = -1;  // of its file
  std::vector<std::vector<float>> logits = {};
  std::vector<double> step_ms = {}, cpu_ms = {};
};

void fill(kvcache::Cache& cache, std::size_t n_tokens) {
  static const std::vector<float> kValues = bench::random_floats(std::size_t{1} << 22, 7);
  const kvcache::CacheShape& shape = cache.shape();
  Rng rng(n_tokens);
  for (std::size_t done = 0; done < n_tokens; done += kSpan) {
    const std::size_t n = std::min(kSpan, n_tokens - done);
    kvcache::Prefill text = must(cache.begin_prefill({.n_tokens = n, .goes_on = done > 0}));
    for (std::size_t layer = 0; layer < shape.n_layers(); ++layer) {
      const std::size_t n_values =
          n * shape.layers[layer].n_kv_heads * shape.layers[layer].head_dim;
      const auto some = [&] { return kValues.data() + rng.next() % (kValues.size() - n_values); };
      must(text.begin_layer(layer));
      const float *const k = some(), *const v = some();
      must(text.add_chunk(k, v, n));
      must(text.end_layer());
    }
    must(text.commit());
  }
}

Reader open(Engine& engine, const std::string& recipe, const std::string& name, std::size_t bytes,
            std::size_t depth, std::unique_ptr<kvcache::FarStore> store = nullptr,
            int descriptor = -1) {
  auto arena = must(kvcache::Arena::open(engine.state().backend, bytes));
  if (store != nullptr) arena->set_far(std::move(store));
  Reader made{.name = recipe + " " + name,
              .cache = must(kvcache::Cache::open(arena, engine.config().cache_shape(),
                                                 must(resolve_recipe(recipe)))),
              .descriptor = descriptor};
  fill(*made.cache, depth);
  return made;
}

void forget(int descriptor) {
  if (::fdatasync(descriptor) == 0 && ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) == 0)
    return;
  std::perror("the file could not be forgotten");
  std::exit(1);
}

double cpu_seconds() {
  timespec now = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void go_on(Engine& engine, Reader& reader, std::span<const std::int32_t> ids, bool cold) {
  reader.logits.clear();
  for (const std::int32_t id : ids) {
    if (cold && reader.descriptor >= 0) forget(reader.descriptor);
    std::vector<float> logits(engine.config().n_vocabulary);
    const double cpu = cpu_seconds();
    reader.step_ms.push_back(1000 * bench::seconds_of([&] {
                               must(engine.model().decode_step(*reader.cache, id, logits));
                             }));
    reader.cpu_ms.push_back(1000 * (cpu_seconds() - cpu));
    reader.logits.push_back(std::move(logits));
  }
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void tell(const Reader& reader, const Reader& full) {
  const kvcache::CacheStats stats = reader.cache->stats();
  const auto mb = [](std::size_t bytes) { return static_cast<double>(bytes) / 1e6; };
  std::printf(
      "%-24s %7.1f ms a step (%6.1f of processors)  %5.2f of full's speed  "
      "%7.1f MB of memory at most  %7.1f MB in the file\n",
      reader.name.c_str(), median(reader.step_ms), median(reader.cpu_ms),
      median(full.step_ms) / median(reader.step_ms), mb(stats.arena_peak_bytes),
      mb(stats.far_bytes));
}

int run(int argc, char** argv) {
  EngineOptions options;
  options.model = argv[1];
  options.backend = "cpu";
  const std::string recipe = argc > 3 ? argv[3] : "full";
  const std::size_t depth = argc > 4 ? std::strtoul(argv[4], nullptr, 10) : 4096;
  const std::size_t part = argc > 5 ? std::strtoul(argv[5], nullptr, 10) : 10;
  if (argc > 6) options.n_threads = std::strtoul(argv[6], nullptr, 10);
  const bool cold = argc > 7 && std::strcmp(argv[7], "cold") == 0;
  const auto engine = must(Engine::open(options));
  const std::size_t all = depth * engine->config().cache_shape().fp16_bytes_per_token();
  const std::size_t plenty = all + all / 4 + (std::size_t{256} << 20);
  std::vector<Reader> readers;
  readers.push_back(open(*engine, "full", "in memory", plenty, depth));
  if (recipe != "full") readers.push_back(open(*engine, recipe, "in memory", plenty, depth));
  auto file = must(storage::FarFile::open(argv[2]));
  const int descriptor = file->descriptor();
  readers.push_back(
      open(*engine, recipe, "on disk", all / part, depth, std::move(file), descriptor));
  Rng rng(7);
  std::vector<std::int32_t> ids(kSteps);
  bool is_same = true;
  for (std::size_t round = 0; round < kRounds; ++round) {
    for (std::int32_t& id : ids)
      id = static_cast<std::int32_t>(rng.next() % engine->config().n_vocabulary);
    for (Reader& reader : readers) go_on(*engine, reader, ids, cold);
    const std::size_t first = recipe == "full" ? 0 : 1;
    for (std::size_t i = first + 1; i < readers.size(); ++i)
      is_same = is_same && readers[i].logits == readers[first].logits;
  }
  std::printf("%s, %zu tokens, fp16 cache %.1f MB, limit 1/%zu of it%s\n",
              engine->config().name.c_str(), depth, static_cast<double>(all) / 1e6, part,
              cold ? ", the file not in memory before a step" : "");
  for (const Reader& reader : readers) tell(reader, readers[0]);
  std::printf("logits are %s\n", is_same ? "the same, bit for bit" : "DIFFERENT");
  return is_same ? 0 : 1;
}

}  // namespace
}  // namespace satchel::runtime

int main(int argc, char** argv) {
  if (argc >= 3) return satchel::runtime::run(argc, argv);
  std::fputs("bench_far MODEL FOLDER [RECIPE] [DEPTH] [PART] [THREADS] [cold]\n", stderr);
  return 2;
}
