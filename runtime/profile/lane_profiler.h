// LaneProfiler: measures a model's head-budget profile (kvcache::HeadBudgets). It prefills a few
// texts, scores them with KVzip's second pass, records the share of each text that every lane would
// keep, and learns the importance of keys. It works text by text, so that it can run while idle.
//   memory   in the arena: the cache of one text at a time, exact K and V of kProfileTokens, plus
//            the second pass. In main memory: the keys of one lane, and KeyImportanceFit for the
//            whole run (at most kLearnBytesMax; a larger model's keys are not learned).
//   cost     about two and a half prefills of the texts
//   threads  as the Model
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

#include "kvcache/cache/cache.h"
#include "kvcache/profile/head_budgets.h"
#include "runtime/model/model.h"
#include "runtime/profile/key_importance_fit.h"
#include "runtime/tokenizer/tokenizer.h"

namespace satchel::runtime {

// Our own English texts, compiled in: prose, notes, an explanation, code.
struct ProfileText {
  std::string_view name, text;
};
std::span<const ProfileText> profile_texts();

// Limit per text; chosen: the length of the first measurements.
inline constexpr std::size_t kProfileTokens = 1300;
inline constexpr std::size_t kProfileTokensMin = 256;  // chosen: less is mostly protected

struct ProfileLength {
  std::size_t n_most = kProfileTokens, n_least = kProfileTokensMin;
};
// The first n_most tokens of a text. Errors: PARAM if it has fewer than n_least; the tokenizer's.
Result<std::vector<std::int32_t>> profile_ids(const Tokenizer& tokenizer, const ProfileText& text,
                                              const ProfileLength& length);

// Learned weights are used only if they rank the keys of a held-out text at least this similarly to
// KVzip. Chosen; measured on 2026-11-22 on two models: random order 0, echo's band .27 and .60,
// echo .65 and .67, learned weights .64 and .72.
inline constexpr double kAgreementLeast = 0.4;
inline constexpr std::size_t kLearnBytesMax = std::size_t{256} << 20;  // chosen: 480 lanes of 128

// The rows of every profile. Shares are nearly linear between them.
inline constexpr std::array kLaneKeeps = {0.05, 0.1, 0.25, 0.5, 0.75};

// Whose table it is. Model and tokenizer outlive the profiler.
struct ProfiledModel {
  Model& model;
  const Tokenizer& tokenizer;
  std::shared_ptr<kernels::Backend> backend;
  std::string fingerprint;
};

class LaneProfiler {
 public:
  // `texts` live as long as this; empty: profile_texts().
  LaneProfiler(ProfiledModel of, std::shared_ptr<kvcache::Arena> arena,
               std::span<const ProfileText> texts = {});

  // Processes one text; holds no memory between calls. False: the profile is complete. Errors:
  // cancelled/STOPPED (the next call restarts the text), MEMORY or CACHE_FULL (a text does not
  // fit), PARAM (a text is too short), and those of model and cache.
  Result<bool> step(const std::stop_token& stop);
  double done() const;  // progress, 0 to 1

  // needs   step() has returned false
  kvcache::HeadBudgets table() const;
  // The profile of each text by itself, with the rows of table().
  std::span<const kvcache::HeadBudgets> of_texts() const { return of_texts_; }
  // KeyImportance::agreement for the last text. The profile has no `worth` if this is below
  // kAgreementLeast, or if there was only one text.
  double agreement() const { return agreement_; }

 private:
  Result<void> learn(kvcache::Cache& cache, const kvcache::HeadBudgets& budgets,
                     const std::stop_token& stop);
  std::optional<kvcache::KeyImportance> importance() const;
  Result<std::vector<std::int32_t>> ids_of(const ProfileText& text) const;

  ProfiledModel of_;
  std::shared_ptr<kvcache::Arena> arena_;
  std::span<const ProfileText> texts_;
  std::vector<kvcache::HeadBudgets> of_texts_;
  std::vector<std::size_t> lanes_;       // that take part in decisions
  std::optional<KeyImportanceFit> fit_;  // nothing if it would need too much memory
  double agreement_ = 0;
  // Progress in the present text, so that a stop between two lanes does not count one twice.
  struct Learned {
    std::size_t n_lanes = 0;
    double agreement = 0, weight = 0;
  };
  Learned now_;
};

}  // namespace satchel::runtime
