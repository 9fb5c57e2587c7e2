// KeyBases: a coordinate system for the keys of each lane of a model. A few coordinates carry
// nearly everything that queries look for, so a codec can spend its bits there (codecs/klt.cpp).
// On request also one for values, the value bases (codec cskv).
//   made    once per model, from second moments over a few texts. S is the mean of q·qᵀ over the
//           lane's query heads, C the covariance of keys within pages of 128 tokens; both in the
//           page's frame (kernels::Basis). The error of a logit is eᵀ·S·e. U are the eigenvectors
//           of S^½·C·S^½, largest first; to = S^½·U and from = S^-½·U, scaled to a standard
//           deviation of 8 in the largest coordinate.
//   values  orthogonal: the principal components of values about the mean of their page, largest
//           first
//   lanes   all lanes of the cache, in its order, including layers with a window
//   file    little endian: "SATCHELK", u32 version 3, u32 lanes, three texts (model, name, source:
//           u32 length, bytes), per lane u32 head_dim and `to` as fp16, row-major; xxh3-128 of all
//           before. `from` is not stored: it is the inverse transpose of rounded `to`. Version 4
//           has `values` as fp16 behind each `to`; a file without values is version 3. Versions 1
//           and 2 began with "SATCHELB", as records of a saved cache do.
//   errors  corrupt, KEY_BASES: names the file, the offset of the damage, and what to do
//   source  ours; the Karhunen-Loève transform of keys, weighted by queries. arXiv:2511.01815
//           (KVTC) uses principal components of the keys alone, for storage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"
#include "kernels/contract/page_layout.h"

namespace satchel::kvcache {

// Limit of a file; chosen: 2,000 lanes of keys of 128 values.
inline constexpr std::size_t kKeyBasesBytesMax = std::size_t{64} << 20;
inline constexpr std::size_t kKeyBasesTextMax = 4096;    // bytes of each text; chosen
inline constexpr std::size_t kKeyBasesLanesMax = 65536;  // chosen: all of 16 values in a file
// Limit of (largest entry of `to`) · (largest entry of `from`). Chosen: above it, fp32 products
// match those of the keys to less than three digits. Fitted bases are below 2e3 (their S has a
// ridge).
inline constexpr double kKeyBasesConditionMost = 1e4;

// The meaning of coordinates besides their matrices. Raise the version when the conversion of keys
// changes, even if the file format does not: older files and saved caches are then rebuilt.
inline constexpr std::uint32_t kKeyBasesVersion = 3;     // 1: after RoPE, not in frames
inline constexpr std::uint32_t kKeyBasesWithValues = 4;  // of a file that has values, too
// The largest entry of valuesᵀ · values - 1; chosen: rounding to fp16 leaves a thousandth.
inline constexpr double kValueBasesOffMost = 0.01;
struct KeyBasesForm {
  std::uint32_t version = kKeyBasesVersion;
  std::int32_t frame_tokens = kernels::kFrameTokens;
};

struct KeyBases {
  struct Lane {
    std::size_t head_dim = 0;
    std::vector<float> to, from;  // kernels::Basis
    kernels::Basis view() const { return {.to = to.data(), .from = from.data()}; }
  };
  std::string model;   // fingerprint of its file
  std::string name;    // the model's name, for people
  std::string source;  // the texts they were made from, for people
  std::vector<Lane> lanes;
  std::uint64_t id = 0;  // key_bases_id(); pages made with another id cannot be decoded
  // Of all lanes [head_dim, head_dim], row-major, or none.
  std::vector<std::vector<float>> values = {};
  std::uint64_t values_id = 0;  // a hash of them, likewise; 0: none

  // What page layouts of values point to.
  kernels::Basis view_of_values(std::size_t lane) const {
    return {.to = values[lane].data(), .from = values[lane].data()};
  }
  // Completes bases whose texts and lanes have `head_dim` and `to`, and `values` where wanted:
  // rounds matrices to fp16 and computes `from` and the ids.
  static Result<KeyBases> make(KeyBases of);
  // Safe for arbitrary bytes.
  static Result<KeyBases> parse(std::string_view bytes, std::string_view called);
  // needs   bases from make() or parse()
  std::string bytes() const;
};

// Hash of the form and the `to` matrices.
std::uint64_t key_bases_id(std::span<const KeyBases::Lane> lanes, const KeyBasesForm& form = {});

}  // namespace satchel::kvcache
