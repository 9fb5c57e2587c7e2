// PageLayout: where each number of a packed page lies. It is data: K and V are each a list of typed
// planes, so that a codec of a known family is one PageLayout and needs no kernel of its own, and a
// codec of another kind brings plain loops (OperandCode), which every backend runs in main memory.
//
// A page holds up to `capacity` tokens of one lane at one tier, K and V, in one blob of `bytes`
// bytes. The first n_tokens slots are filled (PageView says how many), the rest is zero:
//   positions  [capacity] int32, rising over the filled slots: the place of each token in the text
//   log_counts [capacity] fp32, only where a merger needs it: ln of how many tokens a slot stands
//              for, added to its logit
//   exact16    rows [capacity, head_dim] fp16
//   affine K   scale, zero [capacity / group, head_dim] fp16: a pair per channel and group of tokens
//              codes       [capacity rows, head_dim codes]; a row is a token
//   affine V   scale, zero [head_dim / group, capacity] fp16: a pair per token and group of channels
//              codes       [head_dim rows, capacity codes]; a row is a channel (transposed)
//   affine, 3 bits  codes hold the upper two bits, low_codes the lowest, each in rows of its own
//   affine, symmetric  no zero plane: zero is -scale · (2^bits - 1) / 2
//   graded K   scale, zero   [head_dim] fp16: a pair per channel, in the order of channels
//              graded_codes  quad after quad (four channels), of quad_bits[quad] bits each, in parts
//                            of 4, 2 and 1 bits, the upper ones first (graded.h has the order)
// Codes of a row lie in the storage order of row_order.h, and so does the last axis of the scale
// and zero planes.
//   decode   k[t][c] = scale[t / group][c] * code + zero[t / group][c]; v[t][c] likewise, by
//            [c / group][t]; symmetric (code - (2^bits - 1) / 2) · scale; then the operand is turned
//            back (Turn)
//   source   arXiv:2402.02750 (KIVI: K per channel, V per token), arXiv:2411.18077 (MiniKV);
//            row_order.h (order of codes)
//   differs  group metadata are a plane per kind, so that any group length fits
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
inline constexpr std::size_t kHeadDimMax = 256;
inline constexpr std::size_t kQuad = 4;  // channels of a graded operand that share their bits
inline constexpr std::size_t kQuadsMax = kHeadDimMax / kQuad;

// The number is written to disk (kvcache/snapshot/FORMAT.md).
enum class PlaneKind : std::uint16_t {
  exact16 = 0,  // fp16 rows
  codes = 1,
  scale = 2,
  zero = 3,
  codebook = 4,         // what a code stands for
  outlier_places = 5,   // which entries stand outside the codes …
  outlier_values = 6,   // … and their values
  token_factors = 7,    // low rank: [capacity, rank] …
  channel_factors = 8,  // … times [rank, head_dim], added to what the codes say
  kept_channels = 9,
  graded_codes = 10,
  low_codes = 11,  // the lowest bit, beside codes
};

// One stretch of a page's bytes.
struct Plane {
  PlaneKind kind = PlaneKind::exact16;
  std::uint16_t bits = 16;  // of a value in it
  std::uint16_t group = 0;  // codes: tokens (K) or channels (V) that share a scale
  std::uint16_t count = 0;  // kinds that need one: rank, outliers of a row …
  std::uint32_t at = 0;     // byte offset into the page, a multiple of 16
  std::uint32_t bytes = 0;
  friend bool operator==(const Plane&, const Plane&) = default;
};

// How an operand lies turned in its page. The query is turned alike for K, the output back for V.
//   hadamard  x · H / sqrt(n) over blocks of n = the largest power of two that divides head_dim
//   basis     K only: by matrices of the lane's own, which the layout points to
enum class Turn : std::uint16_t { none = 0, hadamard = 1, basis = 2 };

// A lane's own coordinates of its keys: k · to, and a query q · from, where to · fromᵀ is the identity,
// so that products stay what they were. Not a rotation in general: coordinates are of unlike size.
//   to, from  [head_dim, head_dim] fp32, row by row, main memory; whoever made the layout keeps them
//   rope      of the lane's layer, likewise. Where there is one, k is the key as it would stand in its
//             page's frame: RoPE turned back by frame_of() positions. Slow pairs then lie alike in all
//             pages, wherever in the text these are, and few coordinates hold most of a key. A query is
//             turned back as far, once for all pages of a frame
//   id        names these numbers, rope's too: bases of one id are alike. A backend with memory of its
//             own keeps a copy by it; 0, nobody's name: it copies them anew in every call
struct Basis {
  const float *to = nullptr, *from = nullptr;
  RopeTable rope = {};
  std::uint64_t id = 0;
  // A lane has one.
  friend bool operator==(const Basis& a, const Basis& b) {
    return a.to == b.to && a.from == b.from;
  }
};

// Frames begin at multiples of this. Chosen: 128 were a tenth better (KL of keys at 2 bits, SmolLM2) and
// ask for four times as many turns of the queries, 2,048 were half worse.
inline constexpr std::int32_t kFrameTokens = 512;

struct OperandLayout;

// The plain loops of a codec whose planes no backend knows by heart. One per operand; const and
// without state.
//   cost   a backend with memory of its own waits for its queued work, brings the rows or the page
//          over, runs the loops there and sends back what came of it, page by page
class OperandCode {
 public:
  virtual ~OperandCode() = default;
  virtual std::string_view name() const = 0;  // goes to disk: how a reader finds the loops again
  // x [n_tokens, head_dim] fp32 into the operand's planes of `page`, which are zero before.
  virtual void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
                      std::size_t head_dim, std::byte* page) const = 0;
  // Safe on any bytes.
  virtual void decode(const OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
                      std::size_t head_dim, float* x) const = 0;
};

// K or V of a page.
struct OperandLayout {
  std::array<Plane, kPlanesMax> planes = {};
  std::uint16_t n_planes = 0;
  Turn turn = Turn::none;
  Basis basis = {};    // where turn says so
  bool clips = false;  // affine: encoding may leave a group's rare values outside
  std::array<std::uint8_t, kQuadsMax> quad_bits = {};  // graded: 0 to 8, [head_dim / kQuad]
  const OperandCode* code = nullptr;  // null: exact16, affine or graded, which every backend knows

  std::span<const Plane> all() const { return std::span(planes).first(n_planes); }
  const Plane* find(PlaneKind kind) const;
  const Plane& at(PlaneKind kind) const;  // asserts that it is there
  bool is_exact() const { return code == nullptr && planes[0].kind == PlaneKind::exact16; }
  bool is_affine() const { return code == nullptr && planes[0].kind == PlaneKind::codes; }
  bool is_graded() const { return code == nullptr && planes[0].kind == PlaneKind::graded_codes; }
  std::size_t bytes() const;  // of all its planes
  friend bool operator==(const OperandLayout&, const OperandLayout&) = default;
};

struct PageLayout {
  std::uint16_t head_dim = 0;
  std::uint16_t capacity = 0;  // tokens
  std::uint32_t positions_at = 0;
  std::uint32_t log_counts_at = 0;  // 0: none
  OperandLayout k = {}, v = {};
  std::uint32_t bytes = 0;  // a multiple of 256

  friend bool operator==(const PageLayout&, const PageLayout&) = default;
};

// What an operand is to be; page_layout() finds the places.
struct OperandShape {
  enum class Form { exact16, affine, graded, coded } form = Form::exact16;
  std::size_t bits = 16, group = 0;  // affine: 2, 3, 4 or 8; K: tokens, V: channels
  bool symmetric = false;            // affine: no zeros
  bool clips = false;                // affine: see OperandLayout
  Turn turn = Turn::none;
  Basis basis = {};
  std::array<std::uint8_t, kQuadsMax> quad_bits = {};  // graded
  // coded: the loops and their planes; `at` is filled in, the other fields are the codec's.
  const OperandCode* code = nullptr;
  std::span<const Plane> planes = {};
};
struct PageShape {
  std::size_t head_dim = 0;
  std::size_t capacity = kPageTokens;
  bool has_log_counts = false;
  OperandShape k = {}, v = {};
};
// Fails with `unsupported` (PAGE_LAYOUT) where head_dim is not a multiple of 16 from 16 to kHeadDimMax,
// capacity is not 32, 64, 96 or 128, bits are not 2, 3, 4 or 8 (graded: more than 8 in a quad), a group
// does not divide its axis (K: the capacity, V: head_dim) or is not a multiple of 16, or V is graded or
// turned by a basis.
Result<PageLayout> page_layout(const PageShape& shape);

}  // namespace satchel::kernels
