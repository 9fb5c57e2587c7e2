// Cache operations of a GPU backend: packing pages (of a prompt, and the flush of a decode step)
// and choosing the largest scores.
#include <vector>

#include "gpu/measure.h"
#include "gpu/packed_lanes.h"

namespace satchel::bench {
namespace {

using namespace satchel::kernels;

// n_pages pages, each to another place, from tokens that are read again and again.
void encode(const Setting& setting, const Tokens& tokens, const Tier& tier, std::size_t n_pages) {
  const PageLayout layout = must(page_layout(tier.page));
  Arrays arrays(setting.backend);
  auto* pages = arrays.make<std::byte>(n_pages * layout.bytes);
  std::vector<EncodeArgs> items;
  for (std::size_t p = 0; p < n_pages; ++p) {
    const std::size_t from = p * kPageTokens % Tokens::kCount * kHeadDim;
    items.push_back({.layout = &layout,
                     .exact = {tokens.k + from, tokens.v + from, tokens.positions, kPageTokens},
                     .page = pages + p * layout.bytes});
  }
  Queued call(setting.backend, [&](std::size_t) { must(setting.backend.encode_pages(items)); });
  take_turns(call, 15);
  Json result{{"op", "encode"},
              {"tier", tier.name},
              {"pages", n_pages},
              {"bytes", n_pages * (layout.bytes + 4 * kPageTokens * kHeadDim)}};
  call.add_to(result);
  say(result);
}

void select(const Setting& setting, std::size_t n_lanes, std::size_t n_scores) {
  Arrays arrays(setting.backend);
  const std::vector<float> some = random_floats(n_scores, 6);
  const std::size_t keep = n_scores / 8;
  std::vector<SelectArgs> items;
  for (std::size_t lane = 0; lane < n_lanes; ++lane)
    items.push_back({arrays.put(some), n_scores, keep, arrays.make<std::int32_t>(keep)});
  Queued call(setting.backend, [&](std::size_t) { must(setting.backend.select(items)); });
  take_turns(call, 15);
  Json result{{"op", "select"},
              {"lanes", n_lanes},
              {"scores", n_scores},
              {"keep", keep},
              {"bytes", n_lanes * (n_scores + keep) * 4}};
  call.add_to(result);
  say(result);
}

}  // namespace

void bench_cache_operations(const Setting& setting) {
  const Tokens tokens(setting.backend, kPageTokens);
  for (const Tier& tier : tiers())
    for (const std::size_t n_pages : {256u, 2048u})  // a flush of 32 layers; part of a prompt
      if (!setting.small || n_pages == 256) encode(setting, tokens, tier, n_pages);
  const std::size_t n_scores = setting.small ? 4096 : 131072;
  for (const std::size_t n_lanes : {8u, 256u}) select(setting, n_lanes, n_scores);
}

}  // namespace satchel::bench
