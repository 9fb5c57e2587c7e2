// PlaneTable: the planes of a coded operand for every possible head_dim and capacity. It is made
// once, when the codec is constructed, because Codec::operand() returns a span that lives as long
// as the codec.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "kernels/contract/page_layout.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

class PlaneTable {
 public:
  struct Planes {
    std::array<kernels::Plane, kernels::kPlanesMax> planes = {};
    std::size_t n = 0;
    // n_values of plane.bits each.
    void add(kernels::Plane plane, std::size_t n_values) {
      plane.bytes = static_cast<std::uint32_t>(n_values * plane.bits / 8);
      planes[n++] = plane;
    }
    // Codes, and a scale and a zero for each range of them.
    void add_affine(std::size_t bits, std::size_t group, std::size_t n_values,
                    std::size_t n_ranges) {
      const auto width = static_cast<std::uint16_t>(group);
      add({.kind = kernels::PlaneKind::codes,
           .bits = static_cast<std::uint16_t>(bits),
           .group = width},
          n_values);
      add({.kind = kernels::PlaneKind::scale, .group = width}, n_ranges);
      add({.kind = kernels::PlaneKind::zero, .group = width}, n_ranges);
    }
  };

  // fill(operand, head_dim, capacity, planes) for each of them.
  template <class Fill>
  void make(const Fill& fill) {
    for (const Codec::Operand operand : {Codec::Operand::k, Codec::Operand::v})
      for (std::size_t dim = 1; dim <= kDims; ++dim)
        for (std::size_t i = 1; i <= kCapacities; ++i)
          fill(operand, dim * kDimStep, i * kernels::kPageStep,
               planes_[index(operand, dim * kDimStep, i * kernels::kPageStep)]);
  }
  // An operand of these planes with loops of its own.
  kernels::OperandShape coded(const kernels::OperandCode& code, Codec::Operand operand,
                              std::size_t head_dim, std::size_t capacity,
                              kernels::Transform transform = kernels::Transform::none) const {
    return {.form = kernels::OperandShape::Form::coded,
            .transform = transform,
            .code = &code,
            .planes = find(operand, head_dim, capacity)};
  }
  // Empty where no page has such a shape: page_layout() refuses that.
  std::span<const kernels::Plane> find(Codec::Operand operand, std::size_t head_dim,
                                       std::size_t capacity) const {
    const bool fits = head_dim % kDimStep == 0 && head_dim / kDimStep - 1 < kDims &&
                      capacity % kernels::kPageStep == 0 &&
                      capacity / kernels::kPageStep - 1 < kCapacities;
    if (!fits) return {};
    const Planes& found = planes_[index(operand, head_dim, capacity)];
    return std::span(found.planes).first(found.n);
  }

 private:
  static constexpr std::size_t kDimStep = 16, kDims = 16, kCapacities = 4;
  static std::size_t index(Codec::Operand operand, std::size_t head_dim, std::size_t capacity) {
    const std::size_t dim = head_dim / kDimStep - 1, i = capacity / kernels::kPageStep - 1;
    return (dim * kCapacities + i) * 2 + (operand == Codec::Operand::k ? 0 : 1);
  }

  std::array<Planes, kDims * kCapacities * 2> planes_;
};

// A codec whose keys, and values too unless they stay exact, are the planes that its read() makes,
// with the loops of Code.
enum class CodedOperands { both, keys };
template <class Code, CodedOperands kCoded = CodedOperands::both>
class PlaneCodec : public Codec {
 public:
  kernels::OperandShape operand(Operand operand, std::size_t head_dim,
                                std::size_t capacity) const override {
    if (kCoded == CodedOperands::keys && operand == Operand::v) return {};
    return table_.coded(code_, operand, head_dim, capacity);
  }

 protected:
  Code code_;
  PlaneTable table_;
};

}  // namespace satchel::kvcache
