#include "bench/attention_step.h"

#include <cmath>
#include <cstring>

#include "bench/rounds.h"
#include "support/lanes.h"

namespace satchel::bench {

using namespace satchel::kernels;

Layers::Layers(Backend& backend, Shape shape, std::size_t n_tokens, const Held& held,
               std::size_t n_layers)
    : shape_(shape), n_tokens_(n_tokens), positions_(positions_up_to(n_tokens)) {
  const std::size_t n_lanes = n_layers * shape.n_lanes;
  const std::vector<std::byte> lane = held.page.has_value() ? pages(backend, held) : rows();
  bytes_of_layer_ = shape.n_lanes * lane.size();
  storage_ = must(backend.allocate(n_layers * bytes_of_layer_));
  table_ = must(backend.make_lane_table(n_lanes));
  const std::size_t n_pages = held.page.has_value() ? n_tokens / layout_.capacity : 0;
  pages_.reserve(n_lanes * n_pages);
  runs_.reserve(n_lanes);
  for (std::size_t l = 0; l < n_lanes; ++l) {
    std::byte* at = storage_.data() + l * lane.size();
    std::memcpy(at, lane.data(), lane.size());
    if (n_pages == 0) add_run(at);
    for (std::size_t p = 0; p < n_pages; ++p) add_page(at, p, held.shift);
    must(table_->set_pages(l, std::span(pages_).last(n_pages)));
    if (n_pages == 0) must(table_->set_runs(l, std::span(runs_).last(1)));
  }
}

std::vector<std::byte> Layers::pages(Backend& backend, const Held& held) {
  PageShape page = *held.page;
  page.head_dim = shape_.head_dim;
  layout_ = must(page_layout(page));
  const std::size_t n = layout_.capacity, values = n * shape_.head_dim;
  const auto k = random_halves(n_tokens_ * shape_.head_dim, 1);
  const auto v = random_halves(n_tokens_ * shape_.head_dim, 2);
  auto where = positions_;
  for (std::int32_t& position : where) position -= held.shift;
  std::vector<std::byte> lane(n_tokens_ / n * layout_.bytes);
  std::vector<EncodeArgs> items;
  for (std::size_t p = 0; p < n_tokens_ / n; ++p)
    items.push_back(
        {.layout = &layout_,
         .exact = {k.data() + p * values, v.data() + p * values, where.data() + p * n, n},
         .page = lane.data() + p * layout_.bytes});
  must(backend.encode_pages(items));
  return lane;
}

std::vector<std::byte> Layers::rows() const {
  const std::size_t values = n_tokens_ * shape_.head_dim;
  const auto k = random_halves(values, 1), v = random_halves(values, 2);
  std::vector<std::byte> lane(4 * values);
  std::memcpy(lane.data(), k.data(), values * 2);
  std::memcpy(lane.data() + values * 2, v.data(), values * 2);
  return lane;
}

void Layers::add_run(const std::byte* lane) {
  const auto* k = reinterpret_cast<const Half*>(lane);
  runs_.push_back({k, k + n_tokens_ * shape_.head_dim, positions_.data(), n_tokens_});
}

void Layers::add_page(const std::byte* lane, std::size_t index, std::int32_t shift) {
  const std::size_t n = layout_.capacity, first = index * n;
  pages_.push_back({.bytes = lane + index * layout_.bytes,
                    .layout = &layout_,
                    .n_tokens = static_cast<std::uint32_t>(n),
                    .live = LiveMask::first(n),
                    .shift = shift,
                    .first_position = positions_[first],
                    .last_position = positions_[first + n - 1]});
}

DecodeStep::DecodeStep(Backend& backend, Shape shape, const Layers& layers, std::size_t n_tokens)
    : backend_(backend),
      shape_(shape),
      layers_(layers),
      position_(static_cast<std::int32_t>(n_tokens)),
      q_(random_floats(shape.n_lanes * shape.n_group * shape.head_dim, 3)),
      rope_(test::rope_frequencies(shape.head_dim)),
      out_(q_.size()) {}

void DecodeStep::attend(std::size_t layer) {
  const Sequence sequence{
      .lanes = &layers_.table(), .first_lane = layer * shape_.n_lanes, .n_tokens = 1};
  must(backend_.attend({.q = q_.data(),
                        .n_heads = shape_.n_lanes * shape_.n_group,
                        .n_kv_heads = shape_.n_lanes,
                        .head_dim = shape_.head_dim,
                        .batch = {.positions = &position_, .n_tokens = 1},
                        .sequences = {&sequence, 1},
                        .scale = 1 / std::sqrt(static_cast<float>(shape_.head_dim)),
                        .rope = {.inverse_frequency = rope_},
                        .out = out_.data()}));
}

}  // namespace satchel::bench
