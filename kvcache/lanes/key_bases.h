// KeyBases: coordinates for the keys of each lane of a model, in which few of them carry nearly all that
// queries ask for, so that a codec can give bits where they matter (codecs/klt.cpp).
//   made    once for a model, from second moments over a few texts: with S the mean of q·qᵀ over the
//           lane's query heads and C the covariance of keys within pages of 128 tokens, both in the
//           page's frame (kernels::Basis), the error of a logit is eᵀ·S·e; U are the eigenvectors of
//           S^½·C·S^½, largest first; to = S^½·U, from = S^-½·U, scaled so that the largest coordinate
//           deviates by 8
//   lanes   all of the cache, in its order, those of layers with a window too
//   file    little endian: "SATCHELK", u32 version 3, u32 lanes, three texts (model, name, source: u32
//           length, bytes), per lane u32 head_dim and `to` as fp16, row by row; xxh3-128 of all before.
//           `from` is not in it: it is the inverse transpose of the rounded `to`. Versions 1 and 2
//           began with "SATCHELB", as blocks of a saved cache do
//   errors  corrupt, KEY_BASES: names the file, the offset where it is damaged, and what to do
//   source  ours; the Karhunen-Loève transform of keys as queries weigh them. arXiv:2511.01815 (KVTC)
//           takes principal components of the keys alone, for storage
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

// Of a file; chosen: 2,000 lanes of keys of 128 values.
inline constexpr std::size_t kKeyBasesBytesMax = std::size_t{64} << 20;
inline constexpr std::size_t kKeyBasesTextMax = 4096;    // bytes of a text in it; chosen
inline constexpr std::size_t kKeyBasesLanesMax = 65536;  // chosen: all of 16 values in a file
// Largest entry of `to` times largest of `from`; chosen: beyond, products in fp32 are no longer those of
// the keys to three digits. Fitted ones are below 2e3 (their S has a ridge).
inline constexpr double kKeyBasesConditionMost = 1e4;

// What coordinates mean beside their matrices. Whoever changes how keys are taken into them, and not
// the file, raises the version all the same: files of before are then made again, chats read again.
inline constexpr std::uint32_t kKeyBasesVersion = 3;  // 1: after RoPE, not in frames
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
  std::string name;    // the model's, for people
  std::string source;  // from what they were made, for people
  std::vector<Lane> lanes;
  std::uint64_t id = 0;  // key_bases_id(): pages made with others cannot be read

  // Whole, of texts and lanes with `head_dim` and `to`: `to` is rounded to fp16, `from` and `id` follow
  // from it.
  static Result<KeyBases> make(KeyBases of);
  // Safe on any bytes.
  static Result<KeyBases> parse(std::string_view bytes, std::string_view called);
  // needs   those that make() or parse() gave
  std::string bytes() const;
};

// Hash of the form and the matrices, `to` alone.
std::uint64_t key_bases_id(std::span<const KeyBases::Lane> lanes, const KeyBasesForm& form = {});

}  // namespace satchel::kvcache
