#include "gpu/packed_lanes.h"

#include <cmath>

#include "support/mixed_bit.h"

namespace satchel::bench {

using namespace satchel::kernels;

namespace {

// The product's ladder (kvcache/codecs/klt.cpp): keys in a basis, bits by eighth of the channels.
Tier ladder(std::size_t bits, const std::array<std::uint8_t, 8>& of_eighth) {
  static const test::TestBasis basis(kHeadDim);
  OperandShape k{
      .form = OperandShape::Form::mixed_bit, .transform = Transform::basis, .basis = basis.view()};
  k.basis.id = 1;
  for (std::size_t quad = 0; quad < kHeadDim / kQuad; ++quad)
    k.quad_bits[quad] = of_eighth[quad * 8 / (kHeadDim / kQuad)];
  const OperandShape v{.form = OperandShape::Form::affine,
                       .bits = bits,
                       .group = kHeadDim,
                       .symmetric = true,
                       .transform = Transform::hadamard};
  return {"ladder " + std::to_string(bits) + " bits", {.head_dim = kHeadDim, .k = k, .v = v}};
}

}  // namespace

std::vector<Tier> tiers() {
  std::vector<Tier> all{{"fp16", {.head_dim = kHeadDim}}};
  for (const std::size_t bits : {8u, 4u, 3u, 2u}) {
    OperandShape k{.form = OperandShape::Form::affine, .bits = bits, .group = kPageTokens};
    OperandShape v = k;
    v.group = bits == 2 ? 64 : kHeadDim;
    all.push_back({std::to_string(bits) + " bits", {.head_dim = kHeadDim, .k = k, .v = v}});
  }
  all.push_back(ladder(4, {6, 5, 4, 4, 4, 3, 3, 3}));
  all.push_back(ladder(2, {4, 3, 3, 2, 2, 1, 1, 0}));
  return all;
}

Tokens::Tokens(Backend& backend, std::size_t n_positions)
    : arrays(backend),
      k(arrays.put(random_halves(kCount * kHeadDim, 1))),
      v(arrays.put(random_halves(kCount * kHeadDim, 2))),
      positions(arrays.put(positions_up_to(n_positions))) {}

PackedLanes::PackedLanes(Backend& backend, const Tier& tier, const Tokens& tokens, Size size)
    : backend_(backend),
      size_(size),
      layout_(std::make_unique<PageLayout>(must(page_layout(tier.page)))),
      arrays_(backend),
      q_(arrays_.put(random_floats(size.n_sequences * kHeads * kHeadDim, 3))),
      out_(arrays_.make<float>(size.n_sequences * kHeads * kHeadDim)),
      position_(arrays_.put(
          std::vector<std::int32_t>(size.n_sequences, static_cast<std::int32_t>(size.n_tokens)))) {
  const std::size_t n_lanes = size.n_layers * size.n_sequences * kKvHeads;
  pages_ = must(backend.allocate(n_lanes * n_pages() * layout_->bytes));
  table_ = must(backend.make_lane_table(n_lanes));
  views_.resize(n_lanes);
  for (std::size_t lane = 0; lane < n_lanes; ++lane) pack(lane, tokens);
  must(backend.finish());
  for (std::size_t s = 0; s < size.n_sequences; ++s)
    sequences_.push_back({.lanes = table_.get(), .first_token = s, .n_tokens = 1});
}

void PackedLanes::pack(std::size_t lane, const Tokens& tokens) {
  const std::size_t n = layout_->capacity;
  std::vector<EncodeArgs> items;
  for (std::size_t p = 0; p < n_pages(); ++p) {
    std::byte* page = pages_.data() + (lane * n_pages() + p) * layout_->bytes;
    const std::size_t from = (p + 5 * lane) * n % Tokens::kCount * kHeadDim;
    items.push_back({.layout = layout_.get(),
                     .exact = {tokens.k + from, tokens.v + from, tokens.positions + p * n, n},
                     .page = page});
    const auto first = static_cast<std::int32_t>(p * n);
    views_[lane].push_back({.bytes = page,
                            .layout = layout_.get(),
                            .n_tokens = static_cast<std::uint32_t>(n),
                            .live = LiveMask::first(n),
                            .first_position = first,
                            .last_position = first + static_cast<std::int32_t>(n) - 1});
  }
  must(backend_.encode_pages(items));
  must(table_->set_runs(lane, {}));
  must(table_->set_pages(lane, views_[lane]));
}

void PackedLanes::attend(std::size_t i) {
  const std::size_t layer = i % size_.n_layers;
  for (std::size_t s = 0; s < size_.n_sequences; ++s)
    sequences_[s].first_lane = (layer * size_.n_sequences + s) * kKvHeads;
  const auto position = static_cast<std::int32_t>(size_.n_tokens);
  must(backend_.attend({.q = q_,
                        .n_heads = kHeads,
                        .n_kv_heads = kKvHeads,
                        .head_dim = kHeadDim,
                        .batch = {.positions = position_,
                                  .n_tokens = size_.n_sequences,
                                  .position_min = position,
                                  .position_max = position},
                        .sequences = sequences_,
                        .scale = 1 / std::sqrt(static_cast<float>(kHeadDim)),
                        .out = out_}));
}

std::vector<float> PackedLanes::out() {
  return arrays_.get(out_, size_.n_sequences * kHeads * kHeadDim);
}

std::size_t PackedLanes::bytes_of_layer() const {
  return size_.n_sequences * kKvHeads * n_pages() * (layout_->k.bytes() + layout_->v.bytes());
}

double PackedLanes::bits_per_value() const {
  return 8.0 * static_cast<double>(layout_->k.bytes() + layout_->v.bytes()) /
         static_cast<double>(2 * layout_->capacity * kHeadDim);
}

}  // namespace satchel::bench
