// PlaneCodec: a codec with planes and loops of its own, for K, for V or for both. read() sets the
// loops and calls make_planes(), which lists the planes for every possible head_dim and capacity,
// because operand() returns a span that lives as long as the codec.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "kvcache/codecs/plane_values.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

class PlaneCodec : public Codec {
 public:
  kernels::OperandShape operand(Operand operand, std::size_t head_dim,
                                std::size_t capacity) const final {
    const OperandCode* code = operand == Operand::k ? k_.get() : v_.get();
    if (code == nullptr) return without_code(head_dim, capacity);
    const bool is_basis_of_k = transform_ == kernels::Transform::basis && operand == Operand::v;
    return {.form = kernels::OperandShape::Form::coded,
            .bits = bits_without_basis_,
            .transform = is_basis_of_k ? kernels::Transform::none : transform_,
            .code = code,
            .planes = find(operand, head_dim, capacity)};
  }

 protected:
  struct Planes {
    std::array<Plane, kernels::kPlanesMax> planes = {};
    std::size_t n = 0;
    // n_values of plane.bits each.
    void add(Plane plane, std::size_t n_values) {
      plane.bytes = static_cast<std::uint32_t>(n_values * plane.bits / 8);
      planes[n++] = plane;
    }
    void add_codes(std::size_t bits, std::size_t n_values, std::size_t group = 0) {
      add({.kind = PlaneKind::codes,
           .bits = static_cast<std::uint16_t>(bits),
           .group = static_cast<std::uint16_t>(group)},
          n_values);
    }
    // Codes, and a scale and a zero for each range of them.
    void add_affine(std::size_t bits, std::size_t group, std::size_t n_values,
                    std::size_t n_ranges) {
      const auto width = static_cast<std::uint16_t>(group);
      add_codes(bits, n_values, group);
      add({.kind = PlaneKind::scale, .group = width}, n_ranges);
      add({.kind = PlaneKind::zero, .group = width}, n_ranges);
    }
  };

  // fill(operand, head_dim, capacity, planes) for each of them.
  template <class Fill>
  void make_planes(const Fill& fill) {
    for (const Operand operand : {Operand::k, Operand::v})
      for (std::size_t dim = 1; dim <= kDims; ++dim)
        for (std::size_t i = 1; i <= kCapacities; ++i)
          fill(operand, dim * kDimStep, i * kernels::kPageStep,
               planes_[index(operand, dim * kDimStep, i * kernels::kPageStep)]);
  }
  // The operand that has no loops: exact, or of a form that the backends know.
  virtual kernels::OperandShape without_code(std::size_t, std::size_t) const { return {}; }

  std::shared_ptr<const OperandCode> k_, v_;  // null: see without_code()
  kernels::Transform transform_ = kernels::Transform::none;
  std::size_t bits_without_basis_ = 16;  // 0: of no use to a model without key bases

 private:
  static constexpr std::size_t kDimStep = 16, kDims = 16, kCapacities = 4;
  static std::size_t index(Operand operand, std::size_t head_dim, std::size_t capacity) {
    const std::size_t dim = head_dim / kDimStep - 1, i = capacity / kernels::kPageStep - 1;
    return (dim * kCapacities + i) * 2 + (operand == Operand::k ? 0 : 1);
  }
  // Empty where no page has such a shape: page_layout() refuses that.
  std::span<const Plane> find(Operand operand, std::size_t head_dim, std::size_t capacity) const {
    const bool fits = head_dim % kDimStep == 0 && head_dim / kDimStep - 1 < kDims &&
                      capacity % kernels::kPageStep == 0 &&
                      capacity / kernels::kPageStep - 1 < kCapacities;
    if (!fits) return {};
    const Planes& found = planes_[index(operand, head_dim, capacity)];
    return std::span(found.planes).first(found.n);
  }

  std::array<Planes, kDims * kCapacities * 2> planes_;
};

}  // namespace satchel::kvcache
