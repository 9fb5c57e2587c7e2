#include "kernels/contract/page_layout.h"

#include <string>

namespace satchel::kernels {
namespace {

constexpr std::size_t kHeadDimMax = 256;
constexpr std::size_t kHeadDimStepExact = 8;
constexpr std::size_t kHeadDimStep = 32;  // a row of 4-bit codes is whole 16-byte units
constexpr std::size_t kHeadDimStepTwoBit = 64;
constexpr std::size_t kGroupMin = 16;
constexpr std::size_t kPlaneAlign = 16;
constexpr std::size_t kPageAlign = 256;

std::size_t round_up(std::size_t bytes, std::size_t step) {
  return (bytes + step - 1) / step * step;
}

Error refuse(const std::string& what) {
  return Error{ErrorKind::unsupported, "PAGE_LAYOUT", "No page can be laid out with " + what + "."};
}

// Places planes one after the other.
class Planes {
 public:
  std::size_t add(std::size_t bytes) {
    const std::size_t at = end_;
    end_ = round_up(end_ + bytes, kPlaneAlign);
    return at;
  }
  std::size_t page_bytes() const { return round_up(end_, kPageAlign); }

 private:
  std::size_t end_ = 0;
};

bool head_dim_fits(std::size_t head_dim, std::size_t step) {
  return head_dim >= step && head_dim <= kHeadDimMax && head_dim % step == 0;
}

bool bits_fit(std::size_t bits) {
  return bits == 2 || bits == 4 || bits == 8;
}

bool group_fits(std::size_t group, std::size_t axis) {
  return group >= kGroupMin && group <= axis && axis % group == 0;
}

}  // namespace

Result<PageLayout> exact_layout(std::size_t head_dim) {
  if (!head_dim_fits(head_dim, kHeadDimStepExact))
    return refuse("head_dim " + std::to_string(head_dim));
  PageLayout layout{.form = PageForm::exact16, .head_dim = static_cast<std::uint16_t>(head_dim)};
  const std::size_t rows_bytes = kPageTokens * head_dim * sizeof(std::uint16_t);
  Planes planes;
  layout.positions_at = planes.add(kPageTokens * sizeof(std::int32_t));
  layout.k_codes_at = planes.add(rows_bytes);
  layout.v_codes_at = planes.add(rows_bytes);
  layout.bytes = planes.page_bytes();
  return layout;
}

Result<PageLayout> affine_layout(const AffineShape& shape) {
  if (!bits_fit(shape.k_bits) || !bits_fit(shape.v_bits))
    return refuse(std::to_string(shape.k_bits) + " bits for K and " + std::to_string(shape.v_bits) +
                  " for V");
  const bool two_bit = shape.k_bits == 2;  // a row of V is 128 tokens at any head_dim
  if (!head_dim_fits(shape.head_dim, two_bit ? kHeadDimStepTwoBit : kHeadDimStep))
    return refuse("head_dim " + std::to_string(shape.head_dim) +
                  (two_bit ? " with keys of 2 bits" : ""));
  if (!group_fits(shape.k_group, kPageTokens))
    return refuse("K groups of " + std::to_string(shape.k_group) + " tokens");
  if (!group_fits(shape.v_group, shape.head_dim))
    return refuse("V groups of " + std::to_string(shape.v_group) + " channels");

  PageLayout layout{.form = PageForm::affine,
                    .head_dim = static_cast<std::uint16_t>(shape.head_dim),
                    .k_bits = static_cast<std::uint16_t>(shape.k_bits),
                    .v_bits = static_cast<std::uint16_t>(shape.v_bits),
                    .k_group = static_cast<std::uint16_t>(shape.k_group),
                    .v_group = static_cast<std::uint16_t>(shape.v_group)};
  const std::size_t k_plane = kPageTokens / shape.k_group * shape.head_dim * sizeof(std::uint16_t);
  const std::size_t v_plane = shape.head_dim / shape.v_group * kPageTokens * sizeof(std::uint16_t);
  Planes planes;
  layout.positions_at = planes.add(kPageTokens * sizeof(std::int32_t));
  layout.k_scale_at = planes.add(k_plane);
  layout.k_zero_at = planes.add(k_plane);
  layout.v_scale_at = planes.add(v_plane);
  layout.v_zero_at = planes.add(v_plane);
  layout.k_codes_at = planes.add(kPageTokens * layout.k_row_bytes());
  layout.v_codes_at = planes.add(shape.head_dim * layout.v_row_bytes());
  layout.bytes = planes.page_bytes();
  return layout;
}

}  // namespace satchel::kernels
