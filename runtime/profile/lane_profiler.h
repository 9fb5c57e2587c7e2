// LaneProfiler: makes a model's lane table (kvcache::LaneShares): reads a few texts, lets KVzip's
// second pass score them, and notes what share of each text every lane would keep. Text by text, so
// that it can be done while nobody waits.
//   memory   a cache of one text at a time, in the arena that is given: exact K and V of
//            kProfileTokens, and what a second pass borrows
//   cost     about two and a half readings of the texts
//   threads  as the Model's
//   source   ours; budgets after arXiv:2505.23416 (KVzip)
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "kvcache/cache.h"
#include "kvcache/lanes/lane_shares.h"
#include "runtime/engine_state.h"

namespace satchel::runtime {

// Ordinary English texts of our own, compiled in: prose, notes, an explanation, code.
struct ProfileText {
  std::string_view name, text;
};
std::span<const ProfileText> profile_texts();

// Of each text, at most; chosen: what the shares were first measured at.
inline constexpr std::size_t kProfileTokens = 1300;
inline constexpr std::size_t kProfileTokensMin = 256;  // chosen: less is mostly protected

class LaneProfiler {
 public:
  // `texts` live as long as this; empty: profile_texts().
  LaneProfiler(Engine::State& engine, std::shared_ptr<kvcache::Arena> arena,
               std::span<const ProfileText> texts = {});

  // One text; between calls no memory is held. False: the table is whole. Fails with
  // cancelled/STOPPED (the next call begins that text anew), MEMORY or CACHE_FULL (no room for a
  // text at once), PARAM (a text too short), and what model and cache say.
  Result<bool> step(const std::stop_token& stop);
  double done() const;  // of all the work, 0 to 1

  // needs   step() has given false
  kvcache::LaneShares table() const;
  // The shares of each text by itself, as rows of table().
  std::span<const kvcache::LaneShares> of_texts() const { return of_texts_; }

 private:
  Result<std::vector<std::int32_t>> ids_of(const ProfileText& text) const;

  Engine::State& engine_;
  std::shared_ptr<kvcache::Arena> arena_;
  std::span<const ProfileText> texts_;
  std::vector<kvcache::LaneShares> of_texts_;
};

}  // namespace satchel::runtime
