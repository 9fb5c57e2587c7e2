// KeyBases for tests, made up for any shape.
#pragma once

#include <memory>
#include <utility>

#include "kvcache/profile/key_bases.h"
#include "kvcache/shape/cache_shape.h"
#include "support/mixed_bit.h"

namespace satchel::test {

// Every lane's own: a Hadamard matrix, coordinates falling by exp(fall) and a little more by lane.
inline std::shared_ptr<const kvcache::KeyBases> key_bases_of(
    const kvcache::CacheShape& shape, double fall, const kvcache::KeyBasesForm& form = {}) {
  kvcache::KeyBases bases{.model = "m", .name = "n", .source = "a test", .lanes = {}};
  for (const kvcache::LayerShape& layer : shape.layers)
    for (std::size_t head = 0; head < layer.n_kv_heads; ++head) {
      const double of_lane = fall * (1 + 0.1 * static_cast<double>(bases.lanes.size()));
      bases.lanes.push_back(
          {.head_dim = layer.head_dim, .to = falling_basis(layer.head_dim, of_lane), .from = {}});
    }
  kvcache::KeyBases made = kvcache::KeyBases::make(std::move(bases)).value();
  made.id = kvcache::key_bases_id(made.lanes, form);
  return std::make_shared<const kvcache::KeyBases>(std::move(made));
}

}  // namespace satchel::test
