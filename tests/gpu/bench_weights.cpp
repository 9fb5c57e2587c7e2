// Products of a GPU backend with quantised weights, for 1, 4 and 8 tokens: what decoding reads.
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
void check(const Setting& setting, WeightType type) {
  constexpr std::size_t kOut = 256, kIn = 512, kTokens = 8;
  const auto reference = must(open_backend("reference", {}));
  const test::WeightFile file = test::random_weight(type, kOut, kIn, 11);
  const auto product = [&](Backend& backend) {
    const auto weight = must(backend.load_weight(file.source()));
    Arrays arrays(backend);
    auto* out = arrays.make<float>(kTokens * kOut);
    must(backend.matmul(*weight, arrays.put(random_floats(kTokens * kIn, 12)), kTokens, out));
    return arrays.get(out, kTokens * kOut);
  };
  constexpr double kLimit = 5e-4;  // of mat-vecs: tests/gpu/README.md
  const double distance = test::distance(product(setting.backend), product(*reference));
  say({{"op", "matmul_check"},
       {"type", weight_type_traits(type).name},
       {"distance", distance},
       {"limit", kLimit},
       {"ok", distance <= kLimit}});
}

// Copies of one matrix, used in turn, so that none is found in the cache.
void bench(const Setting& setting, WeightType type, std::size_t n_out, std::size_t n_in) {
  const test::WeightFile file = test::random_weight(type, n_out, n_in, 13);
  const std::size_t bytes = file.source().bytes.size();
  const std::size_t least = std::size_t{setting.small ? 1u : 224u} << 20;
  std::vector<std::unique_ptr<Weight>> copies(std::max<std::size_t>(2, least / bytes + 1));
  for (auto& copy : copies) copy = must(setting.backend.load_weight(file.source()));
  Arrays arrays(setting.backend);
  const auto* x = arrays.put(random_floats(8 * n_in, 14));
  auto* out = arrays.make<float>(8 * n_out);
  std::vector<Queued> calls;
  for (const std::size_t n_tokens : {1u, 4u, 8u})
    calls.emplace_back(setting.backend, [&, n_tokens](std::size_t i) {
      must(setting.backend.matmul(*copies[i % copies.size()], x, n_tokens, out));
    });
  take_turns(calls, 15);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Json result{{"op", "matmul"},
                {"type", weight_type_traits(type).name},
                {"n_out", n_out},
                {"n_in", n_in},
                {"tokens", std::size_t{1} << (i == 0 ? 0 : i + 1)},
                {"bytes", bytes}};
    calls[i].add_to(result);
    result["times_one"] = calls[i].median() / calls[0].median();
    say(result);
  }
}

}  // namespace

void bench_weights(const Setting& setting) {
  const WeightType types[] = {WeightType::q4_0, WeightType::q4_k, WeightType::q8_0,
                              WeightType::q6_k, WeightType::f16};
  for (const WeightType type : types) check(setting, type);
  for (const WeightType type : types) {
    if (setting.small) {
      bench(setting, type, 512, 512);
      continue;
    }
    bench(setting, type, 4096, 4096);
    bench(setting, type, 14336, 4096);
  }
}

}  // namespace satchel::bench
