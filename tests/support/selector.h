// Made-up weights of trained selectors for any model, and their file, written without our reader.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/base/rng.h"
#include "kvcache/profile/selector_weights.h"
#include "kvcache/shape/cache_shape.h"

namespace satchel::test {

using kvcache::SelectorMethod;
using kvcache::SelectorWeights;

// Of a layer's networks: inside Locret's, values of a gate's head, slots and tokens of a
// convolution.
struct SelectorSizes {
  std::size_t n_hidden = 6, dim = 8, n_channels = 3, kernel = 5;
};

// Values from -size to size.
inline SelectorWeights::Tensor made_up(std::vector<std::size_t> shape, Rng& rng, float size = 1) {
  std::size_t n = 1;
  for (const std::size_t each : shape) n *= each;
  SelectorWeights::Tensor tensor{.shape = std::move(shape), .values = std::vector<float>(n)};
  for (float& x : tensor.values) x = size * static_cast<float>(rng.uniform() * 2 - 1);
  return tensor;
}

inline SelectorWeights::Layer selector_layer(SelectorMethod method,
                                             const kvcache::LayerShape& shape, std::uint64_t seed,
                                             const SelectorSizes& sizes = {}) {
  const std::size_t n_in = shape.selector_width(), n_out = shape.n_kv_heads;
  Rng rng(seed);
  switch (method) {
    case SelectorMethod::locret:
      break;
    case SelectorMethod::attention_gate: {
      const std::size_t width = n_out * sizes.dim;
      SelectorWeights::AttentionGate gate{.q = made_up({width, n_in}, rng, 0.2f),
                                          .k = made_up({width, n_in}, rng, 0.2f),
                                          .v = made_up({width, n_in}, rng, 0.2f),
                                          .out = made_up({n_out, width}, rng),
                                          .bias = made_up({n_out}, rng)};
      return gate;
    }
    case SelectorMethod::lococo: {
      SelectorWeights::LoCoCo mixing{
          .conv = made_up({sizes.n_channels, 2 * shape.head_dim, sizes.kernel}, rng, 0.2f),
          .bias = made_up({sizes.n_channels}, rng),
          .normalizer = {.shape = {1}, .values = {0.25f}}};
      return mixing;
    }
  }
  return SelectorWeights::Locret{.fc1 = made_up({sizes.n_hidden, n_in}, rng),
                                 .fc2 = made_up({n_out, sizes.n_hidden}, rng)};
}

inline SelectorWeights selector_of(SelectorMethod method, const kvcache::CacheShape& shape,
                                   const SelectorSizes& sizes = {}) {
  SelectorWeights weights{.method = method, .model = "m", .source = {}, .layers = {}};
  for (std::size_t i = 0; i < shape.n_layers(); ++i)
    weights.layers.push_back(selector_layer(method, shape.layers[i], 5 + i, sizes));
  return weights;
}

inline kvcache::SelectorSet set_of(SelectorWeights weights) {
  kvcache::SelectorSet set;
  const SelectorMethod method = weights.method;
  set.set(method, std::make_shared<const SelectorWeights>(std::move(weights)));
  return set;
}

// Weights for all methods.
inline kvcache::SelectorSet selectors_of(const kvcache::CacheShape& shape) {
  kvcache::SelectorSet set;
  for (const SelectorMethod method : kvcache::kSelectorMethods)
    set.set(method, std::make_shared<const SelectorWeights>(selector_of(method, shape)));
  return set;
}

// The same with every gate open, whatever it sees.
inline kvcache::SelectorSet open_selectors_of(const kvcache::CacheShape& shape) {
  kvcache::SelectorSet set = selectors_of(shape);
  SelectorWeights gates = *set.of(SelectorMethod::attention_gate);
  for (SelectorWeights::Layer& layer : gates.layers)
    for (float& bias : std::get<SelectorWeights::AttentionGate>(layer).bias.values) bias = 40;
  set.set(gates.method, std::make_shared<const SelectorWeights>(std::move(gates)));
  return set;
}

inline std::string safetensors(const std::string& header, std::string_view values) {
  std::string file;
  for (int shift = 0; shift < 64; shift += 8)
    file += static_cast<char>(std::uint64_t{header.size()} >> shift);
  return file.append(header).append(values);
}

// Its header's tensors and its values, F32.
struct SelectorFile {
  std::string metadata, tensors = {}, values = {};

  explicit SelectorFile(const SelectorWeights& weights) {
    metadata = R"("__metadata__": {"format": "satchel-selector", "version": "1", "method": ")" +
               std::string(to_text(weights.method)) +
               R"(", "model_fingerprint": "m", "source": "a test"})";
    for (std::size_t i = 0; i < weights.layers.size(); ++i)
      add("layers." + std::to_string(i) + ".", weights.layers[i]);
  }
  std::string bytes() const { return safetensors("{" + metadata + tensors + "}", values); }

 private:
  void add(const std::string& head, const SelectorWeights::Layer& layer) {
    if (const auto* locret = std::get_if<SelectorWeights::Locret>(&layer)) {
      add(head + "fc1.weight", locret->fc1);
      add(head + "fc2.weight", locret->fc2);
    } else if (const auto* gate = std::get_if<SelectorWeights::AttentionGate>(&layer)) {
      add(head + "q.weight", gate->q);
      add(head + "k.weight", gate->k);
      add(head + "v.weight", gate->v);
      add(head + "out.weight", gate->out);
      add(head + "out.bias", gate->bias);
    } else if (const auto* mixing = std::get_if<SelectorWeights::LoCoCo>(&layer)) {
      add(head + "conv.weight", mixing->conv);
      add(head + "conv.bias", mixing->bias);
      add(head + "normalizer", mixing->normalizer);
    }
  }
  void add(const std::string& name, const SelectorWeights::Tensor& from) {
    const std::size_t begin = values.size(), n = from.values.size() * sizeof(float);
    values.resize(begin + n);
    std::memcpy(values.data() + begin, from.values.data(), n);
    std::string shape;
    for (const std::size_t size : from.shape)
      shape += (shape.empty() ? "" : ",") + std::to_string(size);
    tensors += ", \"" + name + R"(": {"dtype": "F32", "shape": [)" + shape +
               R"(], "data_offsets": [)" + std::to_string(begin) + "," + std::to_string(begin + n) +
               "]}";
  }
};

// What Locret's network said of a token that scores so.
inline double unbent(float score) {
  return score >= 1 ? double{score} - 1 : 1 - 1 / double{score};
}

}  // namespace satchel::test
