#include "kernels/contract/page_layout.h"

#include <algorithm>
#include <string>

#include "kernels/base/assert.h"
#include "kernels/contract/row_order.h"

namespace satchel::kernels {
namespace {

constexpr std::size_t kHeadDimStep = 16;
constexpr std::size_t kGroupStep = 16;  // kernels take 16 rows of codes at a time
constexpr std::size_t kPlaneAlign = 16;
constexpr std::size_t kPageAlign = 256;

std::size_t round_up(std::size_t bytes, std::size_t step) {
  return (bytes + step - 1) / step * step;
}

Error refuse(const std::string& what) {
  return Error{ErrorKind::unsupported, "PAGE_LAYOUT",
               "The page layout does not support " + what + "."};
}

// Allocates ranges of a page one after the other.
class Places {
 public:
  std::uint32_t add(std::size_t bytes) {
    const std::size_t at = end_;
    end_ = round_up(end_ + bytes, kPlaneAlign);
    return static_cast<std::uint32_t>(at);
  }
  std::uint32_t page_bytes() const {
    return static_cast<std::uint32_t>(round_up(end_, kPageAlign));
  }

 private:
  std::size_t end_ = 0;
};

void add_plane(OperandLayout& operand, Plane plane, std::size_t bytes) {
  plane.bytes = static_cast<std::uint32_t>(bytes);
  operand.planes[operand.n_planes++] = plane;
}

enum class Part { ranges, rest };

// Scales and zeros of both operands come first: the byte order of version 1 of the snapshot
// format (kvcache/snapshot/FORMAT.md).
void place(OperandLayout& operand, Part part, Places& places) {
  for (std::size_t i = 0; i < operand.n_planes; ++i) {
    Plane& plane = operand.planes[i];
    const bool is_range = plane.kind == PlaneKind::scale || plane.kind == PlaneKind::zero;
    if (is_range == (part == Part::ranges)) plane.at = places.add(plane.bytes);
  }
}

// rows × row_values codes; grouped: the axis that groups of scales cut (K: tokens, V: channels),
// along: the other one.
struct Axes {
  std::size_t grouped = 0, along = 0;
};

Result<void> check_affine(const OperandShape& shape, const Axes& axes, const std::string& name) {
  if (shape.bits != 2 && shape.bits != 3 && shape.bits != 4 && shape.bits != 8)
    return refuse(name + " of " + std::to_string(shape.bits) + " bits");
  const bool group_fits =
      shape.group > 0 && shape.group % kGroupStep == 0 && axes.grouped % shape.group == 0;
  if (!group_fits)
    return refuse(name + " in groups of " + std::to_string(shape.group) + " out of " +
                  std::to_string(axes.grouped));
  return {};
}

void add_ranges(OperandLayout& operand, std::size_t group, bool has_zeros, std::size_t pairs) {
  const Plane scale{.kind = PlaneKind::scale, .group = static_cast<std::uint16_t>(group)};
  Plane zero = scale;
  zero.kind = PlaneKind::zero;
  add_plane(operand, scale, pairs * sizeof(std::uint16_t));
  if (has_zeros) add_plane(operand, zero, pairs * sizeof(std::uint16_t));
}

// The group is the whole page: a channel has one range.
Result<OperandLayout> mixed_bit_layout(const OperandShape& shape, const Axes& axes) {
  OperandLayout operand{
      .transform = shape.transform, .basis = shape.basis, .quad_bits = shape.quad_bits};
  std::size_t bits = 0;
  for (std::size_t i = 0; i < kQuadsMax; ++i) {
    const std::size_t of_quad = i < axes.along / kQuad ? shape.quad_bits[i] : 0;
    operand.quad_bits[i] = static_cast<std::uint8_t>(of_quad);
    if (of_quad > 8) return refuse("keys of " + std::to_string(of_quad) + " bits");
    bits += of_quad * kQuad;
  }
  // Counted in bytes, because quads differ in width.
  add_plane(operand, {.kind = PlaneKind::mixed_bit_codes, .bits = 8}, axes.grouped * bits / 8);
  add_ranges(operand, axes.grouped, true, axes.along);
  return operand;
}

// The planes of an operand, codes or rows first; place() sets their offsets later.
Result<OperandLayout> operand_layout(const OperandShape& shape, const Axes& axes,
                                     const std::string& name) {
  if (shape.form == OperandShape::Form::mixed_bit) return mixed_bit_layout(shape, axes);
  OperandLayout operand{.transform = shape.transform, .basis = shape.basis, .clips = shape.clips};
  if (shape.form == OperandShape::Form::exact16) {
    add_plane(operand, {.kind = PlaneKind::exact16},
              axes.grouped * axes.along * sizeof(std::uint16_t));
    return operand;
  }
  if (shape.form == OperandShape::Form::coded) {
    if (shape.code == nullptr || shape.planes.empty() || shape.planes.size() > kPlanesMax)
      return refuse(name + " without a code of its own and 1 to 8 planes");
    operand.code = shape.code;
    for (const Plane& plane : shape.planes) add_plane(operand, plane, plane.bytes);
    return operand;
  }
  SATCHEL_TRY(check_affine(shape, axes, name));
  const auto add_codes = [&](PlaneKind kind, std::size_t bits) {
    add_plane(operand,
              {.kind = kind,
               .bits = static_cast<std::uint16_t>(bits),
               .group = static_cast<std::uint16_t>(shape.group)},
              axes.grouped * row_bytes(bits, axes.along));
  };
  add_codes(PlaneKind::codes, shape.bits == 3 ? 2 : shape.bits);
  if (shape.bits == 3) add_codes(PlaneKind::low_codes, 1);
  add_ranges(operand, shape.group, !shape.symmetric, axes.grouped / shape.group * axes.along);
  return operand;
}

}  // namespace

const Plane* OperandLayout::find(PlaneKind kind) const {
  const auto planes_here = all();
  const auto found = std::find_if(planes_here.begin(), planes_here.end(),
                                  [kind](const Plane& plane) { return plane.kind == kind; });
  return found == planes_here.end() ? nullptr : &*found;
}

const Plane& OperandLayout::at(PlaneKind kind) const {
  const Plane* plane = find(kind);
  SATCHEL_ASSERT(plane != nullptr);
  return *plane;
}

std::size_t OperandLayout::bytes() const {
  std::size_t bytes = 0;
  for (const Plane& plane : all()) bytes += plane.bytes;
  return bytes;
}

Result<PageLayout> page_layout(const PageShape& shape) {
  const std::size_t head_dim = shape.head_dim, capacity = shape.capacity;
  if (head_dim < kHeadDimStep || head_dim > kHeadDimMax || head_dim % kHeadDimStep != 0)
    return refuse("head_dim " + std::to_string(head_dim));
  if (capacity < kPageStep || capacity > kPageTokens || capacity % kPageStep != 0)
    return refuse("a capacity of " + std::to_string(capacity) + " tokens");
  PageLayout layout{.head_dim = static_cast<std::uint16_t>(head_dim),
                    .capacity = static_cast<std::uint16_t>(capacity)};
  if (!shape.is_latent &&
      (shape.v.form == OperandShape::Form::mixed_bit || shape.v.transform == Transform::basis))
    return refuse("values in mixed-bit planes or in a calibrated basis");
  Places places;
  layout.positions_at = places.add(capacity * sizeof(std::int32_t));
  if (shape.has_log_counts) layout.log_counts_at = places.add(capacity * sizeof(float));
  SATCHEL_TRY_ASSIGN(layout.k,
                     operand_layout(shape.k, {.grouped = capacity, .along = head_dim}, "keys"));
  if (!shape.is_latent) {
    SATCHEL_TRY_ASSIGN(layout.v,
                       operand_layout(shape.v, {.grouped = head_dim, .along = capacity}, "values"));
  }
  for (const Part part : {Part::ranges, Part::rest})
    for (OperandLayout* operand : {&layout.k, &layout.v}) place(*operand, part, places);
  layout.bytes = places.page_bytes();
  return layout;
}

}  // namespace satchel::kernels
