#include "kvcache/layout/tier_layouts.h"

#include <algorithm>
#include <cstring>

#include "kvcache/base/hash.h"
#include "kvcache/recipes/pipeline.h"

namespace satchel::kvcache {
namespace {

// Groups of 32: 9 bits per value with their scales. Chosen: 8 bits are lossless enough for pending
// text (KL below 1e-4 in every table of quantised caches), and a smaller group would cost more.
constexpr std::size_t kEightGroup = 32;

// kernels::Basis::id: of the matrices by the name of all and the lane's number, of the frequencies
// by their bytes. Never 0.
std::uint64_t basis_id(const KeyBases& bases, std::size_t lane, const LayerShape& layer) {
  const std::uint64_t of_matrices[] = {bases.id, lane};
  const Hash128 hash = hash_bytes(std::as_bytes(std::span(of_matrices)),
                                  std::as_bytes(layer.rope().inverse_frequency));
  std::uint64_t id = 0;
  std::memcpy(&id, hash.data(), sizeof id);
  return std::max<std::uint64_t>(id, 1);
}

kernels::OperandShape eight_bits(std::size_t head_dim) {
  const std::size_t group = head_dim % kEightGroup == 0 ? kEightGroup : kEightGroup / 2;
  return {.form = kernels::OperandShape::Form::affine, .bits = 8, .group = group};
}

// What keys that want a basis are where none is known; a codec that has no other bits for them has
// nothing to do without.
Result<void> use_hadamard(kernels::OperandShape& k) {
  if (k.bits == 0)
    return Error{ErrorKind::unsupported, "CODEC_NEEDS",
                 "This recipe needs key bases calibrated for the model, and none were found. Run "
                 "\"satchel calibrate\" to make them."};
  k.transform = kernels::Transform::hadamard;
  k.quad_bits.fill(static_cast<std::uint8_t>(k.bits));
  return {};
}

bool wants_value_bases(const Codec& codec, const kernels::OperandShape& v) {
  return codec.is_calibrated() && v.form == kernels::OperandShape::Form::coded;
}
bool wants_value_bases(const Pipeline& pipeline, std::size_t tier, const TokenShape& token) {
  if (tier < kTierRecipe || token.is_latent) return false;
  const Codec& v = *pipeline.codecs()[tier - kTierRecipe].v;
  return wants_value_bases(v, v.operand(Codec::Operand::v, token.head_dim, kernels::kPageTokens));
}
Error no_value_bases() {
  return {ErrorKind::unsupported, "CODEC_NEEDS",
          "This recipe needs value bases calibrated for the model, and none were found. Run "
          "\"satchel calibrate --values\" to make them."};
}

// Whether the recipe packs values and leaves keys as they are, for models whose keys bear no
// rounding: then text that waits for its codec keeps them too.
bool keeps_keys(const Pipeline& pipeline, const TokenShape& token) {
  if (pipeline.codecs().empty() || token.is_latent) return false;
  const CodecPair& first = pipeline.codecs().front();
  const auto is_exact = [&](const Codec& codec, Codec::Operand operand) {
    return codec.operand(operand, token.head_dim, kernels::kPageTokens).form ==
           kernels::OperandShape::Form::exact16;
  };
  return is_exact(*first.k, Codec::Operand::k) && !is_exact(*first.v, Codec::Operand::v);
}

Result<kernels::PageLayout> layout_of(const Pipeline& pipeline, std::uint8_t tier,
                                      const TokenShape& token, std::size_t capacity,
                                      const KeyBases* bases) {
  const std::size_t head_dim = token.head_dim;
  kernels::PageShape shape{
      .head_dim = head_dim, .capacity = capacity, .is_latent = token.is_latent};
  if (tier == kTierEight) {
    if (!keeps_keys(pipeline, token))
      shape.k = {.form = kernels::OperandShape::Form::affine, .bits = 8, .group = kEightGroup};
    shape.v = eight_bits(head_dim);
  } else if (tier >= kTierRecipe) {
    const CodecPair& codec = pipeline.codecs()[tier - kTierRecipe];
    const std::size_t of_v = token.is_latent ? 1 : codec.v->capacity_step();
    const std::size_t step = std::max(codec.k->capacity_step(), of_v);
    shape.capacity = (capacity + step - 1) / step * step;
    shape.k = codec.k->operand(Codec::Operand::k, head_dim, shape.capacity);
    if (!token.is_latent) shape.v = codec.v->operand(Codec::Operand::v, head_dim, shape.capacity);
    if (shape.k.transform == kernels::Transform::basis && bases == nullptr)
      SATCHEL_TRY(use_hadamard(shape.k));
    if (!token.is_latent && wants_value_bases(*codec.v, shape.v) &&
        (bases == nullptr || bases->values.empty()))
      return no_value_bases();
    shape.has_log_counts = pipeline.needs_counts();
  }
  return kernels::page_layout(shape);
}

}  // namespace

Result<TierLayouts> TierLayouts::make(const CacheShape& shape, const Pipeline& pipeline) {
  TierLayouts made;
  made.n_tiers_ = kTierRecipe + pipeline.codecs().size();
  for (const LayerShape& layer : shape.layers)
    if (std::find(made.tokens_.begin(), made.tokens_.end(), layer.token()) == made.tokens_.end())
      made.tokens_.push_back(layer.token());
  for (const TokenShape& token : made.tokens_)
    for (std::size_t tier = 0; tier < made.n_tiers_; ++tier)
      for (std::size_t i = 1; i <= kCapacities; ++i) {
        SATCHEL_TRY_ASSIGN(const kernels::PageLayout layout,
                           layout_of(pipeline, static_cast<std::uint8_t>(tier), token,
                                     i * kernels::kPageStep, shape.key_bases.get()));
        made.layouts_.push_back(layout);
      }
  made.give_bases(shape, pipeline);
  return made;
}

void TierLayouts::give_bases(const CacheShape& shape, const Pipeline& pipeline) {
  n_lanes_ = shape.n_lanes();
  own_of_tier_.assign(n_tiers_, kNone);
  for (std::size_t tier = 0, n = 0; tier < n_tiers_; ++tier) {
    const auto of_tier = static_cast<std::uint8_t>(tier);
    const bool of_k = of(of_tier, tokens_.front(), 1).k.transform == kernels::Transform::basis;
    const bool of_v = std::ranges::any_of(
        tokens_, [&](const TokenShape& token) { return wants_value_bases(pipeline, tier, token); });
    if (!of_k && !of_v) continue;
    own_of_tier_[tier] = n++;
    SATCHEL_ASSERT(shape.suits(*shape.key_bases));
    bases_ = shape.key_bases;
    if (layers_ == nullptr) layers_ = std::make_shared<const std::vector<LayerShape>>(shape.layers);
    own_.reserve(own_.size() + n_lanes_ * kCapacities);
    std::size_t lane = 0;
    for (const LayerShape& layer : *layers_) {
      for (std::size_t head = 0; head < layer.n_kv_heads; ++head, ++lane) {
        kernels::Basis basis = bases_->lanes[lane].view();
        basis.rope = layer.rope();
        basis.id = basis_id(*bases_, lane, layer);
        for (std::size_t i = 1; i <= kCapacities; ++i) {
          own_.push_back(of(of_tier, layer.token(), i * kernels::kPageStep));
          if (of_k) own_.back().k.basis = basis;
          if (of_v) own_.back().v.basis = bases_->view_of_values(lane);
        }
      }
    }
  }
}

const kernels::PageLayout& TierLayouts::of_lane(std::uint8_t tier, std::size_t lane,
                                                const TokenShape& token,
                                                std::size_t n_tokens) const {
  SATCHEL_ASSERT(tier < n_tiers_ && lane < n_lanes_);
  const std::size_t own = own_of_tier_[tier];
  if (own == kNone) return of(tier, token, n_tokens);
  SATCHEL_ASSERT(n_tokens > 0 && n_tokens <= kernels::kPageTokens);
  const std::size_t capacity = (n_tokens - 1) / kernels::kPageStep;
  return own_[(own * n_lanes_ + lane) * kCapacities + capacity];
}

const kernels::PageLayout& TierLayouts::of(std::uint8_t tier, const TokenShape& token,
                                           std::size_t n_tokens) const {
  SATCHEL_ASSERT(tier < n_tiers_ && n_tokens > 0 && n_tokens <= kernels::kPageTokens);
  const auto found = std::find(tokens_.begin(), tokens_.end(), token);
  SATCHEL_ASSERT(found != tokens_.end());
  const auto of_token = static_cast<std::size_t>(found - tokens_.begin());
  const std::size_t capacity = (n_tokens - 1) / kernels::kPageStep;
  return layouts_[(of_token * n_tiers_ + tier) * kCapacities + capacity];
}

std::size_t TierLayouts::bytes(std::uint8_t tier, const TokenShape& token,
                               std::size_t n_tokens) const {
  const std::size_t rest = n_tokens % kernels::kPageTokens;
  const std::size_t full =
      n_tokens / kernels::kPageTokens * of(tier, token, kernels::kPageTokens).bytes;
  return full + (rest == 0 ? 0 : of(tier, token, rest).bytes);
}

std::uint64_t TierLayouts::values_id() const {
  const bool has_values = std::ranges::any_of(
      own_, [](const kernels::PageLayout& layout) { return layout.v.basis.to != nullptr; });
  return has_values ? bases_->values_id : 0;
}

std::size_t TierLayouts::page_bytes_max() const {
  std::size_t most = 0;
  for (const kernels::PageLayout& layout : layouts_)
    most = std::max<std::size_t>(most, layout.bytes);
  return most;
}

}  // namespace satchel::kvcache
