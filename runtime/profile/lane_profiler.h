// LaneProfiler: makes a model's lane table (kvcache::LaneShares): reads a few texts, lets KVzip's
// second pass score them, notes what share of each text every lane would keep, and learns from the
// keys and their scores what a key is worth. Text by text, so that it can be done while nobody waits.
//   memory   a cache of one text at a time, in the arena that is given: exact K and V of
//            kProfileTokens, and what a second pass borrows. Outside of it, in main memory, what
//            KeyWorthFit holds from the first text to the last (kLearnBytesMax at most: a larger
//            model's keys are not learned), and the keys of one lane
//   cost     about two and a half readings of the texts
//   threads  as the Model's
//   source   ours; budgets after arXiv:2505.23416 (KVzip)
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "kvcache/cache.h"
#include "kvcache/lanes/lane_shares.h"
#include "runtime/engine_state.h"
#include "runtime/profile/key_worth_fit.h"

namespace satchel::runtime {

// Ordinary English texts of our own, compiled in: prose, notes, an explanation, code.
struct ProfileText {
  std::string_view name, text;
};
std::span<const ProfileText> profile_texts();

// Of each text, at most; chosen: what the shares were first measured at.
inline constexpr std::size_t kProfileTokens = 1300;
inline constexpr std::size_t kProfileTokensMin = 256;  // chosen: less is mostly protected

struct ProfileLength {
  std::size_t n_most = kProfileTokens, n_least = kProfileTokensMin;
};
// The first n_most tokens of a text. PARAM where it has fewer than n_least; those of the tokenizer.
Result<std::vector<std::int32_t>> profile_ids(const Tokenizer& tokenizer, const ProfileText& text,
                                              const ProfileLength& length);

// What was learned of keys is kept where it ranks those of a text that it was not learned from this
// nearly as KVzip does. Chosen; measured on 2026-11-22 on two models: a random order has 0, echo's band
// .27 and .60, echo .65 and .67, what is learned .64 and .72.
inline constexpr double kAgreementLeast = 0.4;
inline constexpr std::size_t kLearnBytesMax = std::size_t{256} << 20;  // chosen: 480 lanes of 128

// Rows of every table. Between them shares are nearly linear.
inline constexpr std::array kLaneKeeps = {0.05, 0.1, 0.25, 0.5, 0.75};

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
  // KeyWorth::agreement of the last text with what the others taught; below kAgreementLeast, or where
  // there was one text only, the table has no `worth`.
  double agreement() const { return agreement_; }

 private:
  Result<void> learn(kvcache::Cache& cache, const kvcache::LaneShares& shares,
                     const std::stop_token& stop);
  std::optional<kvcache::KeyWorth> worth() const;
  Result<std::vector<std::int32_t>> ids_of(const ProfileText& text) const;

  Engine::State& engine_;
  std::shared_ptr<kvcache::Arena> arena_;
  std::span<const ProfileText> texts_;
  std::vector<kvcache::LaneShares> of_texts_;
  std::vector<std::size_t> lanes_;  // that take part in decisions
  std::optional<KeyWorthFit> fit_;  // nothing: it would take too much memory
  double agreement_ = 0;
  // Of the text that is being learned from: a stop between two lanes must not count one twice.
  struct Learned {
    std::size_t n_lanes = 0;
    double agreement = 0, weight = 0;
  };
  Learned now_;
};

}  // namespace satchel::runtime
