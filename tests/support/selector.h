// Made-up weights of a trained selector for any model, and their file, written without our reader.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/rng.h"
#include "kvcache/profile/selector_weights.h"
#include "kvcache/shape/cache_shape.h"

namespace satchel::test {

inline kvcache::SelectorWeights::Layer selector_layer(const kvcache::LayerShape& shape,
                                                      std::size_t n_hidden, std::uint64_t seed) {
  kvcache::SelectorWeights::Layer layer{
      .n_in = (shape.n_heads + 2 * shape.n_kv_heads) * shape.head_dim,
      .n_hidden = n_hidden,
      .n_out = shape.n_kv_heads,
      .fc1 = {},
      .fc2 = {}};
  layer.fc1.resize(layer.n_in * layer.n_hidden);
  layer.fc2.resize(layer.n_hidden * layer.n_out);
  Rng rng(seed);
  for (auto* values : {&layer.fc1, &layer.fc2})
    for (float& x : *values) x = static_cast<float>(rng.uniform() * 2 - 1);
  return layer;
}

inline std::shared_ptr<const kvcache::SelectorWeights> selector_of(const kvcache::CacheShape& shape,
                                                                   std::size_t n_hidden = 6) {
  auto weights = std::make_shared<kvcache::SelectorWeights>();
  weights->model = "m";
  for (std::size_t i = 0; i < shape.n_layers(); ++i)
    weights->layers.push_back(selector_layer(shape.layers[i], n_hidden, 5 + i));
  return weights;
}

inline std::string safetensors(const std::string& header, std::string_view values) {
  std::string file;
  for (int shift = 0; shift < 64; shift += 8)
    file += static_cast<char>(std::uint64_t{header.size()} >> shift);
  return file.append(header).append(values);
}

// Its header's tensors and its values, F32.
struct SelectorFile {
  std::string metadata =
      R"("__metadata__": {"format": "satchel-selector", "version": "1", "method": "locret", )"
      R"("model_fingerprint": "m", "source": "a test"})";
  std::string tensors = {}, values = {};

  explicit SelectorFile(const kvcache::SelectorWeights& weights) {
    for (std::size_t i = 0; i < weights.layers.size(); ++i) {
      const auto& layer = weights.layers[i];
      const std::string name = "layers." + std::to_string(i);
      add(name + ".fc1.weight", layer.n_hidden, layer.n_in, layer.fc1);
      add(name + ".fc2.weight", layer.n_out, layer.n_hidden, layer.fc2);
    }
  }
  std::string bytes() const { return safetensors("{" + metadata + tensors + "}", values); }

 private:
  void add(const std::string& name, std::size_t n_rows, std::size_t n_columns,
           const std::vector<float>& from) {
    const std::size_t begin = values.size(), n = from.size() * sizeof(float);
    values.resize(begin + n);
    std::memcpy(values.data() + begin, from.data(), n);
    tensors += ", \"" + name + R"(": {"dtype": "F32", "shape": [)" + std::to_string(n_rows) + "," +
               std::to_string(n_columns) + R"(], "data_offsets": [)" + std::to_string(begin) + "," +
               std::to_string(begin + n) + "]}";
  }
};

// What Locret's network said of a token that scores so.
inline double unbent(float score) {
  return score >= 1 ? double{score} - 1 : 1 - 1 / double{score};
}

}  // namespace satchel::test
