#include "runtime/model/config.h"

#include "runtime/model/graph.h"
#include "runtime/model/hyperparameters.h"

namespace satchel::runtime {
namespace {

std::string supported() {
  std::string names;
  for (const Architecture* known : all_architectures())
    names += (names.empty() ? "" : ", ") + std::string(known->name);
  return names;
}

}  // namespace

std::size_t ModelConfig::n_reading_layers() const {
  std::size_t n = layers.size();
  while (n > 0 && layers[n - 1].reads_lanes_of) --n;
  return n;
}

std::size_t ModelConfig::cache_layer(std::size_t layer) const {
  const std::size_t owner = layers[layer].reads_lanes_of.value_or(layer);
  std::size_t before = 0;
  for (std::size_t i = 0; i < owner; ++i) before += layers[i].has_lanes() ? 1u : 0u;
  return before;
}

std::size_t ModelConfig::state_layer(std::size_t layer) const {
  std::size_t before = 0;
  for (std::size_t i = 0; i < layer; ++i) before += layers[i].is_recurrent() ? 1u : 0u;
  return before;
}

kvcache::CacheShape ModelConfig::cache_shape() const {
  kvcache::CacheShape shape;
  for (const LayerConfig& layer : layers)
    if (layer.has_lanes()) shape.layers.push_back(layer.attention);
  for (const LayerConfig& layer : layers)
    if (layer.is_recurrent()) shape.states.push_back({layer.n_state, layer.n_state_tail});
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (layers[i].reads_lanes_of) shape.layers[cache_layer(i)].is_shared = true;
  shape.head_budgets = head_budgets;
  shape.key_bases = key_bases;
  shape.selectors = selectors;
  return shape;
}

Result<ModelConfig> ModelConfig::from(const GgufFile& file) {
  SATCHEL_TRY_ASSIGN(const std::string_view name, file.get_string("general.architecture"));
  const Architecture* architecture = find_architecture(name);
  if (architecture == nullptr)
    return Error{
        ErrorKind::unsupported, "MODEL_ARCH",
        "The architecture " + quoted(name) + " is not supported. Supported: " + supported() + "."};
  SATCHEL_TRY_ASSIGN(ModelConfig config, architecture->config(Hyperparameters(file, name)));
  if (file.has("general.name")) {
    SATCHEL_TRY_ASSIGN(const std::string_view title, file.get_string("general.name"));
    config.name = title;
  }
  return config;
}

const Architecture* find_architecture(std::string_view name) {
  for (const Architecture* known : all_architectures())
    if (known->name == name) return known;
  return nullptr;
}

}  // namespace satchel::runtime
