// One layer of a mixture of experts: a decode step of a token, several tokens, and a prompt; the
// backend's own way beside the contract's default, which asks the router's result of it.
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "gpu/measure.h"
#include "support/lanes.h"
#include "support/weights.h"

namespace satchel::bench {
namespace {

using namespace satchel::kernels;

struct MoeShape {
  const char* name;
  WeightType type;
  std::size_t width, inner, n_experts, n_used;
};

// A layer, and what its calls work with.
class MoeLayer {
 public:
  MoeLayer(const Setting& setting, const MoeShape& shape, std::size_t n_tokens)
      : backend_(setting.backend), shape_(shape), arrays_(backend_) {
    const auto [name, type, width, inner, n_experts, n_used] = shape;
    chosen_.resize(n_tokens * n_used);
    // Experts are of a few files: what is in them does not matter to time, and they take long.
    constexpr std::size_t kFiles = 3;
    for (std::uint64_t i = 0; i < kFiles; ++i) {
      files_.push_back(test::random_weight(type, inner, width, 20 + i));
      files_.push_back(test::random_weight(type, width, inner, 30 + i));
    }
    files_.push_back(test::random_weight(WeightType::f32, n_experts, width, 40));
    for (std::size_t e = 0; e < n_experts; ++e)
      experts_.push_back({.gate = load(files_[2 * (e % kFiles)]),
                          .up = load(files_[2 * ((e + 1) % kFiles)]),
                          .down = load(files_[2 * (e % kFiles) + 1])});
    expert_bytes_ = 2 * files_[0].source().bytes.size() + files_[1].source().bytes.size();
    args_ = {.gain = arrays_.put(std::vector<float>(width, 1)),
             .router = load(files_.back()),
             .experts = experts_,
             .n_used = n_used,
             .factor = 1e-3f,  // x is added to again and again
             .epsilon = 1e-5f,
             .normed = arrays_.make<float>(n_tokens * width),
             .taken = arrays_.make<float>(n_tokens * width),
             .gate_out = arrays_.make<float>(n_tokens * inner),
             .up_out = arrays_.make<float>(n_tokens * inner),
             .routed = arrays_.make<float>(n_tokens * n_experts),
             .chosen = chosen_};
    x_ = arrays_.put(random_floats(n_tokens * width, 27));
  }

  // Calls take some of the tokens, in turn, so that weights are seldom found in the cache.
  void run(std::size_t n_tokens, std::size_t first) {
    must(backend_.moe(args_, x_ + first * shape_.width, n_tokens));
  }
  void run_default(std::size_t n_tokens, std::size_t first) {
    must(backend_.Backend::moe(args_, x_ + first * shape_.width, n_tokens));
  }
  // The sum of both ways on the same tokens: distance over norm.
  double distance(std::size_t n_tokens) {
    const std::size_t n = n_tokens * shape_.width;
    args_.sum = arrays_.make<float>(n);
    run(n_tokens, 0);
    const auto got = arrays_.get(args_.sum, n);
    run_default(n_tokens, 0);
    const auto want = arrays_.get(args_.sum, n);
    args_.sum = nullptr;
    return test::distance(got, want);
  }
  const MoeShape& shape() const { return shape_; }
  std::size_t expert_bytes() const { return expert_bytes_; }

 private:
  const Weight* load(const test::WeightFile& from) {
    weights_.push_back(must(backend_.load_weight(from.source())));
    return weights_.back().get();
  }

  Backend& backend_;
  MoeShape shape_;
  Arrays arrays_;
  std::vector<test::WeightFile> files_;
  std::vector<std::unique_ptr<Weight>> weights_;
  std::vector<Backend::Expert> experts_;
  Backend::MixtureOfExperts args_;
  std::vector<Backend::Ranked> chosen_;
  float* x_ = nullptr;
  std::size_t expert_bytes_ = 0;
};

// Both ways in turn. The default waits within a call, so its rounds are no graphs.
void bench(const Setting& setting, MoeLayer& layer, std::size_t n_tokens, std::size_t n_all) {
  const auto& [name, type, width, inner, n_experts, n_used] = layer.shape();
  const std::size_t n_places = n_all / n_tokens;
  std::vector<Queued> calls;
  calls.emplace_back(setting.backend,
                     [&](std::size_t i) { layer.run(n_tokens, i % n_places * n_tokens); });
  calls.emplace_back(setting.backend,
                     [&](std::size_t i) { layer.run_default(n_tokens, i % n_places * n_tokens); });
  take_turns(calls, 9);
  // What experts' weights take, each once, where tokens choose evenly.
  const double chosen =
      static_cast<double>(n_experts) *
      (1 - std::pow(1 - static_cast<double>(n_used) / static_cast<double>(n_experts), n_tokens));
  const double flops = 6.0 * static_cast<double>(n_tokens * n_used * width * inner);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Json result{
        {"op", "moe"},
        {"model", name},
        {"way", i == 0 ? "own" : "default"},
        {"tokens", n_tokens},
        {"bytes", static_cast<std::size_t>(chosen * static_cast<double>(layer.expert_bytes()))}};
    calls[i].add_to(result);
    result["tflops"] = 1e-12 * flops / calls[i].median();
    result["times_default"] = calls[i].median() / calls[1].median();
    say(result);
  }
}

void check(MoeLayer& layer, std::size_t n_tokens) {
  const double limit = n_tokens > 16 ? 2e-3 : 2e-4;  // of two products; prompts are fp16
  const double distance = layer.distance(n_tokens);
  say({{"op", "moe_check"},
       {"model", layer.shape().name},
       {"tokens", n_tokens},
       {"distance", distance},
       {"limit", limit},
       {"ok", distance <= limit}});
}

}  // namespace

void bench_moe(const Setting& setting) {
  const MoeShape whole[] = {{"gpt-oss-20b", WeightType::mxfp4, 2880, 2880, 32, 4},
                            {"qwen3-30b", WeightType::q4_k, 2048, 768, 128, 8}};
  const MoeShape small[] = {{"small", WeightType::q4_k, 256, 256, 8, 2}};
  const std::size_t n_prompt = setting.small ? 32 : 512;
  for (const MoeShape& shape : setting.small ? std::span<const MoeShape>(small) : whole) {
    MoeLayer layer(setting, shape, n_prompt);
    for (const std::size_t n_tokens : {std::size_t{1}, std::size_t{8}, n_prompt})
      check(layer, n_tokens);
    for (const std::size_t n_tokens : {std::size_t{1}, std::size_t{8}, n_prompt})
      bench(setting, layer, n_tokens, n_prompt);
  }
}

}  // namespace satchel::bench
