// What tests of codecs share: pages of one codec's K and V, through a backend, and one operand by
// the codec's own loops.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kvcache/codecs/plane_values.h"
#include "support/lanes.h"
#include "unit/kvcache/stage_fixture.h"

namespace satchel::kvcache {

// Of a page with room for so many tokens, as far as the codec can lay out as little. Mixed-bit keys
// as a model without key bases has them (TierLayouts).
inline kernels::PageLayout layout_of(const Codec& codec, std::size_t head_dim,
                                     std::size_t n_tokens) {
  const std::size_t step = codec.capacity_step();
  const std::size_t room = (n_tokens + step - 1) / step * step;
  kernels::OperandShape k = codec.operand(Codec::Operand::k, head_dim, room);
  if (k.form == kernels::OperandShape::Form::mixed_bit &&
      k.transform == kernels::Transform::basis && k.bits > 0) {
    k.transform = kernels::Transform::hadamard;
    k.quad_bits.fill(static_cast<std::uint8_t>(k.bits));
  }
  // Loops that no model without key bases can use: on keys as they are.
  if (k.form == kernels::OperandShape::Form::coded && k.bits == 0)
    k.transform = kernels::Transform::none;
  const auto layout = kernels::page_layout({.head_dim = head_dim,
                                            .capacity = room,
                                            .k = k,
                                            .v = codec.operand(Codec::Operand::v, head_dim, room)});
  EXPECT_TRUE(layout.ok()) << layout.error().message;
  return layout.value();
}

// Bits per value of an operand with all its metadata, in a full page.
inline double bits_per_value(const Codec& codec, Codec::Operand which, std::size_t head_dim) {
  const kernels::PageLayout layout = layout_of(codec, head_dim, kernels::kPageTokens);
  const kernels::OperandLayout& operand = which == Codec::Operand::k ? layout.k : layout.v;
  return static_cast<double>(operand.bytes()) * 8 /
         static_cast<double>(kernels::kPageTokens * head_dim);
}

inline std::vector<std::int32_t> rising(std::size_t n) {
  std::vector<std::int32_t> positions;
  for (std::size_t i = 0; i < n; ++i) positions.push_back(static_cast<std::int32_t>(3 * i));
  return positions;
}

struct CodedPage {
  std::vector<std::byte> bytes;
  std::vector<float> k, v;
};
// Encoded and decoded again by a backend whose memory is main memory.
inline CodedPage round_trip_on(kernels::Backend& backend, const kernels::PageLayout& layout,
                               const std::vector<Half>& k, const std::vector<Half>& v,
                               const std::vector<std::int32_t>& positions) {
  const std::size_t n = positions.size();
  CodedPage page{.bytes = std::vector<std::byte>(layout.bytes),
                 .k = std::vector<float>(k.size()),
                 .v = std::vector<float>(v.size())};
  const kernels::EncodeArgs encode{
      .layout = &layout,
      .exact = {.k = k.data(), .v = v.data(), .positions = positions.data(), .n_tokens = n},
      .page = page.bytes.data()};
  EXPECT_TRUE(backend.encode_pages({&encode, 1}).ok());
  const kernels::DecodeArgs decode{.layout = &layout,
                                   .page = page.bytes.data(),
                                   .n_tokens = n,
                                   .k = page.k.data(),
                                   .v = page.v.data()};
  EXPECT_TRUE(backend.decode_pages({&decode, 1}).ok());
  EXPECT_TRUE(backend.finish().ok());
  return page;
}
inline CodedPage round_trip(const kernels::PageLayout& layout, const std::vector<Half>& k,
                            const std::vector<Half>& v,
                            const std::vector<std::int32_t>& positions) {
  return round_trip_on(*test::open_reference(), layout, k, v, positions);
}

// One operand in a page of its own, by the codec's own loops: what is given has been transformed
// already.
struct CodedOperand {
  std::unique_ptr<Codec> codec;
  std::size_t head_dim;
  kernels::PageLayout layout;
  kernels::OperandLayout operand;

  CodedOperand(const std::string& name, Codec::Operand which, std::size_t dim,
               const std::string& params = "{}", std::size_t capacity = kernels::kPageTokens)
      : codec(make<Codec>(StageKind::codec, name, params)),
        head_dim(dim),
        layout(layout_of(*codec, dim, capacity)),
        operand(which == Codec::Operand::k ? layout.k : layout.v) {}

  std::vector<std::byte> encode(const std::vector<float>& x) const {
    std::vector<std::byte> page(layout.bytes);
    operand.code->encode(operand, x.data(), x.size() / head_dim, head_dim, page.data());
    return page;
  }
  std::vector<float> decode(const std::vector<std::byte>& page, std::size_t n_tokens) const {
    std::vector<float> x(n_tokens * head_dim);
    operand.code->decode(operand, page.data(), n_tokens, head_dim, x.data());
    return x;
  }
  std::vector<float> back(const std::vector<float>& x) const {
    return decode(encode(x), x.size() / head_dim);
  }
  // The first n codes of a plane of codes or of bytes.
  std::vector<unsigned> codes(const std::vector<std::byte>& page, const kernels::Plane& plane,
                              std::size_t n) const {
    std::vector<unsigned> codes;
    for (std::size_t i = 0; i < n; ++i) codes.push_back(code_at(page.data(), plane, i));
    return codes;
  }
  std::vector<unsigned> codes(const std::vector<float>& x) const {
    return codes(encode(x), operand.at(kernels::PlaneKind::codes), x.size());
  }
};

// Summed squared error over that of the values.
inline double error_share(const std::vector<float>& x, const std::vector<float>& back) {
  double missed = 0, all = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    missed += std::pow(double{back[i]} - double{x[i]}, 2);
    all += std::pow(double{x[i]}, 2);
  }
  return missed / all;
}

// About normal; channels 5, 37, 69 … `loud` times as large.
inline std::vector<float> some_values(std::size_t n_tokens, std::size_t head_dim,
                                      std::uint64_t seed, double loud = 10) {
  std::vector<float> x;
  for (const Half h : test::random_halves(n_tokens * head_dim, head_dim, seed, loud))
    x.push_back(half_to_float(h));
  return x;
}

}  // namespace satchel::kvcache
