// bench_gpu_model [--backend NAME] [SHAPE …]: whole tokens of models with random weights (shapes
// 1b, 8b; tiny to try the program) over caches that are filled without reading a text: speed of a
// decode step, memory that is taken, time of saving and restoring. A line of JSON each.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gpu/measure.h"
#include "gpu/synthetic_model.h"
#include "kvcache/snapshot/snapshot.h"
#include "runtime/contract/cache_key.h"
#include "runtime/model/model.h"
#include "runtime/model/scratch.h"
#include "support/open_named.h"
#include "support/record_stores.h"

namespace satchel::bench {
namespace {

using kvcache::Cache;
using runtime::Model;

// What the driver says is taken of the card; null where there is no nvidia-smi.
Json memory_used() {
  std::FILE* asked = popen(
      "PATH=$PATH:/usr/lib/wsl/lib nvidia-smi --query-gpu=memory.used "
      "--format=csv,noheader,nounits 2>/dev/null",
      "r");
  if (asked == nullptr) return nullptr;
  unsigned long mebibytes = 0;
  const bool told = std::fscanf(asked, "%lu", &mebibytes) == 1;
  pclose(asked);
  if (!told) return nullptr;
  return static_cast<std::size_t>(mebibytes) << 20;
}

struct Loaded {
  std::shared_ptr<kernels::Backend> backend;
  SyntheticModel bytes;
  runtime::GgufFile file;
  std::unique_ptr<Model> model;
};

Result<std::unique_ptr<Loaded>> load(const std::string& backend, const ModelShape& shape) {
  SATCHEL_TRY_ASSIGN(std::shared_ptr<kernels::Backend> opened, test::open_named(backend, 0));
  SATCHEL_TRY_ASSIGN(SyntheticModel bytes, SyntheticModel::make(shape));
  SATCHEL_TRY_ASSIGN(runtime::GgufFile file, runtime::GgufFile::view(bytes.bytes()));
  auto loaded = std::make_unique<Loaded>(
      Loaded{std::move(opened), std::move(bytes), std::move(file), nullptr});
  SATCHEL_TRY_ASSIGN(runtime::ModelConfig config, runtime::ModelConfig::from(loaded->file));
  config.work_limits = loaded->backend->work_limits();
  SATCHEL_TRY_ASSIGN(loaded->model,
                     Model::load(*loaded->backend, loaded->file, std::move(config), {}));
  return loaded;
}

// Random keys and values of one chunk, for all layers.
struct Chunk {
  static constexpr std::size_t kTokens = 1024;
  Chunk(kernels::Backend& backend, const kvcache::LayerShape& layer)
      : arrays(backend),
        k(arrays.put(random_floats(kTokens * layer.n_kv_heads * layer.head_dim, 1))),
        v(arrays.put(random_floats(kTokens * layer.n_kv_heads * layer.head_dim, 2))) {}
  Arrays arrays;
  const float *k, *v;
};

Result<void> fill(Cache& cache, const Chunk& chunk, std::size_t n_tokens) {
  SATCHEL_TRY_ASSIGN(kvcache::Prefill reading, cache.begin_prefill({.n_tokens = n_tokens}));
  for (std::size_t layer = 0; layer < cache.shape().n_layers(); ++layer) {
    SATCHEL_TRY(reading.begin_layer(layer));
    for (std::size_t done = 0; done < n_tokens; done += Chunk::kTokens)
      SATCHEL_TRY(reading.add_chunk(chunk.k, chunk.v, std::min(Chunk::kTokens, n_tokens - done)));
    SATCHEL_TRY(reading.end_layer());
  }
  SATCHEL_TRY(reading.commit());
  return {};
}

Result<std::unique_ptr<Cache>> open_cache(const Loaded& loaded, const kvcache::Recipe& recipe,
                                          std::size_t n_tokens) {
  const kvcache::CacheShape shape = loaded.model->config().cache_shape();
  SATCHEL_TRY_ASSIGN(const kvcache::CacheNeed need, kvcache::cache_need(shape, recipe, n_tokens));
  const std::size_t work = runtime::prefill_lease_bytes(loaded.model->config(), 4096);
  SATCHEL_TRY_ASSIGN(std::shared_ptr<kvcache::Arena> arena,
                     kvcache::Arena::open(loaded.backend, need.total() + work));
  return Cache::open(std::move(arena), shape, recipe);
}

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

Result<Json> decode(const Loaded& loaded, Cache& cache, std::size_t n_steps) {
  std::vector<float> logits(loaded.model->config().n_vocabulary);
  std::vector<double> ms;
  for (std::size_t i = 0; i < 8 + n_steps; ++i) {
    Result<void> done;
    const double seconds = seconds_of([&] {
      done = loaded.model->decode_step(cache, static_cast<std::int32_t>(i * 7919 % 30'000), logits);
    });
    SATCHEL_TRY(done);
    if (i >= 8) ms.push_back(seconds * 1e3);
  }
  return Json{{"ms", percentile(ms, 0.5)},
              {"ms_p5", percentile(ms, 0.05)},
              {"ms_p95", percentile(ms, 0.95)},
              {"steps", n_steps}};
}

Result<Json> save_and_restore(Cache& cache) {
  test::MemoryRecordStore store;
  const auto key = runtime::cache_key({1});
  const std::vector<std::int32_t> ids(cache.n_tokens());
  const kvcache::SnapshotIdentity identity{
      .model = "synthetic", .recipe = cache.recipe().hash(), .tokens = ids};
  Result<kvcache::SaveReport> saved = kvcache::SaveReport{};
  Result<kvcache::RestoreReport> restored = kvcache::RestoreReport{};
  const double save =
      seconds_of([&] { saved = kvcache::Snapshot(cache, store, key).save(identity); });
  SATCHEL_TRY(saved);
  cache.clear();
  const double resume =
      seconds_of([&] { restored = kvcache::Snapshot(cache, store, key).restore(identity); });
  SATCHEL_TRY(restored);
  return Json{{"save_s", save}, {"resume_s", resume}, {"saved_bytes", saved->bytes_total}};
}

struct Depth {
  std::size_t n_tokens;
  bool saves;
};

Result<void> at_depth(const Loaded& loaded, const ModelShape& shape, const std::string& recipe_name,
                      const Chunk& chunk, const Depth& depth) {
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, kvcache::Recipe::builtin(recipe_name));
  SATCHEL_TRY_ASSIGN(const auto cache, open_cache(loaded, recipe, depth.n_tokens + 256));
  SATCHEL_TRY(fill(*cache, chunk, depth.n_tokens));
  const kvcache::CacheStats stats = cache->stats();
  const std::size_t weight_bytes = loaded.model->weights().bytes;
  // A token reads one row of a table that is not the output matrix too.
  const std::size_t table_bytes =
      shape.tied ? 0
                 : *kernels::row_bytes(kernels::WeightType::q4_0, shape.width) * shape.n_vocabulary;
  Json result{{"op", "model_decode"},         {"model", shape.name},
              {"recipe", recipe_name},        {"n_tokens", depth.n_tokens},
              {"weight_bytes", weight_bytes}, {"weight_bytes_read", weight_bytes - table_bytes},
              {"cache_bytes", stats.bytes},   {"fp16_bytes", stats.fp16_bytes}};
  result["arena_bytes"] = cache->arena().bytes();
  result["driver_bytes"] = memory_used();
  SATCHEL_TRY_ASSIGN(const Json steps, decode(loaded, *cache, shape.name == "tiny" ? 8 : 32));
  result.update(steps);
  result["scratch_bytes"] = loaded.backend->scratch_bytes();
  if (depth.saves) {
    SATCHEL_TRY_ASSIGN(const Json saved, save_and_restore(*cache));
    result.update(saved);
  }
  say(result);
  return {};
}

Result<void> read(const Loaded& loaded, const ModelShape& shape, std::size_t n_tokens) {
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, kvcache::Recipe::builtin("full"));
  std::vector<std::int32_t> ids(n_tokens);
  for (std::size_t i = 0; i < n_tokens; ++i) ids[i] = static_cast<std::int32_t>(i * 7919 % 30'000);
  double best = 1e9;
  for (int round = 0; round < 2; ++round) {
    SATCHEL_TRY_ASSIGN(const auto cache, open_cache(loaded, recipe, n_tokens));
    Result<kvcache::CompactionReport> done = kvcache::CompactionReport{};
    best = std::min(best, seconds_of([&] {
                      done = loaded.model->read_prompt(
                          {.cache = *cache, .ids = ids, .stop = {}, .progress = {}});
                    }));
    SATCHEL_TRY(done);
  }
  say({{"op", "model_read"},
       {"model", shape.name},
       {"n_tokens", n_tokens},
       {"tokens_per_s", static_cast<double>(n_tokens) / best}});
  return {};
}

Result<void> bench(const std::string& backend, const std::string& name) {
  SATCHEL_TRY_ASSIGN(const ModelShape shape, model_shape(name));
  Result<std::unique_ptr<Loaded>> loaded = std::unique_ptr<Loaded>();
  const double seconds = seconds_of([&] { loaded = load(backend, shape); });
  SATCHEL_TRY(loaded);
  const Model& model = *(*loaded)->model;
  say({{"op", "model_load"},
       {"model", name},
       {"seconds", seconds},
       {"weight_bytes", model.weights().bytes},
       {"driver_bytes", memory_used()}});
  const bool tiny = name == "tiny";
  for (const std::size_t n_tokens : {40u, 100u, 512u, 2048u})
    if (n_tokens <= 100 || !tiny) SATCHEL_TRY(read(**loaded, shape, n_tokens));
  const Chunk chunk(*(*loaded)->backend, model.config().cache_shape().layers[0]);
  const std::vector<Depth> depths =
      tiny ? std::vector<Depth>{{600, true}}
           : std::vector<Depth>{{1024, false}, {16'384, true}, {65'536, false}};
  for (const Depth& depth : depths)
    for (const char* recipe : {"full", "kivi-4", "kivi-2", "ladder-4", "ladder-2"})
      SATCHEL_TRY(at_depth(**loaded, shape, recipe, chunk, depth));
  return {};
}

}  // namespace
}  // namespace satchel::bench

int main(int argc, char** argv) {
  using namespace satchel::bench;
  std::string backend = "cuda";
  std::vector<std::string> shapes;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--backend") == 0 && i + 1 < argc)
      backend = argv[++i];
    else
      shapes.emplace_back(argv[i]);
  }
  if (shapes.empty()) shapes = {"1b", "8b"};
  if (const auto opened = satchel::test::open_named(backend); !opened.ok()) {
    say({{"op", "skipped"}, {"why", opened.error().message}});
    return 77;
  }
  int failed = 0;
  for (const std::string& shape : shapes) {
    const satchel::Result<void> done = bench(backend, shape);
    if (done.ok()) continue;
    say({{"op", "failed"}, {"what", "model " + shape}, {"why", done.error().message}});
    failed = 1;
  }
  return failed;
}
