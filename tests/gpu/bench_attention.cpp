// Attention of a GPU backend: decoding over packed pages beside our own fp16 pages; prompts with
// and without the pass that scores keys.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "gpu/measure.h"
#include "gpu/packed_lanes.h"
#include "kernels/registry/registry.h"
#include "support/lanes.h"

namespace satchel::bench {
namespace {

using namespace satchel::kernels;

// Every tier's answer beside the reference's, with the very layouts that are timed.
double worst_distance(Backend& backend, const Tier& tier) {
  constexpr PackedLanes::Size kSize{.n_tokens = 640, .n_sequences = 2, .n_layers = 1};
  const auto reference = must(open_backend("reference", {}));
  const Tokens here(backend, kSize.n_tokens), there(*reference, kSize.n_tokens);
  PackedLanes got(backend, tier, here, kSize), want(*reference, tier, there, kSize);
  got.attend(0);
  want.attend(0);
  must(backend.finish());
  return test::distance(got.out(), want.out());
}

void check_tiers(const Setting& setting) {
  constexpr double kLimit = 2e-3;  // of packed decode attention: tests/gpu/README.md
  for (const Tier& tier : tiers()) {
    const double distance = worst_distance(setting.backend, tier);
    say({{"op", "decode_attention_check"},
         {"tier", tier.name},
         {"distance", distance},
         {"limit", kLimit},
         {"ok", distance <= kLimit}});
  }
}

// All tiers at one size, a round of each in turn.
void decode_at(const Setting& setting, const std::vector<Tier>& of, const Tokens& tokens,
               std::size_t n_tokens, std::size_t n_sequences) {
  // Beyond four times the second-level cache of any card so far, together with the other tiers.
  const std::size_t least = std::size_t{setting.small ? 1u : 256u} << 20;
  std::vector<std::unique_ptr<PackedLanes>> lanes;
  std::vector<Queued> calls;
  for (const Tier& tier : of) {
    const std::size_t bytes =
        n_sequences * kKvHeads * n_tokens / kPageTokens * must(page_layout(tier.page)).bytes;
    const std::size_t n_layers = std::max<std::size_t>(2, (least + bytes - 1) / bytes);
    lanes.push_back(std::make_unique<PackedLanes>(
        setting.backend, tier, tokens, PackedLanes::Size{n_tokens, n_sequences, n_layers}));
    calls.emplace_back(setting.backend,
                       [packed = lanes.back().get()](std::size_t i) { packed->attend(i); });
  }
  take_turns(calls, 15);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Json result{{"op", "decode_attention"},           {"tier", of[i].name},
                {"bits", lanes[i]->bits_per_value()}, {"n_tokens", n_tokens},
                {"sequences", n_sequences},           {"bytes", lanes[i]->bytes_of_layer()}};
    calls[i].add_to(result);
    result["times_fp16"] = calls[0].median() / calls[i].median();
    say(result);
  }
}

// Queries of a prompt over themselves.
class Prompt {
 public:
  Prompt(Backend& backend, std::size_t n_tokens)
      : backend_(backend),
        n_(n_tokens),
        arrays_(backend),
        q_(arrays_.put(random_floats(n_ * kHeads * kHeadDim, 4))),
        out_(arrays_.make<float>(n_ * kHeads * kHeadDim)),
        lse_(arrays_.make<float>(n_ * kHeads)),
        scores_(arrays_.make<float>(n_ * kKvHeads)),
        positions_(arrays_.put(positions_up_to(n_))),
        table_(must(backend.make_lane_table(kKvHeads))) {
    for (std::size_t lane = 0; lane < kKvHeads; ++lane)
      runs_.push_back({arrays_.put(random_halves(n_ * kHeadDim, 5 + lane)),
                       arrays_.put(random_halves(n_ * kHeadDim, 55 + lane)), positions_, n_});
    for (std::size_t lane = 0; lane < kKvHeads; ++lane)
      must(table_->set_runs(lane, {&runs_[lane], 1}));
  }
  Prompt(const Prompt&) = delete;

  void attend() {
    const Sequence sequence{.lanes = table_.get(), .n_tokens = n_};
    must(backend_.attend({.q = q_,
                          .n_heads = kHeads,
                          .n_kv_heads = kKvHeads,
                          .head_dim = kHeadDim,
                          .batch = batch(),
                          .sequences = {&sequence, 1},
                          .scale = scale(),
                          .out = out_,
                          .lse = lse_}));
  }
  void score() {
    std::vector<ScoreArgs> items;
    for (std::size_t lane = 0; lane < kKvHeads; ++lane)
      items.push_back({.lane = {.q = q_,
                                .batch = batch(),
                                .n_heads = kHeads,
                                .head_dim = kHeadDim,
                                .first_head = lane * kGroup,
                                .n_group = kGroup,
                                .keys = {.runs = {&runs_[lane], 1}, .pages = {}},
                                .scale = scale()},
                       .lse = lse_,
                       .scores = scores_ + lane * n_});
    must(backend_.score(items));
  }

 private:
  Batch batch() const {
    return {.positions = positions_,
            .n_tokens = n_,
            .position_min = 0,
            .position_max = static_cast<std::int32_t>(n_) - 1};
  }
  static float scale() { return 1 / std::sqrt(static_cast<float>(kHeadDim)); }

  Backend& backend_;
  std::size_t n_;
  Arrays arrays_;
  float *q_, *out_, *lse_, *scores_;
  std::int32_t* positions_;
  std::unique_ptr<LaneTable> table_;
  std::vector<ExactRun> runs_;
};

void prefill_at(const Setting& setting, std::size_t n_tokens) {
  Prompt prompt(setting.backend, n_tokens);
  Queued calls[] = {{setting.backend, [&](std::size_t) { prompt.attend(); }},
                    {setting.backend, [&](std::size_t) {
                       prompt.attend();
                       prompt.score();
                     }}};
  take_turns(calls, setting.small ? 3 : 9);
  const auto n = static_cast<double>(n_tokens);
  const double flops = static_cast<double>(kHeads * kHeadDim) * n * (n + 1) / 2 * 4;
  for (std::size_t i = 0; i < 2; ++i) {
    Json result{{"op", "prefill_attention"}, {"scores", i == 1}, {"n_tokens", n_tokens}};
    calls[i].add_to(result);
    if (i == 0) result["tflops"] = flops / calls[0].median() * 1e-12;
    if (i == 1) result["times_without"] = calls[1].median() / calls[0].median();
    say(result);
  }
}

}  // namespace

void bench_decode_attention(const Setting& setting) {
  std::vector<Tier> of = tiers();
  if (setting.n_tokens != 0) {
    std::erase_if(of, [&](const Tier& tier) { return tier.name != setting.tier; });
    const Tokens tokens(setting.backend, setting.n_tokens);
    return decode_at(setting, of, tokens, setting.n_tokens, 1);
  }
  check_tiers(setting);
  const std::size_t longest = setting.small ? 1024 : 131072;
  const Tokens tokens(setting.backend, longest);
  const std::vector<std::size_t> alone =
      setting.small ? std::vector<std::size_t>{256, 512, 768, 1024}
                    : std::vector<std::size_t>{256, 16384, 32768, 65536, 131072};
  for (const std::size_t n : alone) decode_at(setting, of, tokens, n, 1);
  for (const std::size_t n : alone)
    if (n >= 8 * kPageTokens) decode_at(setting, of, tokens, n / 8, 8);
}

void bench_prefill_attention(const Setting& setting) {
  if (setting.n_tokens != 0) return prefill_at(setting, setting.n_tokens);
  for (const std::size_t n : {256u, 4096u, 16384u})
    if (!setting.small || n == 256) prefill_at(setting, n);
}

}  // namespace satchel::bench
