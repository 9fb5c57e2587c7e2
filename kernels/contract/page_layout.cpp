#include "kernels/contract/page_layout.h"

#include <string>

#include "kernels/base/half.h"

namespace satchel::kernels {
namespace {

constexpr std::size_t kPageAlign = 256, kPlaneAlign = 16, kHeadDimMax = 256, kGroupMin = 16;

Error unsupported(const std::string& what) {
  return {ErrorKind::unsupported, "PAGE_LAYOUT", "No page can be laid out: " + what + "."};
}

std::size_t round_up(std::size_t n, std::size_t step) {
  return (n + step - 1) / step * step;
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

bool good_bits(std::size_t bits) {
  return bits == 2 || bits == 4 || bits == 8;
}

Result<void> check_head_dim(std::size_t head_dim, std::size_t step) {
  if (head_dim == 0 || head_dim % step != 0 || head_dim > kHeadDimMax)
    return unsupported("head_dim " + std::to_string(head_dim) + " is not a multiple of " +
                       std::to_string(step) + " up to " + std::to_string(kHeadDimMax));
  return {};
}

}  // namespace

Result<PageLayout> exact_layout(std::size_t head_dim) {
  SATCHEL_TRY(check_head_dim(head_dim, 8));
  PageLayout layout;
  layout.form = PageForm::exact16;
  layout.head_dim = static_cast<std::uint16_t>(head_dim);
  Planes planes;
  layout.positions_at = planes.add(kPageTokens * sizeof(std::int32_t));
  layout.k_codes_at = planes.add(kPageTokens * head_dim * sizeof(Half));
  layout.v_codes_at = planes.add(kPageTokens * head_dim * sizeof(Half));
  layout.bytes = planes.page_bytes();
  return layout;
}

Result<PageLayout> affine_layout(const AffineShape& shape) {
  if (!good_bits(shape.k_bits) || !good_bits(shape.v_bits))
    return unsupported("bits must be 2, 4 or 8");
  SATCHEL_TRY(check_head_dim(shape.head_dim, shape.k_bits == 2 ? 64 : 32));
  if (shape.k_group < kGroupMin || kPageTokens % shape.k_group != 0)
    return unsupported("a K group of " + std::to_string(shape.k_group) +
                       " tokens does not divide a page of " + std::to_string(kPageTokens));
  if (shape.v_group < kGroupMin || shape.head_dim % shape.v_group != 0)
    return unsupported("a V group of " + std::to_string(shape.v_group) +
                       " channels does not divide head_dim " + std::to_string(shape.head_dim));
  PageLayout layout;
  layout.form = PageForm::affine;
  layout.head_dim = static_cast<std::uint16_t>(shape.head_dim);
  layout.k_bits = static_cast<std::uint16_t>(shape.k_bits);
  layout.v_bits = static_cast<std::uint16_t>(shape.v_bits);
  layout.k_group = static_cast<std::uint16_t>(shape.k_group);
  layout.v_group = static_cast<std::uint16_t>(shape.v_group);
  const std::size_t k_plane = kPageTokens / shape.k_group * shape.head_dim * sizeof(Half);
  const std::size_t v_plane = shape.head_dim / shape.v_group * kPageTokens * sizeof(Half);
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
