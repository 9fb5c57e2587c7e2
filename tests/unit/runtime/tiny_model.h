// Models for tests: tiny ones of random weights, of any shape and weight type, and the bundled one;
// opened on any backend without an Engine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "kernels/contract/backend.h"
#include "runtime/model/model.h"
#include "support/gguf_writer.h"

namespace satchel::runtime {

struct TinyShape {
  kernels::WeightType type = kernels::WeightType::f32;
  std::size_t n_layers = 2, n_heads = 4, n_kv_heads = 2, head_dim = 64;
  std::size_t width = 256, ffn_width = 512, n_vocabulary = 288, context = 4096;
  bool tied = false;
  bool keys_are_zero = false;  // attention is the same on all that is seen
  std::uint64_t seed = 1;
};
// Everything ModelConfig and Weights ask for; no tokenizer.
tests::GgufWriter tiny_gguf(const TinyShape& shape);

std::filesystem::path bundled_model();

// A model on a backend of its own. Members go in reverse order.
struct TestModel {
  std::vector<std::byte> bytes;    // of a file in memory
  std::unique_ptr<GgufFile> file;  // the model may look at it where it is
  std::shared_ptr<kernels::Backend> backend;
  std::unique_ptr<Model> model;

  const ModelConfig& config() const { return model->config(); }
  // A cache in an arena of its own, in which n_tokens can be read in one span, whatever the recipe.
  std::unique_ptr<kvcache::Cache> cache(std::string_view recipe, std::size_t n_tokens);
  // The same in an arena of so many bytes.
  std::unique_ptr<kvcache::Cache> cache_in(std::string_view recipe, std::size_t arena_bytes);
  // Logits after the last of ids, read as one span.
  std::vector<float> read(kvcache::Cache& cache, std::span<const std::int32_t> ids);
  std::vector<float> decode(kvcache::Cache& cache, std::int32_t id);
};
// chunk_tokens_max: 0 = the backend's.
TestModel open_model(GgufFile file, std::string_view backend, std::size_t chunk_tokens_max = 0);
TestModel tiny_model(const TinyShape& shape, std::string_view backend,
                     std::size_t chunk_tokens_max = 0);
TestModel tiny_model_on(std::shared_ptr<kernels::Backend> backend, const TinyShape& shape,
                        std::size_t chunk_tokens_max = 0);

std::vector<std::int32_t> random_ids(std::size_t n, std::size_t n_vocabulary, std::uint64_t seed);
double largest_difference(std::span<const float> a, std::span<const float> b);
std::size_t top_of(std::span<const float> logits);

}  // namespace satchel::runtime
