#include "kernels/cuda/scoring/scoring.h"

#include <algorithm>

#include "kernels/cuda/device/workspace_layout.h"

namespace satchel::kernels::cuda {
namespace {

// Chosen: blocks that a lane should be, so that eight of them fill a card.
constexpr std::size_t kBlocksOfLane = 64;

}  // namespace

void Scoring::clear() {
  lanes_.clear();
  scores_.clear();
  prompts_.clear();
  halves_.clear();
  pages_.clear();
  of_prompts_.clear();
  prompt_shape_ = {};
}

void Scoring::add(const ScoreArgs& args, std::size_t head_dim) {
  args.check();
  const std::size_t n = args.lane.batch.n_tokens, first_source = lanes_.sources().size();
  if (n == 0) return;
  lanes_.add(args.lane.keys.runs, args.lane.keys.pages, args.lane.rope);
  const ScoreItem item{.rows = lane_rows(args.lane),
                       .lse = args.lse,
                       .weights = args.weights,
                       .scores = args.scores,
                       .n_beside = args.n_beside,
                       .is_sum = args.queries == ScoreArgs::Queries::sum,
                       .mean_of_heads = args.heads == ScoreArgs::Heads::mean,
                       .counts_below_mean = args.of == ScoreArgs::Of::below_mean,
                       .n_sets = static_cast<unsigned>((n + kQueriesOfSet - 1) / kQueriesOfSet)};
  const auto sources = lanes_.sources().subspan(first_source);
  const bool are_halves = std::ranges::all_of(
      sources, [](const TokenSource& source) { return source.k_form == RowForm::halves; });
  if (are_halves && takes_prompt_scores(item)) return add_prompt(item, first_source);
  add_tiles(first_source, static_cast<unsigned>(scores_.size()), tile_keys_of_score(head_dim));
  scores_.push_back(item);
}

// Its splits depend on the lane and its queries only.
void Scoring::add_prompt(const ScoreItem& item, std::size_t first_source) {
  const LaneRows& rows = item.rows;
  unsigned slot = 0;
  const std::size_t n_before = of_prompts_.size();
  for (std::size_t s = first_source; s < lanes_.sources().size(); ++s) {
    const unsigned n_tokens = lanes_.sources()[s].n_tokens;
    for (unsigned first = 0; first < n_tokens; first += kKeysOfPromptBlock)
      of_prompts_.push_back({.item = static_cast<unsigned>(prompts_.size()),
                             .source = static_cast<unsigned>(s),
                             .first = first,
                             .slot = slot + first});
    slot += n_tokens;
  }
  const std::size_t n_tiles = of_prompts_.size() - n_before;
  if (n_tiles == 0) return;
  const unsigned n_stages = blocks_of(rows.n_tokens, kQueriesOfStage);
  const auto n_splits = static_cast<unsigned>(
      std::clamp<std::size_t>(kBlocksOfLane / (n_tiles * rows.n_group), 1, n_stages));
  prompts_.push_back({.score = item,
                      .n_queries = n_stages * kQueriesOfStage,
                      .n_splits = n_splits,
                      .n_slots = slot});
  PromptScoreShape& shape = prompt_shape_;
  shape.n_items = prompts_.size();
  shape.n_tiles = of_prompts_.size();
  shape.n_queries_max = std::max<std::size_t>(shape.n_queries_max, prompts_.back().n_queries);
  shape.n_group_max = std::max<std::size_t>(shape.n_group_max, rows.n_group);
  shape.n_splits_max = std::max<std::size_t>(shape.n_splits_max, n_splits);
  shape.n_slots_max = std::max<std::size_t>(shape.n_slots_max, slot);
}

void Scoring::add_tiles(std::size_t first_source, unsigned item, unsigned n_keys) {
  unsigned slot = 0;
  for (std::size_t s = first_source; s < lanes_.sources().size(); ++s) {
    const TokenSource& source = lanes_.sources()[s];
    std::vector<KeyTile>& tiles = source.k_form == RowForm::halves ? halves_ : pages_;
    for (unsigned first = 0; first < source.n_tokens; first += n_keys)
      tiles.push_back(
          {.item = item, .source = static_cast<unsigned>(s), .first = first, .slot = slot + first});
    slot += source.n_tokens;
  }
}

// Sets the items' arrays; returns their bytes.
std::size_t Scoring::place(std::byte* at) {
  WorkspaceLayout places(at);
  for (ScoreItem& item : scores_) {
    const std::size_t n_sets = std::size_t{item.rows.n_group} * item.n_sets;
    item.fragments = places.take<QueryFragment>(n_sets * steps_of(item.rows.head_dim) * kWarp);
    item.columns = places.take<QueryColumn>(n_sets * kQueriesOfSet);
  }
  for (PromptScoreItem& item : prompts_) {
    const std::size_t n_group = item.score.rows.n_group, n = n_group * item.n_queries;
    item.n_words = prompt_query_words(prompt_shape_.head_dim);
    item.queries = places.take<std::uint32_t>(n * item.n_words);
    item.columns = places.take<QueryColumn>(n);
    item.parts = places.take<float>(n_group * item.n_splits * item.n_slots);
  }
  return places.n_bytes();
}

Result<void> Scoring::score(const OpContext& at, std::span<const ScoreArgs> items) {
  clear();
  std::size_t head_dim = 0, n_sets_max = 0, n_group_max = 0;
  for (const ScoreArgs& args : items) head_dim = std::max(head_dim, args.lane.head_dim);
  prompt_shape_.head_dim = head_dim;
  for (const ScoreArgs& args : items) add(args, head_dim);
  if (halves_.empty() && pages_.empty() && of_prompts_.empty()) return {};
  for (const ScoreItem& item : scores_) {
    n_sets_max = std::max<std::size_t>(n_sets_max, item.n_sets);
    n_group_max = std::max<std::size_t>(n_group_max, item.rows.n_group);
  }
  SATCHEL_TRY(lanes_.decode(at, false));
  SATCHEL_TRY_ASSIGN(float* const rotations,
                     take_workspace(at, lanes_, [&](std::byte* to) { return place(to); }));
  SATCHEL_TRY_ASSIGN(
      const auto there,
      at.arguments.put(std::span<const ScoreItem>(scores_), std::span<const KeyTile>(halves_),
                       std::span<const KeyTile>(pages_), std::span<const PromptScoreItem>(prompts_),
                       std::span<const KeyTile>(of_prompts_), lanes_.sources(), lanes_.plans(),
                       lanes_.shifts(), lanes_.frequencies()));
  const auto [score_items, halves, pages, prompts, of_prompts, sources, plans, shifts,
              frequencies] = there;
  SATCHEL_TRY(make_rotations(at, lanes_, shifts, frequencies, rotations));
  const PromptScoreCall of_all{
      .items = prompts, .tiles = of_prompts, .sources = sources, .plans = plans};
  SATCHEL_TRY(at.check(score_prompts(at.queue(), of_all, prompt_shape_)));
  SATCHEL_TRY(at.check(
      make_query_columns(at.queue(), score_items, scores_.size(), n_sets_max, n_group_max)));
  ScoreCall call{.items = score_items,
                 .tiles = halves,
                 .sources = sources,
                 .plans = plans,
                 .rotations = rotations};
  SATCHEL_TRY(at.check(score_tiles(at.queue(), call, halves_.size(), head_dim, true)));
  call.tiles = pages;
  return at.check(score_tiles(at.queue(), call, pages_.size(), head_dim, false));
}

Result<void> Scoring::logsumexp(const OpContext& at, std::span<const LogSumExpArgs> items) {
  lanes_.clear();
  rows_.clear();
  for (const LogSumExpArgs& args : items) {
    if (args.lane.batch.n_tokens == 0) continue;
    const std::size_t first_source = lanes_.sources().size();
    lanes_.add(args.lane.keys.runs, args.lane.keys.pages, args.lane.rope);
    rows_.add({.rows = lane_rows(args.lane), .lse = args.lse}, lanes_, first_source);
  }
  return rows_.run(at, lanes_);
}

}  // namespace satchel::kernels::cuda
