// PageLayout: the memory layout of a quantised page, as data. K and V are each a list of typed
// planes. A codec of a known family is just a PageLayout and needs no kernel of its own. Any other
// codec brings plain loops (OperandCode), which every backend runs in main memory.
//
// A page holds up to `capacity` tokens of one lane at one tier, K and V, in one blob of `bytes`
// bytes. The first n_tokens slots (PageView) are filled, the rest is zero:
//   positions  [capacity] int32, rising over the filled slots: each token's position in the text
//   log_counts [capacity] fp32, only if a merger needs it: ln of the number of tokens that a slot
//              stands for, added to its logit
//   exact16    rows [capacity, head_dim] fp16
//   latent V   no planes: the value of a token is its key (lane_view.h)
//   affine K   scale, zero [capacity / group, head_dim] fp16: a pair per channel and group of
//              tokens
//              codes       [capacity rows, head_dim codes]; a row is a token
//   affine V   scale, zero [head_dim / group, capacity] fp16: a pair per token and group of
//              channels
//              codes       [head_dim rows, capacity codes]; a row is a channel (transposed)
//   affine, 3 bits  codes hold the upper two bits, low_codes the lowest; each has rows of its own
//   affine, symmetric  no zero plane: zero is -scale · (2^bits - 1) / 2
//   mixed-bit K   mixed-bit planes (mixed_bit.h):
//              scale, zero   [head_dim] fp16: a pair per channel, in channel order
//              mixed_bit_codes  quads of four channels one after the other, quad_bits[quad] bits
//                            per code, in parts of 4, 2 and 1 bits, the upper ones first
// The codes of a row, and the last axis of scale and zero planes, are in the storage order of
// row_order.h.
//   decode   k[t][c] = scale[t / group][c] * code + zero[t / group][c]; v[t][c] the same with
//            [c / group][t]; symmetric: (code - (2^bits - 1) / 2) · scale. Then the transform
//            (Transform) is undone.
//   source   arXiv:2402.02750 (KIVI: K per channel, V per token), arXiv:2411.18077 (MiniKV);
//            row_order.h (order of codes)
//   differs  each kind of group metadata is a plane of its own, so any group length fits
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/base/result.h"
#include "kernels/contract/rope_table.h"

namespace satchel::kernels {

inline constexpr std::size_t kPageTokens = 128;  // the most a page holds
inline constexpr std::size_t kPageStep = 32;     // capacities are 32, 64, 96, 128
inline constexpr std::size_t kPlanesMax = 8;
inline constexpr std::size_t kHeadDimMax = 576;  // DeepSeek's latent and its rotated part
inline constexpr std::size_t kQuad = 4;  // channels of a mixed-bit operand that share a width
inline constexpr std::size_t kQuadsMax = kHeadDimMax / kQuad;

// The numbers are written to disk (kvcache/snapshot/FORMAT.md).
enum class PlaneKind : std::uint16_t {
  exact16 = 0,  // fp16 rows
  codes = 1,
  scale = 2,
  zero = 3,
  codebook = 4,         // the value of each code
  outlier_places = 5,   // which entries are stored outside the codes …
  outlier_values = 6,   // … and their values
  token_factors = 7,    // low rank: [capacity, rank] …
  channel_factors = 8,  // … times [rank, head_dim], added to the decoded codes
  kept_channels = 9,
  mixed_bit_codes = 10,
  low_codes = 11,  // the lowest bit, beside codes
};

// One array in a page.
struct Plane {
  PlaneKind kind = PlaneKind::exact16;
  std::uint16_t bits = 16;  // of a value in it
  std::uint16_t group = 0;  // codes: tokens (K) or channels (V) that share a scale
  std::uint16_t count = 0;  // for kinds that need it: rank, outliers per row …
  std::uint32_t at = 0;     // byte offset into the page, a multiple of 16
  std::uint32_t bytes = 0;
  friend bool operator==(const Plane&, const Plane&) = default;
};

// The linear transform of an operand in its page. For K the query is transformed to match; for V
// the output is transformed back.
//   hadamard  x · H / sqrt(n) over blocks of n = the largest power of two that divides head_dim
//   basis     K only: by the lane's own matrices, which the layout points to
enum class Transform : std::uint16_t { none = 0, hadamard = 1, basis = 2 };

// A lane's own coordinates for keys: keys become k · to, queries q · from. to · fromᵀ is the
// identity, so dot products do not change. In general this is not a rotation: coordinates have
// different scales.
//   to, from  [head_dim, head_dim] fp32, row-major, main memory; owned by the maker of the layout
//   rope      of the lane's layer, owned likewise. If set, k is the key in its page's frame: its
//             RoPE angle is reduced by frame_of() positions. Slow pairs then look alike in all
//             pages, so that few coordinates hold most of a key. Queries are rotated back by the
//             same amount, once for all pages of a frame.
//   id        identifies these numbers, rope included: bases with the same id are equal. A backend
//             with its own memory caches a copy by id; with id 0 it copies them in every call.
struct Basis {
  const float *to = nullptr, *from = nullptr;
  RopeTable rope = {};
  std::uint64_t id = 0;
  // Compares addresses, because a lane has only one basis.
  friend bool operator==(const Basis& a, const Basis& b) {
    return a.to == b.to && a.from == b.from;
  }
};

// Frames begin at multiples of this. Chosen: 128 was a tenth better (KL of keys at 2 bits, SmolLM2)
// but needs four times as many query rotations; 2,048 was half worse.
inline constexpr std::int32_t kFrameTokens = 512;

struct OperandLayout;

// The plain loops of a codec whose planes the backends do not know. One per operand; stateless.
//   cost   a backend with its own memory drains its queue, copies the rows or the page to main
//          memory, runs the loops there and copies the result back, page by page
class OperandCode {
 public:
  virtual ~OperandCode() = default;
  virtual std::string_view name() const = 0;  // saved to disk; readers find the loops by it
  // Encodes x [n_tokens, head_dim] fp32 into the operand's planes of `page`, which are zeroed.
  virtual void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
                      std::size_t head_dim, std::byte* page) const = 0;
  // Safe for arbitrary bytes.
  virtual void decode(const OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
                      std::size_t head_dim, float* x) const = 0;
};

// K or V of a page.
struct OperandLayout {
  std::array<Plane, kPlanesMax> planes = {};
  std::uint16_t n_planes = 0;
  Transform transform = Transform::none;
  Basis basis = {};    // used by Transform::basis
  bool clips = false;  // affine: a group's range may exclude rare values (clipping.h)
  std::array<std::uint8_t, kQuadsMax> quad_bits = {};  // mixed-bit: 0 to 8, [head_dim / kQuad]
  const OperandCode* code = nullptr;  // null: exact16, affine or mixed-bit, known to every backend

  std::span<const Plane> all() const { return std::span(planes).first(n_planes); }
  const Plane* find(PlaneKind kind) const;
  const Plane& at(PlaneKind kind) const;  // asserts that it is there
  // V of a latent lane.
  bool is_absent() const { return n_planes == 0; }
  bool is_exact() const {
    return code == nullptr && !is_absent() && planes[0].kind == PlaneKind::exact16;
  }
  bool is_affine() const { return code == nullptr && planes[0].kind == PlaneKind::codes; }
  bool is_mixed_bit() const {
    return code == nullptr && planes[0].kind == PlaneKind::mixed_bit_codes;
  }
  std::size_t bytes() const;  // of all its planes
  friend bool operator==(const OperandLayout&, const OperandLayout&) = default;
};

enum class Operand { k, v };

struct PageLayout {
  std::uint16_t head_dim = 0;
  std::uint16_t capacity = 0;  // tokens
  std::uint32_t positions_at = 0;
  std::uint32_t log_counts_at = 0;  // 0: none
  OperandLayout k = {}, v = {};
  std::uint32_t bytes = 0;  // a multiple of 256

  const OperandLayout& of(Operand which) const { return which == Operand::k ? k : v; }
  bool is_latent() const { return v.is_absent(); }
  // Both are held as fp16: nothing is lost.
  bool is_exact() const { return k.is_exact() && (is_latent() || v.is_exact()); }
  friend bool operator==(const PageLayout&, const PageLayout&) = default;
};

// The description of an operand, from which page_layout() computes offsets.
struct OperandShape {
  enum class Form { exact16, affine, mixed_bit, coded } form = Form::exact16;
  std::size_t bits = 16, group = 0;  // affine: 2, 3, 4 or 8; K: tokens, V: channels
  bool symmetric = false;            // affine: no zeros
  bool clips = false;                // affine: see OperandLayout
  Transform transform = Transform::none;
  Basis basis = {};
  std::array<std::uint8_t, kQuadsMax> quad_bits = {};  // mixed-bit
  // coded: the loops and their planes. page_layout() sets `at`; the codec sets the other fields.
  const OperandCode* code = nullptr;
  std::span<const Plane> planes = {};
};
struct PageShape {
  std::size_t head_dim = 0;
  std::size_t capacity = kPageTokens;
  bool has_log_counts = false;
  bool is_latent = false;  // V has no planes, and its shape is not looked at
  OperandShape k = {}, v = {};
};
// Fails with `unsupported` (PAGE_LAYOUT) unless
//   head_dim  is a multiple of 16, from 16 to kHeadDimMax
//   capacity  is 32, 64, 96 or 128
//   bits      are 2, 3, 4 or 8; mixed-bit: at most 8 in a quad
//   group     is a multiple of 16 that divides its axis (K: the capacity, V: head_dim)
//   V         is neither mixed-bit nor transformed by a basis
Result<PageLayout> page_layout(const PageShape& shape);

}  // namespace satchel::kernels
