#include "runtime/profile/lane_profiler.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/prefill/repeat_script.h"
#include "runtime/profile/correlation.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kJudged = 2;  // row at whose shares lanes count in KeyImportance::agreement

const ProgressFn kSilent;

// Where memory is short a text is packed piece by piece: budgets of a piece would be no model's
// table.
Result<void> check_waits(const kvcache::Cache& cache, std::size_t n_tokens) {
  const std::span<const kvcache::TextSegment> segments = cache.segments();
  if (segments.size() == 1 && segments[0].n_tokens == n_tokens &&
      segments[0].state == kvcache::SegmentState::pending)
    return {};
  return Error{ErrorKind::out_of_memory, "MEMORY",
               "The memory limit is too small for a text of " + std::to_string(n_tokens) +
                   " tokens at once. Raise the limit or close chats."};
}

}  // namespace

Result<std::vector<std::int32_t>> profile_ids(const Tokenizer& tokenizer, const ProfileText& text,
                                              const ProfileLength& length) {
  SATCHEL_TRY_ASSIGN(std::vector<std::int32_t> ids, raw_ids(tokenizer, text.text));
  ids.resize(std::min(ids.size(), length.n_most));
  if (ids.size() >= length.n_least) return ids;
  return Error{ErrorKind::invalid, "PARAM",
               "The text \"" + std::string(text.name) + "\" has " + std::to_string(ids.size()) +
                   " tokens; head budgets need at least " + std::to_string(length.n_least) + "."};
}

LaneProfiler::LaneProfiler(ProfiledModel of, std::shared_ptr<kvcache::Arena> arena,
                           std::span<const ProfileText> texts)
    : of_(std::move(of)),
      arena_(std::move(arena)),
      texts_(texts.empty() ? profile_texts() : texts),
      lanes_(of_.model.config().cache_shape().deciding_lanes()) {
  const std::vector<std::size_t> head_dims = of_.model.config().cache_shape().deciding_head_dims();
  if (KeyImportanceFit::bytes(head_dims) <= kLearnBytesMax) fit_.emplace(head_dims);
}

Result<bool> LaneProfiler::step(const std::stop_token& stop) {
  if (of_texts_.size() == texts_.size()) return false;
  const ProfileText& text = texts_[of_texts_.size()];
  SATCHEL_TRY_ASSIGN(const std::vector<std::int32_t> ids, ids_of(text));
  SATCHEL_TRY_ASSIGN(const RepeatScript script, raw_script(of_.tokenizer));
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe kvzip, kvcache::Recipe::builtin("kvzip"));
  const ModelConfig& config = of_.model.config();
  SATCHEL_TRY_ASSIGN(const std::unique_ptr<kvcache::Cache> cache,
                     kvcache::Cache::open(arena_, config.cache_shape(), kvzip));
  const TextPass pass{
      .cache = *cache, .text = ids, .script = script, .stop = stop, .progress = kSilent};
  SATCHEL_TRY(prefill_text(of_.model, pass, {.end = ids.size()}));
  SATCHEL_TRY(check_waits(*cache, ids.size()));
  kvcache::CompactionReport none;
  while (cache->next_probe(kvcache::kProbeTokens)) SATCHEL_TRY(pack_step(of_.model, pass, none));
  SATCHEL_TRY(check_waits(*cache, ids.size()));
  SATCHEL_TRY_ASSIGN(auto shares, cache->inspector().pending_shares(kLaneKeeps));
  kvcache::HeadBudgets table;
  table.model = of_.fingerprint;
  table.name = config.name;
  table.source = text.name;
  for (std::size_t i = 0; i < kLaneKeeps.size(); ++i)
    table.rows.push_back({.keep = kLaneKeeps[i], .shares = std::move(shares[i])});
  if (fit_) SATCHEL_TRY(learn(*cache, table, stop));
  of_texts_.push_back(std::move(table));
  return of_texts_.size() < texts_.size();
}

// First tokens stay in any case, and their keys are like no others: nothing is learned from them.
Result<void> LaneProfiler::learn(kvcache::Cache& cache, const kvcache::HeadBudgets& budgets,
                                 const std::stop_token& stop) {
  const bool is_judged = !of_texts_.empty() && of_texts_.size() + 1 == texts_.size();
  for (std::size_t& i = now_.n_lanes; i < lanes_.size(); ++i) {
    if (stop.stop_requested()) return Error{ErrorKind::cancelled, "STOPPED", "Stopped."};
    SATCHEL_TRY_ASSIGN(const std::vector<float> keys, cache.inspector().pending_keys(lanes_[i]));
    SATCHEL_TRY_ASSIGN(const std::vector<float> scores,
                       cache.inspector().pending_scores(lanes_[i]));
    const std::size_t head_dim = keys.size() / scores.size();
    const auto seen = std::span(scores).subspan(kvcache::kSinkTokens);
    const auto of = std::span(keys).subspan(kvcache::kSinkTokens * head_dim);
    const double share = budgets.rows[kJudged].shares[i], choice = share * (1 - share);
    if (is_judged)
      now_.agreement += choice * rank_correlation(log_importance(fit_->solve(i), of), seen);
    now_.weight += choice;
    fit_->add(i, of, seen);
  }
  agreement_ = now_.weight > 0 ? now_.agreement / now_.weight : 0;
  now_ = {};
  return {};
}

// The second pass stands behind the text, inside the context.
Result<std::vector<std::int32_t>> LaneProfiler::ids_of(const ProfileText& text) const {
  const std::size_t context = of_.model.config().context;
  const std::size_t behind = kvcache::kProbeTokens + kvcache::kProbeScript;
  const std::size_t n_left = context - std::min(context / 2, behind);
  return profile_ids(of_.tokenizer, text, {.n_most = std::min(kProfileTokens, n_left)});
}

double LaneProfiler::done() const {
  return static_cast<double>(of_texts_.size()) / static_cast<double>(texts_.size());
}

kvcache::HeadBudgets LaneProfiler::table() const {
  SATCHEL_ASSERT(of_texts_.size() == texts_.size());
  kvcache::HeadBudgets mean = of_texts_.front();
  mean.source = "kvzip over";
  for (const kvcache::HeadBudgets& text : of_texts_) mean.source += " " + text.source;
  for (std::size_t r = 0; r < mean.rows.size(); ++r)
    for (std::size_t i = 0; i < mean.n_lanes(); ++i) {
      double sum = 0;
      for (const kvcache::HeadBudgets& text : of_texts_) sum += text.rows[r].shares[i];
      mean.rows[r].shares[i] = sum / static_cast<double>(of_texts_.size());
    }
  mean.importance = importance();
  return mean;
}

std::optional<kvcache::KeyImportance> LaneProfiler::importance() const {
  if (!fit_ || agreement_ < kAgreementLeast) return std::nullopt;
  kvcache::KeyImportance importance{.agreement = agreement_, .lanes = {}};
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const std::vector<float>& lane = importance.lanes.emplace_back(fit_->solve(i));
    const auto is_usable = [](float weight) { return std::abs(weight) <= kvcache::kKeyWeightMost; };
    if (!std::ranges::all_of(lane, is_usable)) return std::nullopt;
  }
  return importance;
}

}  // namespace satchel::runtime
