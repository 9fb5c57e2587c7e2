#include "runtime/profile/lane_profiler.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/measure/packed_text.h"
#include "runtime/reading/repeat_script.h"

namespace satchel::runtime {
namespace {

// Rows of a table. Between them shares are nearly linear.
constexpr std::array kKeeps = {0.05, 0.1, 0.25, 0.5, 0.75};

const ProgressFn kSilent;

// Where memory is short a text is packed piece by piece: budgets of a piece would be no model's table.
Result<void> check_waits(const kvcache::Cache& cache, std::size_t n_tokens) {
  const std::span<const kvcache::TextSpan> spans = cache.spans();
  if (spans.size() == 1 && spans[0].n_tokens == n_tokens &&
      spans[0].state == kvcache::SpanState::pending)
    return {};
  return Error{ErrorKind::out_of_memory, "MEMORY",
               "The memory limit leaves no room for a text of " + std::to_string(n_tokens) +
                   " tokens at once. Raise the limit, or close chats."};
}

}  // namespace

LaneProfiler::LaneProfiler(Engine::State& engine, std::shared_ptr<kvcache::Arena> arena,
                           std::span<const ProfileText> texts)
    : engine_(engine), arena_(std::move(arena)), texts_(texts.empty() ? profile_texts() : texts) {}

Result<bool> LaneProfiler::step(const std::stop_token& stop) {
  if (of_texts_.size() == texts_.size()) return false;
  const ProfileText& text = texts_[of_texts_.size()];
  SATCHEL_TRY_ASSIGN(const std::vector<std::int32_t> ids, ids_of(text));
  SATCHEL_TRY_ASSIGN(const RepeatScript script, raw_script(*engine_.tokenizer));
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe kvzip, kvcache::Recipe::builtin("kvzip"));
  const ModelConfig& config = engine_.model->config();
  SATCHEL_TRY_ASSIGN(const std::unique_ptr<kvcache::Cache> cache,
                     kvcache::Cache::open({.backend = engine_.backend, .arena = arena_},
                                          config.cache_shape(), kvzip));
  const TextPass pass{
      .cache = *cache, .text = ids, .script = script, .stop = stop, .progress = kSilent};
  SATCHEL_TRY(read_text(*engine_.model, pass, {.end = ids.size()}));
  SATCHEL_TRY(check_waits(*cache, ids.size()));
  kvcache::CompactionReport none;
  while (cache->next_probe(kvcache::kProbeTokens))
    SATCHEL_TRY(pack_step(*engine_.model, pass, none));
  SATCHEL_TRY(check_waits(*cache, ids.size()));
  SATCHEL_TRY_ASSIGN(auto shares, cache->waiting_shares(kKeeps));
  kvcache::LaneShares& table = of_texts_.emplace_back();
  table.model = engine_.fingerprint;
  table.name = config.name;
  table.source = text.name;
  for (std::size_t i = 0; i < kKeeps.size(); ++i)
    table.rows.push_back({.keep = kKeeps[i], .shares = std::move(shares[i])});
  return of_texts_.size() < texts_.size();
}

// The second pass stands behind the text, inside the context.
Result<std::vector<std::int32_t>> LaneProfiler::ids_of(const ProfileText& text) const {
  SATCHEL_TRY_ASSIGN(std::vector<std::int32_t> ids, raw_ids(*engine_.tokenizer, text.text));
  const std::size_t context = engine_.model->config().context;
  const std::size_t behind = kvcache::kProbeTokens + kvcache::kProbeScript;
  const std::size_t room = context - std::min(context / 2, behind);
  ids.resize(std::min({ids.size(), kProfileTokens, room}));
  if (ids.size() >= kProfileTokensMin) return ids;
  return Error{ErrorKind::invalid, "PARAM",
               "The text \"" + std::string(text.name) + "\" has " + std::to_string(ids.size()) +
                   " tokens; lanes are found with " + std::to_string(kProfileTokensMin) +
                   " or more."};
}

double LaneProfiler::done() const {
  return static_cast<double>(of_texts_.size()) / static_cast<double>(texts_.size());
}

kvcache::LaneShares LaneProfiler::table() const {
  SATCHEL_ASSERT(of_texts_.size() == texts_.size());
  kvcache::LaneShares mean = of_texts_.front();
  mean.source = "kvzip over";
  for (const kvcache::LaneShares& text : of_texts_) mean.source += " " + text.source;
  for (std::size_t r = 0; r < mean.rows.size(); ++r)
    for (std::size_t i = 0; i < mean.n_lanes(); ++i) {
      double sum = 0;
      for (const kvcache::LaneShares& text : of_texts_) sum += text.rows[r].shares[i];
      mean.rows[r].shares[i] = sum / static_cast<double>(of_texts_.size());
    }
  return mean;
}

}  // namespace satchel::runtime
