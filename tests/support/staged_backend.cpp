#include "support/staged_backend.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/contract/host_lane_table.h"
#include "kernels/reference/host_memory.h"
#include "support/stage.h"

namespace satchel::test {
namespace {

using namespace kernels;

// A lane's lists, which views lend.
struct LaneLists {
  std::vector<ExactRun> runs;
  std::vector<PageView> pages;
};

// Lanes as they were set: copies, as a card's table has, so that one that was not set again after
// its extents moved is found out. What they point to goes there with the call that reads it, which
// knows head_dim.
class StagedLaneTable final : public LaneTable {
 public:
  explicit StagedLaneTable(std::size_t n_lanes) : lanes_(n_lanes), views_(n_lanes) {}
  std::size_t n_lanes() const override { return lanes_.size(); }
  Result<void> set_runs(std::size_t lane, std::span<const ExactRun> runs) override {
    lanes_.at(lane).runs.assign(runs.begin(), runs.end());
    return views_.set_runs(lane, lanes_.at(lane).runs);
  }
  Result<void> set_pages(std::size_t lane, std::span<const PageView> pages) override {
    lanes_.at(lane).pages.assign(pages.begin(), pages.end());
    return views_.set_pages(lane, lanes_.at(lane).pages);
  }
  const LaneView& lane(std::size_t lane) const { return views_.lane(lane); }

 private:
  std::vector<LaneLists> lanes_;
  HostLaneTable views_;
};

// A view there, with what it points to.
Result<LaneLists> stage_lane(Stage& stage, const LaneView& view, std::size_t head_dim) {
  LaneLists there{{view.runs.begin(), view.runs.end()}, {view.pages.begin(), view.pages.end()}};
  for (ExactRun& run : there.runs) {
    SATCHEL_TRY_ASSIGN(run.k, stage.in(run.k, run.n_tokens * head_dim));
    SATCHEL_TRY_ASSIGN(run.v, stage.in(run.v, run.n_tokens * head_dim));
    SATCHEL_TRY_ASSIGN(run.positions, stage.in(run.positions, run.n_tokens));
  }
  for (PageView& page : there.pages) {
    SATCHEL_TRY_ASSIGN(page.bytes, stage.in(page.bytes, page.layout->bytes));
  }
  return there;
}

// A lane's queries there, and what its view points to.
struct StagedQueries {
  LaneLists keys;

  Result<void> stage(Stage& stage, LaneQueries& lane) {
    const std::size_t d = lane.head_dim, n = lane.batch.n_tokens;
    SATCHEL_TRY_ASSIGN(keys, stage_lane(stage, lane.keys, d));
    lane.keys = {.runs = keys.runs, .pages = keys.pages};
    SATCHEL_TRY_ASSIGN(lane.q, stage.in(lane.q, n * lane.n_heads * d));
    SATCHEL_TRY_ASSIGN(lane.batch.positions, stage.in(lane.batch.positions, n));
    return {};
  }
};
// Counted as scores are.
std::size_t n_slots(const LaneView& lane) {
  std::size_t n = 0;
  for (const ExactRun& run : lane.runs) n += run.n_tokens;
  for (const PageView& page : lane.pages) n += page.n_tokens;
  return n;
}

class StagedBackend final : public Backend {
 public:
  explicit StagedBackend(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}

  std::string_view name() const override { return inner_->name(); }
  std::string device() const override { return inner_->device(); }
  WorkLimits work_limits() const override { return inner_->work_limits(); }
  std::size_t scratch_bytes() const override { return inner_->scratch_bytes(); }
  AvailableMemory available_memory() const override { return inner_->available_memory(); }
  std::size_t head_dim_max() const override { return inner_->head_dim_max(); }
  bool takes_latent_lanes() const override { return inner_->takes_latent_lanes(); }
  bool steps_are_exact() const override { return inner_->steps_are_exact(); }

  Result<Buffer> allocate(std::size_t bytes) override { return reference::allocate_host(bytes); }
  Result<void> upload(std::byte* to, std::span<const std::byte> from) override {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
    return {};
  }
  Result<void> download(std::span<std::byte> to, const std::byte* from) override {
    return upload(to.data(), {from, to.size()});
  }
  Result<void> copy(std::byte* to, const std::byte* from, std::size_t bytes) override;
  Result<NumericWarnings> finish() override { return inner_->finish(); }
  Result<std::unique_ptr<Weight>> load_weight(const WeightSource& source) override {
    return inner_->load_weight(source);
  }

  Result<void> embed(const Weight& table, std::span<const std::int32_t> ids, float* out) override {
    Stage stage(*inner_);
    SATCHEL_TRY_ASSIGN(float* to, stage.both(out, ids.size() * table.n_in()));
    SATCHEL_TRY(inner_->embed(table, ids, to));
    return stage.back();
  }
  Result<void> rms_norm(const float* x, const float* gain, std::size_t n_tokens, std::size_t width,
                        float epsilon, float* out) override {
    Stage stage(*inner_);
    SATCHEL_TRY_ASSIGN(float* to, stage.both(out, n_tokens * width));
    SATCHEL_TRY_ASSIGN(const float* from, stage.in(x, n_tokens * width));
    SATCHEL_TRY_ASSIGN(const float* row, stage.in(gain, width));
    SATCHEL_TRY(inner_->rms_norm(out == x ? to : from, row, n_tokens, width, epsilon, to));
    return stage.back();
  }
  Result<void> make_rotation(const Batch& batch, const RopeTable& table, float* rotation) override {
    Stage stage(*inner_);
    Batch there = batch;
    SATCHEL_TRY_ASSIGN(there.positions, stage.in(batch.positions, batch.n_tokens));
    SATCHEL_TRY_ASSIGN(float* to,
                       stage.both(rotation, batch.n_tokens * 2 * table.inverse_frequency.size()));
    SATCHEL_TRY(inner_->make_rotation(there, table, to));
    return stage.back();
  }
  Result<void> rope(const RopeArgs& args) override {
    Stage stage(*inner_);
    RopeArgs there = args;
    const std::size_t n = args.n_tokens * args.head_dim;
    SATCHEL_TRY_ASSIGN(there.q, stage.both(args.q, n * args.n_heads));
    SATCHEL_TRY_ASSIGN(there.k, stage.both(args.k, n * args.n_kv_heads));
    SATCHEL_TRY_ASSIGN(there.rotation, stage.in(args.rotation, args.n_tokens * args.n_rotated));
    SATCHEL_TRY(inner_->rope(there));
    return stage.back();
  }
  Result<void> matmul(const Weight& weight, const float* x, std::size_t n_tokens,
                      float* out) override {
    Stage stage(*inner_);
    SATCHEL_TRY_ASSIGN(const float* from, stage.in(x, n_tokens * weight.n_in()));
    SATCHEL_TRY_ASSIGN(float* to, stage.both(out, n_tokens * weight.n_out()));
    SATCHEL_TRY(inner_->matmul(weight, from, n_tokens, to));
    return stage.back();
  }
  Result<void> project(const float* x, std::size_t n_tokens,
                       std::span<const Projection> projections) override;
  Result<void> norm_project(const float* x, const float* gain, std::size_t n_tokens, float epsilon,
                            float* normed, std::span<const Projection> projections) override;
  Result<void> add_projection(const float* from, std::size_t n_tokens, const Projection& projection,
                              float* x) override;
  Result<void> feed_forward(const FeedForward& args, float* x, std::size_t n_tokens) override;
  Result<void> moe(const MixtureOfExperts& args, float* x, std::size_t n_tokens) override;
  Result<void> glu(Activation activation, float* gate, const float* up,
                   std::size_t n_values) override {
    return change(gate, n_values, up, n_values, [&](float* there, const float* beside) {
      return inner_->glu(activation, there, beside, n_values);
    });
  }
  Result<void> add(float* x, const float* y, std::size_t n_values) override {
    return change(x, n_values, y, n_values, [&](float* there, const float* beside) {
      return inner_->add(there, beside, n_values);
    });
  }
  Result<void> scale(float* x, float factor, std::size_t n_values) override {
    return change(x, n_values, nullptr, 0, [&](float* there, const float*) {
      return inner_->scale(there, factor, n_values);
    });
  }
  Result<void> soft_cap(float* x, float cap, std::size_t n_values) override {
    return change(x, n_values, nullptr, 0, [&](float* there, const float*) {
      return inner_->soft_cap(there, cap, n_values);
    });
  }
  Result<void> add_row(float* x, const float* row, std::size_t n_rows, std::size_t width) override {
    return change(x, n_rows * width, row, width, [&](float* there, const float* beside) {
      return inner_->add_row(there, beside, n_rows, width);
    });
  }
  Result<void> scale_first(float* x, float factor, std::size_t n_rows, std::size_t width,
                           std::size_t n_first) override {
    return change(x, n_rows * width, nullptr, 0, [&](float* there, const float*) {
      return inner_->scale_first(there, factor, n_rows, width, n_first);
    });
  }
  Result<void> gate_rows(float* x, const float* gate, std::size_t n_rows,
                         std::size_t width) override {
    return change(x, n_rows * width, gate, n_rows, [&](float* there, const float* beside) {
      return inner_->gate_rows(there, beside, n_rows, width);
    });
  }
  Result<void> short_conv(const ShortConvArgs& args) override;
  Result<void> gated_delta(const GatedDeltaArgs& args) override;
  Result<void> mamba2(const Mamba2Args& args) override;
  Result<void> pack_values(const float* x, std::size_t n_values, std::byte* packed) override {
    Stage stage(*inner_);
    SATCHEL_TRY_ASSIGN(const float* from, stage.in(x, n_values));
    SATCHEL_TRY_ASSIGN(std::byte * to, stage.both(packed, packed_bytes(n_values)));
    SATCHEL_TRY(inner_->pack_values(from, n_values, to));
    return stage.back();
  }
  Result<void> unpack_values(const std::byte* packed, std::size_t n_values, float* x) override {
    Stage stage(*inner_);
    SATCHEL_TRY_ASSIGN(const std::byte* from, stage.in(packed, packed_bytes(n_values)));
    SATCHEL_TRY_ASSIGN(float* to, stage.both(x, n_values));
    SATCHEL_TRY(inner_->unpack_values(from, n_values, to));
    return stage.back();
  }

  Result<void> store(std::span<const StoreArgs> items) override;
  Result<void> select(std::span<const SelectArgs> items) override;
  Result<void> gather(std::span<const GatherArgs> items) override;
  Result<std::int32_t> argmax(const float* logits, std::size_t n) override {
    Stage stage(*inner_);
    SATCHEL_TRY_ASSIGN(const float* there, stage.in(logits, n));
    return inner_->argmax(there, n);
  }
  Result<void> top_k(const float* logits, std::size_t n, std::span<Ranked> out) override {
    Stage stage(*inner_);
    SATCHEL_TRY_ASSIGN(const float* there, stage.in(logits, n));
    return inner_->top_k(there, n, out);
  }

  Result<std::unique_ptr<LaneTable>> make_lane_table(std::size_t n_lanes) override {
    return std::unique_ptr<LaneTable>(std::make_unique<StagedLaneTable>(n_lanes));
  }
  Result<void> attend(const AttendArgs& args) override;
  Result<void> score(std::span<const ScoreArgs> items) override;
  Result<void> logsumexp(std::span<const LogSumExpArgs> items) override;
  Result<void> key_importance(std::span<const KeyImportanceArgs> items) override;
  Result<bool> refit(const RefitArgs& args) override;
  Result<void> encode_pages(std::span<const EncodeArgs> items) override;
  Result<void> decode_pages(std::span<const DecodeArgs> items) override;

 private:
  // x in place, y beside it.
  template <class Call>
  Result<void> change(float* x, std::size_t n_x, const float* y, std::size_t n_y,
                      const Call& call) {
    Stage stage(*inner_);
    SATCHEL_TRY_ASSIGN(float* there, stage.both(x, n_x));
    SATCHEL_TRY_ASSIGN(const float* beside, stage.in(y, n_y));
    SATCHEL_TRY(call(there, beside));
    return stage.back();
  }

  std::unique_ptr<Backend> inner_;
};

// Both ranges go there as one, so that they overlap there as they do here.
Result<void> StagedBackend::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  Stage stage(*inner_);
  const std::byte* first = std::min<const std::byte*>(to, from);
  const bool overlap = first + bytes > std::max<const std::byte*>(to, from);
  if (!overlap) {
    SATCHEL_TRY_ASSIGN(const std::byte* here, stage.in(from, bytes));
    SATCHEL_TRY_ASSIGN(std::byte * there, stage.both(to, bytes));
    SATCHEL_TRY(inner_->copy(there, here, bytes));
    return stage.back();
  }
  std::byte* begin = first == to ? to : to - (to - first);
  const auto apart = static_cast<std::size_t>(std::max<const std::byte*>(to, from) - first);
  SATCHEL_TRY_ASSIGN(std::byte * there, stage.both(begin, apart + bytes));
  SATCHEL_TRY(inner_->copy(there + (to - begin), there + (from - begin), bytes));
  return stage.back();
}

Result<std::vector<Backend::Projection>> staged(Stage& stage, std::size_t n_tokens,
                                                std::span<const Backend::Projection> projections) {
  std::vector<Backend::Projection> there(projections.begin(), projections.end());
  for (Backend::Projection& each : there) {
    const std::size_t n_out = each.weight->n_out();
    SATCHEL_TRY_ASSIGN(each.out, stage.both(each.out, n_tokens * n_out));
    SATCHEL_TRY_ASSIGN(each.bias, stage.in(each.bias, n_out));
  }
  return there;
}

Result<void> StagedBackend::project(const float* x, std::size_t n_tokens,
                                    std::span<const Projection> projections) {
  Stage stage(*inner_);
  const std::size_t n_in = projections.empty() ? 0 : projections[0].weight->n_in();
  SATCHEL_TRY_ASSIGN(const float* from, stage.in(x, n_tokens * n_in));
  SATCHEL_TRY_ASSIGN(const auto there, staged(stage, n_tokens, projections));
  SATCHEL_TRY(inner_->project(from, n_tokens, there));
  return stage.back();
}

Result<void> StagedBackend::norm_project(const float* x, const float* gain, std::size_t n_tokens,
                                         float epsilon, float* normed,
                                         std::span<const Projection> projections) {
  Stage stage(*inner_);
  const std::size_t n_in = projections[0].weight->n_in();
  SATCHEL_TRY_ASSIGN(const float* from, stage.in(x, n_tokens * n_in));
  SATCHEL_TRY_ASSIGN(const float* row, stage.in(gain, n_in));
  SATCHEL_TRY_ASSIGN(float* to, stage.both(normed, n_tokens * n_in));
  SATCHEL_TRY_ASSIGN(const auto there, staged(stage, n_tokens, projections));
  SATCHEL_TRY(inner_->norm_project(from, row, n_tokens, epsilon, to, there));
  return stage.back();
}

Result<void> StagedBackend::add_projection(const float* from, std::size_t n_tokens,
                                           const Projection& projection, float* x) {
  Stage stage(*inner_);
  const std::size_t n_in = projection.weight->n_in(), n_out = projection.weight->n_out();
  SATCHEL_TRY_ASSIGN(const float* read, stage.in(from, n_tokens * n_in));
  SATCHEL_TRY_ASSIGN(float* changed, stage.both(x, n_tokens * n_out));
  SATCHEL_TRY_ASSIGN(const auto there, staged(stage, n_tokens, {&projection, 1}));
  SATCHEL_TRY(inner_->add_projection(read, n_tokens, there[0], changed));
  return stage.back();
}

Result<void> StagedBackend::feed_forward(const FeedForward& args, float* x, std::size_t n_tokens) {
  Stage stage(*inner_);
  FeedForward there = args;
  const std::size_t width = args.gate->n_in(), inner = args.gate->n_out();
  SATCHEL_TRY_ASSIGN(float* changed, stage.both(x, n_tokens * width));
  SATCHEL_TRY_ASSIGN(there.gain, stage.in(args.gain, width));
  SATCHEL_TRY_ASSIGN(there.normed, stage.both(args.normed, n_tokens * width));
  SATCHEL_TRY_ASSIGN(there.gate_out, stage.both(args.gate_out, n_tokens * inner));
  SATCHEL_TRY_ASSIGN(there.up_out, stage.both(args.up_out, n_tokens * inner));
  SATCHEL_TRY(inner_->feed_forward(there, changed, n_tokens));
  return stage.back();
}

Result<void> StagedBackend::moe(const MixtureOfExperts& args, float* x, std::size_t n_tokens) {
  Stage stage(*inner_);
  MixtureOfExperts there = args;
  const std::size_t width = args.router->n_in(), inner = args.experts[0].up->n_out();
  std::vector<Expert> experts(args.experts.begin(), args.experts.end());
  for (Expert& each : experts) {
    SATCHEL_TRY_ASSIGN(each.gate_bias, stage.in(each.gate_bias, inner));
    SATCHEL_TRY_ASSIGN(each.up_bias, stage.in(each.up_bias, inner));
    SATCHEL_TRY_ASSIGN(each.down_bias, stage.in(each.down_bias, width));
  }
  there.experts = experts;
  SATCHEL_TRY_ASSIGN(float* changed, stage.both(x, n_tokens * width));
  SATCHEL_TRY_ASSIGN(there.sum, stage.both(args.sum, n_tokens * width));
  SATCHEL_TRY_ASSIGN(there.gain, stage.in(args.gain, width));
  SATCHEL_TRY_ASSIGN(there.router_gain, stage.in(args.router_gain, width));
  SATCHEL_TRY_ASSIGN(there.router_bias, stage.in(args.router_bias, args.experts.size()));
  SATCHEL_TRY_ASSIGN(there.routed, stage.both(args.routed, n_tokens * args.experts.size()));
  SATCHEL_TRY_ASSIGN(there.normed, stage.both(args.normed, n_tokens * width));
  SATCHEL_TRY_ASSIGN(there.taken, stage.both(args.taken, n_tokens * width));
  SATCHEL_TRY_ASSIGN(there.gate_out, stage.both(args.gate_out, n_tokens * inner));
  SATCHEL_TRY_ASSIGN(there.up_out, stage.both(args.up_out, n_tokens * inner));
  SATCHEL_TRY(inner_->moe(there, changed, n_tokens));
  return stage.back();
}

Result<void> StagedBackend::store(std::span<const StoreArgs> items) {
  Stage stage(*inner_);
  std::vector<StoreArgs> there(items.begin(), items.end());
  for (StoreArgs& args : there) {
    if (args.n_rows == 0) continue;
    const std::size_t n_from = (args.n_rows - 1) * args.from_stride + args.n_values;
    SATCHEL_TRY_ASSIGN(args.from, stage.in(args.from, n_from));
    SATCHEL_TRY_ASSIGN(args.to, stage.both(args.to, args.n_rows * args.n_values));
    SATCHEL_TRY_ASSIGN(args.positions, stage.both(args.positions, args.n_rows));
  }
  SATCHEL_TRY(inner_->store(there));
  return stage.back();
}

Result<void> StagedBackend::key_importance(std::span<const KeyImportanceArgs> items) {
  Stage stage(*inner_);
  std::vector<KeyImportanceArgs> there(items.begin(), items.end());
  for (KeyImportanceArgs& args : there) {
    if (args.n_tokens == 0) continue;
    const std::size_t n = (args.n_tokens - 1) * args.stride + args.head_dim;
    SATCHEL_TRY_ASSIGN(args.k, stage.in(args.k, n));
    SATCHEL_TRY_ASSIGN(args.scores, stage.both(args.scores, args.n_tokens));
  }
  SATCHEL_TRY(inner_->key_importance(there));
  return stage.back();
}

Result<bool> StagedBackend::refit(const RefitArgs& args) {
  Stage stage(*inner_);
  RefitArgs there = args;
  const std::size_t n = args.n_queries, d = args.head_dim;
  const auto rows = static_cast<std::size_t>(std::ranges::max(args.tokens) + 1);
  SATCHEL_TRY_ASSIGN(there.q, stage.in(args.q, n * d));
  SATCHEL_TRY_ASSIGN(there.out, stage.in(args.out, n * d));
  SATCHEL_TRY_ASSIGN(there.lse, stage.in(args.lse, n));
  SATCHEL_TRY_ASSIGN(there.lse_beside, stage.in(args.lse_beside, n));
  SATCHEL_TRY_ASSIGN(there.k, stage.in(args.k, rows * d));
  SATCHEL_TRY_ASSIGN(there.v, stage.both(args.v, rows * d));
  SATCHEL_TRY_ASSIGN(there.work,
                     stage.both(args.work, RefitArgs::work_floats(n, d, args.tokens.size())));
  SATCHEL_TRY_ASSIGN(const bool is_fitted, inner_->refit(there));
  SATCHEL_TRY(stage.back());
  return is_fitted;
}

Result<void> StagedBackend::encode_pages(std::span<const EncodeArgs> items) {
  Stage stage(*inner_);
  std::vector<EncodeArgs> there(items.begin(), items.end());
  for (EncodeArgs& args : there) {
    const std::size_t n = args.exact.n_tokens, n_values = n * args.layout->head_dim;
    SATCHEL_TRY_ASSIGN(args.exact.k, stage.in(args.exact.k, n_values));
    SATCHEL_TRY_ASSIGN(args.exact.v, stage.in(args.exact.v, n_values));
    SATCHEL_TRY_ASSIGN(args.exact.positions, stage.in(args.exact.positions, n));
    SATCHEL_TRY_ASSIGN(args.log_counts, stage.in(args.log_counts, n));
    SATCHEL_TRY_ASSIGN(args.page, stage.both(args.page, args.layout->bytes));
  }
  SATCHEL_TRY(inner_->encode_pages(there));
  return stage.back();
}

Result<void> StagedBackend::decode_pages(std::span<const DecodeArgs> items) {
  Stage stage(*inner_);
  std::vector<DecodeArgs> there(items.begin(), items.end());
  for (DecodeArgs& args : there) {
    const std::size_t n_values = args.n_tokens * args.layout->head_dim;
    SATCHEL_TRY_ASSIGN(args.page, stage.in(args.page, args.layout->bytes));
    SATCHEL_TRY_ASSIGN(args.k, stage.both(args.k, n_values));
    SATCHEL_TRY_ASSIGN(args.v, stage.both(args.v, n_values));
  }
  SATCHEL_TRY(inner_->decode_pages(there));
  return stage.back();
}

Result<void> StagedBackend::attend(const AttendArgs& args) {
  Stage stage(*inner_);
  const std::size_t n_rows = args.batch.n_tokens * args.n_heads;
  std::vector<Sequence> sequences(args.sequences.begin(), args.sequences.end());
  std::vector<std::unique_ptr<LaneTable>> tables;
  std::vector<LaneLists> lanes;  // their arrays stay where they are when it grows
  for (Sequence& sequence : sequences) {
    const auto& here = static_cast<const StagedLaneTable&>(*sequence.lanes);
    SATCHEL_TRY_ASSIGN(auto table, inner_->make_lane_table(here.n_lanes()));
    for (std::size_t l = 0; l < here.n_lanes(); ++l) {
      SATCHEL_TRY_ASSIGN(LaneLists there, stage_lane(stage, here.lane(l), args.head_dim));
      lanes.push_back(std::move(there));
      SATCHEL_TRY(table->set_runs(l, lanes.back().runs));
      SATCHEL_TRY(table->set_pages(l, lanes.back().pages));
    }
    tables.push_back(std::move(table));
    sequence.lanes = tables.back().get();
  }
  AttendArgs there = args;
  there.sequences = sequences;
  SATCHEL_TRY_ASSIGN(there.q, stage.in(args.q, n_rows * args.head_dim));
  SATCHEL_TRY_ASSIGN(there.batch.positions, stage.in(args.batch.positions, args.batch.n_tokens));
  SATCHEL_TRY_ASSIGN(there.out, stage.both(args.out, n_rows * args.head_dim));
  SATCHEL_TRY_ASSIGN(there.lse, stage.both(args.lse, n_rows));
  SATCHEL_TRY(inner_->attend(there));
  return stage.back();
}

// Of states with so many values.
Result<std::vector<StateSequence>> stage_states(Stage& stage, std::span<const StateSequence> here,
                                                std::size_t n_values) {
  std::vector<StateSequence> sequences(here.begin(), here.end());
  for (StateSequence& sequence : sequences) {
    const bool in_place = sequence.before == sequence.behind;
    SATCHEL_TRY_ASSIGN(sequence.before, stage.in(sequence.before, n_values));
    SATCHEL_TRY_ASSIGN(sequence.behind, stage.both(sequence.behind, n_values));
    if (in_place) sequence.before = sequence.behind;
  }
  return sequences;
}

Result<void> StagedBackend::short_conv(const ShortConvArgs& args) {
  Stage stage(*inner_);
  ShortConvArgs there = args;
  const std::size_t n = args.n_tokens() * args.width;
  SATCHEL_TRY_ASSIGN(there.rows, stage.in(args.rows, 3 * n));
  SATCHEL_TRY_ASSIGN(there.taps, stage.in(args.taps, args.width * args.n_taps));
  SATCHEL_TRY_ASSIGN(there.out, stage.both(args.out, n));
  SATCHEL_TRY_ASSIGN(const auto sequences,
                     stage_states(stage, args.sequences, args.state_values()));
  there.sequences = sequences;
  SATCHEL_TRY(inner_->short_conv(there));
  return stage.back();
}

Result<void> StagedBackend::gated_delta(const GatedDeltaArgs& args) {
  Stage stage(*inner_);
  GatedDeltaArgs there = args;
  const std::size_t n = args.n_tokens(), n_heads = args.n_value_heads;
  SATCHEL_TRY_ASSIGN(there.rows, stage.in(args.rows, n * args.n_channels()));
  SATCHEL_TRY_ASSIGN(there.taps, stage.in(args.taps, args.n_channels() * args.n_taps));
  SATCHEL_TRY_ASSIGN(there.decay, stage.in(args.decay, n * n_heads));
  SATCHEL_TRY_ASSIGN(there.strength, stage.in(args.strength, n * n_heads));
  SATCHEL_TRY_ASSIGN(there.rate, stage.in(args.rate, n_heads));
  SATCHEL_TRY_ASSIGN(there.decay_bias, stage.in(args.decay_bias, n_heads));
  SATCHEL_TRY_ASSIGN(there.gate, stage.in(args.gate, n * n_heads * args.value_dim));
  SATCHEL_TRY_ASSIGN(there.gain, stage.in(args.gain, args.value_dim));
  SATCHEL_TRY_ASSIGN(there.convolved, stage.both(args.convolved, n * args.n_channels()));
  SATCHEL_TRY_ASSIGN(there.out, stage.both(args.out, n * n_heads * args.value_dim));
  SATCHEL_TRY_ASSIGN(const auto sequences,
                     stage_states(stage, args.sequences, args.state_values()));
  there.sequences = sequences;
  SATCHEL_TRY(inner_->gated_delta(there));
  return stage.back();
}

Result<void> StagedBackend::mamba2(const Mamba2Args& args) {
  Stage stage(*inner_);
  Mamba2Args there = args;
  const std::size_t n = args.n_tokens(), n_heads = args.n_heads;
  SATCHEL_TRY_ASSIGN(there.rows, stage.in(args.rows, n * args.n_channels()));
  SATCHEL_TRY_ASSIGN(there.taps, stage.in(args.taps, args.n_channels() * args.n_taps));
  SATCHEL_TRY_ASSIGN(there.conv_bias, stage.in(args.conv_bias, args.n_channels()));
  SATCHEL_TRY_ASSIGN(there.step, stage.in(args.step, n * n_heads));
  SATCHEL_TRY_ASSIGN(there.rate, stage.in(args.rate, n_heads));
  SATCHEL_TRY_ASSIGN(there.step_bias, stage.in(args.step_bias, n_heads));
  SATCHEL_TRY_ASSIGN(there.skip, stage.in(args.skip, n_heads));
  SATCHEL_TRY_ASSIGN(there.gate, stage.in(args.gate, n * args.width()));
  SATCHEL_TRY_ASSIGN(there.gain, stage.in(args.gain, args.width()));
  SATCHEL_TRY_ASSIGN(there.convolved, stage.both(args.convolved, n * args.n_channels()));
  SATCHEL_TRY_ASSIGN(there.out, stage.both(args.out, n * args.width()));
  SATCHEL_TRY_ASSIGN(const auto sequences,
                     stage_states(stage, args.sequences, args.state_values()));
  there.sequences = sequences;
  SATCHEL_TRY(inner_->mamba2(there));
  return stage.back();
}

Result<void> StagedBackend::select(std::span<const SelectArgs> items) {
  Stage stage(*inner_);
  std::vector<SelectArgs> there(items.begin(), items.end());
  for (SelectArgs& args : there) {
    SATCHEL_TRY_ASSIGN(args.scores, stage.in(args.scores, args.n_scores));
    SATCHEL_TRY_ASSIGN(args.indices, stage.both(args.indices, args.keep));
  }
  SATCHEL_TRY(inner_->select(there));
  return stage.back();
}

Result<void> StagedBackend::gather(std::span<const GatherArgs> items) {
  Stage stage(*inner_);
  std::vector<GatherArgs> there(items.begin(), items.end());
  for (GatherArgs& args : there) {
    std::size_t n_rows = 0;  // of what is gathered from
    for (std::size_t i = 0; i < args.n_rows; ++i)
      n_rows = std::max(n_rows, static_cast<std::size_t>(args.indices[i]) + 1);
    SATCHEL_TRY_ASSIGN(args.from, stage.in(args.from, n_rows * args.row_bytes));
    SATCHEL_TRY_ASSIGN(args.indices, stage.in(args.indices, args.n_rows));
    SATCHEL_TRY_ASSIGN(args.to, stage.both(args.to, args.n_rows * args.row_bytes));
  }
  SATCHEL_TRY(inner_->gather(there));
  return stage.back();
}

Result<void> StagedBackend::score(std::span<const ScoreArgs> items) {
  Stage stage(*inner_);
  std::vector<ScoreArgs> there(items.begin(), items.end());
  std::vector<StagedQueries> lanes(items.size());
  for (std::size_t i = 0; i < there.size(); ++i) {
    ScoreArgs& args = there[i];
    const std::size_t n = args.lane.batch.n_tokens;
    SATCHEL_TRY_ASSIGN(args.scores, stage.both(args.scores, n_slots(args.lane.keys)));
    SATCHEL_TRY_ASSIGN(args.lse, stage.in(args.lse, n * args.lane.n_heads));
    SATCHEL_TRY_ASSIGN(args.weights, stage.in(args.weights, n));
    SATCHEL_TRY(lanes[i].stage(stage, args.lane));
  }
  SATCHEL_TRY(inner_->score(there));
  return stage.back();
}

// Items may write different heads of the same rows: one array there for those that share one here.
Result<void> StagedBackend::logsumexp(std::span<const LogSumExpArgs> items) {
  Stage stage(*inner_);
  std::vector<LogSumExpArgs> there(items.begin(), items.end());
  std::vector<StagedQueries> lanes(items.size());
  for (std::size_t i = 0; i < there.size(); ++i) {
    LogSumExpArgs& args = there[i];
    const auto before = items.first(i);
    const auto same = std::ranges::find(before, args.lse, &LogSumExpArgs::lse);
    if (same != before.end()) {
      args.lse = there[static_cast<std::size_t>(same - before.begin())].lse;
    } else {
      SATCHEL_TRY_ASSIGN(args.lse,
                         stage.both(args.lse, args.lane.batch.n_tokens * args.lane.n_heads));
    }
    SATCHEL_TRY(lanes[i].stage(stage, args.lane));
  }
  SATCHEL_TRY(inner_->logsumexp(there));
  return stage.back();
}

}  // namespace

std::unique_ptr<Backend> make_staged(std::unique_ptr<Backend> inner) {
  return std::make_unique<StagedBackend>(std::move(inner));
}

const LaneView& shown_lane(const LaneTable& table, std::size_t lane) {
  const auto* staged = dynamic_cast<const StagedLaneTable*>(&table);
  return staged != nullptr ? staged->lane(lane) : HostLaneTable::of(table).lane(lane);
}

}  // namespace satchel::test
