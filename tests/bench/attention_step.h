// Attention of one token over caches of many layers, so that what it reads comes from memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/contract/backend.h"

namespace satchel::bench {

struct Shape {
  std::size_t head_dim, n_lanes, n_group;  // lanes: KV heads; group: query heads of each
};
inline constexpr Shape kShapes[] = {{64, 3, 3}, {128, 8, 4}};  // SmolLM2-135M; Llama-3-8B

// What the lanes of a cache hold.
struct Held {
  std::optional<kernels::PageShape> page = {};  // none: exact runs
  std::int32_t shift = 0;                       // of the pages
};

// The caches of many layers: every lane of every layer has bytes of its own.
class Layers {
 public:
  Layers(kernels::Backend& backend, Shape shape, std::size_t n_tokens, const Held& held,
         std::size_t n_layers);
  Layers(const Layers&) = delete;
  kernels::LaneTable& table() { return *table_; }
  const kernels::LaneTable& table() const { return *table_; }
  std::size_t n() const { return storage_.size() / bytes_of_layer_; }
  std::size_t bytes_of_layer() const { return bytes_of_layer_; }

 private:
  std::vector<std::byte> pages(kernels::Backend& backend, const Held& held);
  std::vector<std::byte> rows() const;
  void add_run(const std::byte* lane);
  void add_page(const std::byte* lane, std::size_t index, std::int32_t shift);

  kernels::PageLayout layout_;
  Shape shape_;
  std::size_t n_tokens_;
  std::vector<std::int32_t> positions_;
  std::size_t bytes_of_layer_ = 0;
  kernels::Buffer storage_;  // as aligned as a cache's arena
  std::vector<kernels::PageView> pages_;
  std::vector<kernels::ExactRun> runs_;
  std::unique_ptr<kernels::LaneTable> table_;
};

// Attention of one token over one layer after the other.
class DecodeStep {
 public:
  DecodeStep(kernels::Backend& backend, Shape shape, const Layers& layers, std::size_t n_tokens);
  DecodeStep(const DecodeStep&) = delete;

  void operator()() {
    for (std::size_t i = 0; i < layers_.n(); ++i) attend(i);
  }
  // Over the layer that was read longest ago.
  void next() { attend(next_++ % layers_.n()); }

 private:
  void attend(std::size_t layer);

  kernels::Backend& backend_;
  const Shape shape_;
  const Layers& layers_;
  const std::int32_t position_;
  const std::vector<float> q_;
  const std::vector<double> rope_;
  std::vector<float> out_;
  std::size_t next_ = 0;
};

}  // namespace satchel::bench
