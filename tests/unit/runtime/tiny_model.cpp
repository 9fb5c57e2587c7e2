#include "unit/runtime/tiny_model.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string>

#include "kernels/base/rng.h"
#include "runtime/limits/presets.h"
#include "runtime/model/scratch.h"
#include "support/bundled_model.h"
#include "support/open_named.h"
#include "support/weights.h"

namespace satchel::runtime {
namespace {

// Ends the test program where a fixture cannot be had: nothing after it would mean anything.
template <class T>
T must(Result<T> result) {
  if (!result.ok()) {
    std::cerr << "[" << result.error().code << "] " << result.error().message << "\n";
    std::abort();
  }
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

TestModel open_on(std::shared_ptr<kernels::Backend> backend, GgufFile file,
                  std::size_t chunk_tokens_max) {
  TestModel out;
  out.file = std::make_unique<GgufFile>(std::move(file));
  out.backend = std::move(backend);
  ModelConfig config = must(ModelConfig::from(*out.file));
  config.work_limits = out.backend->work_limits();
  if (chunk_tokens_max != 0) config.work_limits.n_tokens = chunk_tokens_max;
  out.model = must(Model::load(*out.backend, *out.file, std::move(config), {}));
  return out;
}

}  // namespace

tests::GgufWriter tiny_gguf(const TinyShape& shape) {
  tests::GgufWriter out;
  const auto u32 = [&](const char* key, std::size_t value) {
    out.add_u32(key, static_cast<std::uint32_t>(value));
  };
  out.add_string("general.architecture", "llama").add_string("general.name", "tiny");
  u32("llama.block_count", shape.n_layers);
  u32("llama.embedding_length", shape.width);
  u32("llama.feed_forward_length", shape.ffn_width);
  u32("llama.context_length", shape.context);
  u32("llama.attention.head_count", shape.n_heads);
  u32("llama.attention.head_count_kv", shape.n_kv_heads);
  u32("llama.attention.key_length", shape.head_dim);
  u32("llama.attention.value_length", shape.head_dim);
  out.add_f32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  std::uint64_t seed = shape.seed;
  const auto matrix = [&](const std::string& name, std::size_t n_out, std::size_t n_in) {
    auto weight = test::random_weight(shape.type, n_out, n_in, ++seed);
    out.add_tensor(name, shape.type, {n_in, n_out}, weight.bytes());
  };
  const auto gain = [&](const std::string& name) {
    const std::vector<float> ones(shape.width, 1.0f);
    out.add_tensor(name, {shape.width}, ones);
  };
  const std::size_t q_width = shape.n_heads * shape.head_dim;
  const std::size_t kv_width = shape.n_kv_heads * shape.head_dim;
  matrix("token_embd.weight", shape.n_vocabulary, shape.width);
  for (std::size_t layer = 0; layer < shape.n_layers; ++layer) {
    const std::string at = "blk." + std::to_string(layer) + ".";
    gain(at + "attn_norm.weight");
    gain(at + "ffn_norm.weight");
    matrix(at + "attn_q.weight", q_width, shape.width);
    if (shape.keys_are_zero)
      out.add_tensor(at + "attn_k.weight", {shape.width, kv_width},
                     std::vector<float>(shape.width * kv_width));
    else
      matrix(at + "attn_k.weight", kv_width, shape.width);
    matrix(at + "attn_v.weight", kv_width, shape.width);
    matrix(at + "attn_output.weight", shape.width, q_width);
    matrix(at + "ffn_gate.weight", shape.ffn_width, shape.width);
    matrix(at + "ffn_up.weight", shape.ffn_width, shape.width);
    matrix(at + "ffn_down.weight", shape.width, shape.ffn_width);
  }
  gain("output_norm.weight");
  if (!shape.tied) matrix("output.weight", shape.n_vocabulary, shape.width);
  return out;
}

std::filesystem::path bundled_model() {
  return test::kBundledModel;
}

TestModel open_model(GgufFile file, std::string_view backend, std::size_t chunk_tokens_max) {
  return open_on(must(test::open_named(test::in_place_of(backend))), std::move(file),
                 chunk_tokens_max);
}

TestModel tiny_model(const TinyShape& shape, std::string_view backend,
                     std::size_t chunk_tokens_max) {
  return tiny_model_on(must(test::open_named(test::in_place_of(backend))), shape, chunk_tokens_max);
}

TestModel tiny_model_on(std::shared_ptr<kernels::Backend> backend, const TinyShape& shape,
                        std::size_t chunk_tokens_max) {
  std::vector<std::byte> bytes = tiny_gguf(shape).bytes();
  GgufFile file = must(GgufFile::view(bytes));
  TestModel out = open_on(std::move(backend), std::move(file), chunk_tokens_max);
  out.bytes = std::move(bytes);  // a vector's bytes stay where they are when it moves
  return out;
}

std::unique_ptr<kvcache::Cache> TestModel::cache(std::string_view recipe, std::size_t n_tokens) {
  const std::size_t exact_bytes = n_tokens * config().cache_shape().fp16_bytes_per_token();
  const kvcache::CacheNeed need =
      must(kvcache::cache_need(config().cache_shape(), must(resolve_recipe(recipe)), n_tokens));
  return cache_in(recipe,
                  2 * (need.total() + exact_bytes + prefill_lease_bytes(config(), n_tokens, true)));
}

std::unique_ptr<kvcache::Cache> TestModel::cache_in(std::string_view recipe,
                                                    std::size_t arena_bytes) {
  return must(kvcache::Cache::open(must(kvcache::Arena::open(backend, arena_bytes)),
                                   config().cache_shape(), must(resolve_recipe(recipe))));
}

std::vector<float> TestModel::read(kvcache::Cache& cache, std::span<const std::int32_t> ids) {
  std::vector<float> logits(config().n_vocabulary);
  must(model->read_prompt(
      {.cache = cache, .ids = ids, .stop = {}, .progress = {}, .logits = logits}));
  return logits;
}

std::vector<float> TestModel::decode(kvcache::Cache& cache, std::int32_t id) {
  std::vector<float> logits(config().n_vocabulary);
  must(model->decode_step(cache, id, logits));
  return logits;
}

std::vector<std::int32_t> random_ids(std::size_t n, std::size_t n_vocabulary, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<std::int32_t> ids(n);
  for (auto& id : ids) id = static_cast<std::int32_t>(rng.next() % n_vocabulary);
  return ids;
}

double largest_difference(std::span<const float> a, std::span<const float> b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double difference = std::abs(double{a[i]} - double{b[i]});
    if (std::isnan(difference)) return INFINITY;
    largest = std::max(largest, difference);
  }
  return largest;
}

std::size_t top_of(std::span<const float> logits) {
  return static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

}  // namespace satchel::runtime
