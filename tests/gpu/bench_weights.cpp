// Products of a GPU backend with weights: for 1, 4 and 8 tokens, as decoding has them, and for
// prompts.
#include <algorithm>
#include <memory>
#include <vector>

#include "gpu/measure.h"
#include "kernels/registry/registry.h"
#include "support/lanes.h"
#include "support/weights.h"

namespace satchel::bench {
namespace {

using namespace satchel::kernels;

// The same product by the reference, on a matrix that it does not take long for.
void check(const Setting& setting, WeightType type, std::size_t n_tokens) {
  constexpr std::size_t kOut = 256, kIn = 512;
  const auto reference = must(open_backend("reference", {}));
  const test::WeightFile file = test::random_weight(type, kOut, kIn, 11);
  const auto product = [&](Backend& backend) {
    const auto weight = must(backend.load_weight(file.source()));
    Arrays arrays(backend);
    auto* out = arrays.make<float>(n_tokens * kOut);
    must(backend.matmul(*weight, arrays.put(random_floats(n_tokens * kIn, 12)), n_tokens, out));
    return arrays.get(out, n_tokens * kOut);
  };
  constexpr double kLimit = 5e-4;  // of products: tests/gpu/README.md
  const double distance = test::distance(product(setting.backend), product(*reference));
  say({{"op", "matmul_check"},
       {"type", weight_type_traits(type).name},
       {"tokens", n_tokens},
       {"distance", distance},
       {"limit", kLimit},
       {"ok", distance <= kLimit}});
}

// Copies of one matrix, used in turn, so that none is found in the cache.
void bench(const Setting& setting, WeightType type, std::size_t n_out, std::size_t n_in,
           const std::vector<std::size_t>& tokens) {
  const test::WeightFile file = test::random_weight(type, n_out, n_in, 13);
  const std::size_t bytes = file.source().bytes.size();
  const std::size_t least = std::size_t{setting.small ? 1u : 224u} << 20;
  std::vector<std::unique_ptr<Weight>> copies(std::max<std::size_t>(2, least / bytes + 1));
  for (auto& copy : copies) copy = must(setting.backend.load_weight(file.source()));
  Arrays arrays(setting.backend);
  const auto* x = arrays.put(random_floats(tokens.back() * n_in, 14));
  auto* out = arrays.make<float>(tokens.back() * n_out);
  std::vector<Queued> calls;
  for (const std::size_t n_tokens : tokens)
    calls.emplace_back(setting.backend, [&, n_tokens](std::size_t i) {
      must(setting.backend.matmul(*copies[i % copies.size()], x, n_tokens, out));
    });
  take_turns(calls, 15);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Json result{{"op", "matmul"},      {"type", weight_type_traits(type).name},
                {"n_out", n_out},      {"n_in", n_in},
                {"tokens", tokens[i]}, {"bytes", bytes}};
    calls[i].add_to(result);
    result["times_one"] = calls[i].median() / calls[0].median();
    result["tflops"] = 2e-12 * static_cast<double>(tokens[i] * n_out * n_in) / calls[i].median();
    say(result);
  }
}

}  // namespace

void bench_weights(const Setting& setting) {
  const WeightType types[] = {WeightType::q4_0, WeightType::q4_k, WeightType::q8_0,
                              WeightType::q6_k, WeightType::f16};
  for (const WeightType type : types)
    for (const std::size_t n_tokens : {8u, 100u}) check(setting, type, n_tokens);
  for (const WeightType type : types) {
    if (setting.small) {
      bench(setting, type, 512, 512, {1, 4, 8, 32});
      continue;
    }
    bench(setting, type, 4096, 4096, {1, 4, 8, 32, 128, 512, 2048});
    bench(setting, type, 14336, 4096, {1, 4, 8, 32, 128, 512, 2048});
    bench(setting, type, 4096, 14336, {1, 32, 128, 512, 2048});
  }
}

}  // namespace satchel::bench
