// bench_attention [level] [threads]: what the CPU backend's cache operations reach, against the read
// bandwidth and the fp32 multiply-add rate measured in the same run.
//   decode   one token over n cached ones, 2-bit pages (groups of 16) beside exact fp16; each call
//            reads another layer's cache, 48 MiB of pages in all, so that it comes from memory
//   prefill  512 new tokens over themselves (and 2048 packed ones), multiply-adds that count only
//   score    the second pass over 1024 tokens; encode: pages packed one after the other
//   figures  the shortest round: other programs share the machine
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bench/machine_limits.h"
#include "kernels/base/rng.h"
#include "kernels/contract/registry.h"

namespace satchel::bench {
namespace {

using namespace satchel::kernels;

struct Shape {
  std::size_t head_dim, n_lanes, n_group;
};
constexpr Shape kShapes[] = {{64, 3, 3}, {128, 8, 4}};  // SmolLM2-135M; Llama-3-8B

// The shortest of as many rounds as a second allows, at least three.
template <class Body>
double best_seconds(const Body& body) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  const auto end = Clock::now() + std::chrono::seconds(1);
  for (int round = 0; round < 3 || Clock::now() < end; ++round) {
    const auto begin = Clock::now();
    body();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return best;
}

void must(const Result<void>& done) {
  if (done.ok()) return;
  std::fprintf(stderr, "%s\n", done.error().message.c_str());
  std::exit(1);
}

std::vector<float> random_floats(std::size_t n, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> out(n);
  for (float& x : out) x = static_cast<float>(rng.uniform() * 3.4 - 1.7);
  return out;
}

std::vector<Half> random_halves(std::size_t n, std::uint64_t seed) {
  const auto floats = random_floats(n, seed);
  std::vector<Half> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = float_to_half(floats[i]);
  return out;
}

std::vector<std::int32_t> positions_up_to(std::size_t n) {
  std::vector<std::int32_t> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<std::int32_t>(i);
  return out;
}

// The caches of many layers: every lane of every layer has bytes of its own.
class Layers {
 public:
  Layers(Backend& backend, Shape shape, std::size_t n_tokens, bool packed, std::size_t n_layers)
      : layout_(affine_layout({.head_dim = shape.head_dim}).value()),
        shape_(shape),
        positions_(positions_up_to(n_tokens)) {
    const std::size_t n_lanes = n_layers * shape.n_lanes, values = n_tokens * shape.head_dim;
    const std::size_t n_pages = n_tokens / kPageTokens;
    bytes_of_layer_ = shape.n_lanes * (packed ? n_pages * layout_.bytes : values * 4);
    storage_.resize(n_layers * bytes_of_layer_);
    const auto k = random_halves(values, 1), v = random_halves(values, 2);
    std::vector<std::byte> lane(bytes_of_layer_ / shape.n_lanes);
    if (packed) {
      for (std::size_t p = 0; p < n_pages; ++p) {
        const std::size_t at = p * kPageTokens;
        const auto done = backend.encode_page(layout_,
                                              {.k = k.data() + at * shape.head_dim,
                                               .v = v.data() + at * shape.head_dim,
                                               .positions = positions_.data() + at,
                                               .n_tokens = kPageTokens},
                                              lane.data() + p * layout_.bytes);
        if (!done.ok()) std::exit(1);
      }
    } else {
      std::memcpy(lane.data(), k.data(), values * 2);
      std::memcpy(lane.data() + values * 2, v.data(), values * 2);
    }
    pages_.resize(n_lanes * (packed ? n_pages : 0));
    runs_.resize(packed ? 0 : n_lanes);
    for (std::size_t l = 0; l < n_lanes; ++l) {
      std::byte* at = storage_.data() + l * lane.size();
      std::memcpy(at, lane.data(), lane.size());
      if (packed) {
        for (std::size_t p = 0; p < n_pages; ++p)
          pages_[l * n_pages + p] = {
              .bytes = at + p * layout_.bytes,
              .layout = &layout_,
              .first_position = static_cast<std::int32_t>(p * kPageTokens),
              .last_position = static_cast<std::int32_t>((p + 1) * kPageTokens - 1)};
        lanes_.push_back({.runs = {}, .pages = std::span(pages_).subspan(l * n_pages, n_pages)});
      } else {
        runs_[l] = {.k = reinterpret_cast<const Half*>(at),
                    .v = reinterpret_cast<const Half*>(at) + values,
                    .positions = positions_.data(),
                    .n_tokens = n_tokens};
        lanes_.push_back({.runs = {&runs_[l], 1}, .pages = {}});
      }
    }
  }
  Layers(const Layers&) = delete;
  std::span<const LaneView> layer(std::size_t i) const {
    return std::span(lanes_).subspan(i * shape_.n_lanes, shape_.n_lanes);
  }
  std::size_t n() const { return lanes_.size() / shape_.n_lanes; }
  std::size_t bytes_of_layer() const { return bytes_of_layer_; }

 private:
  PageLayout layout_;
  Shape shape_;
  std::vector<std::int32_t> positions_;
  std::size_t bytes_of_layer_ = 0;
  std::vector<std::byte> storage_;
  std::vector<PageView> pages_;
  std::vector<ExactRun> runs_;
  std::vector<LaneView> lanes_;
};

// Seconds of one layer's attention of one token.
double decode_seconds(Backend& backend, Shape shape, const Layers& layers, std::size_t n_tokens) {
  const std::size_t n_heads = shape.n_lanes * shape.n_group;
  const auto q = random_floats(n_heads * shape.head_dim, 3);
  std::vector<float> out(q.size());
  const std::int32_t position = static_cast<std::int32_t>(n_tokens);
  return best_seconds([&] {
           for (std::size_t i = 0; i < layers.n(); ++i)
             must(backend.attend({.q = q.data(),
                                  .n_tokens = 1,
                                  .n_heads = n_heads,
                                  .head_dim = shape.head_dim,
                                  .positions = {&position, 1},
                                  .lanes = layers.layer(i),
                                  .scale = 1 / std::sqrt(static_cast<float>(shape.head_dim)),
                                  .out = out.data()}));
         }) /
         static_cast<double>(layers.n());
}

void bench_decode(Backend& backend, Shape shape, std::size_t n_tokens,
                  const MachineLimits& limits) {
  const std::size_t page = affine_layout({.head_dim = shape.head_dim})->bytes;
  const std::size_t of_layer = shape.n_lanes * n_tokens / kPageTokens * page;
  const std::size_t n_layers = std::max<std::size_t>(2, (std::size_t{48} << 20) / of_layer);
  double packed = 0, exact = 0;
  {
    const Layers layers(backend, shape, n_tokens, true, n_layers);
    packed = decode_seconds(backend, shape, layers, n_tokens);
  }
  {
    const Layers layers(backend, shape, n_tokens, false, std::max<std::size_t>(2, n_layers / 4));
    exact = decode_seconds(backend, shape, layers, n_tokens);
  }
  const double bytes = static_cast<double>(of_layer);
  const double exact_bytes = static_cast<double>(shape.n_lanes * n_tokens * shape.head_dim * 4);
  std::printf(
      "decode D=%-3zu lanes %zu g=%zu n=%-6zu packed %8.1f us %5.1f GB/s %3.0f %%   fp16 %8.1f us "
      "%5.1f GB/s %3.0f %%   ratio %.2f\n",
      shape.head_dim, shape.n_lanes, shape.n_group, n_tokens, packed * 1e6, bytes / packed * 1e-9,
      100 * bytes / packed / limits.read_bytes_per_s, exact * 1e6, exact_bytes / exact * 1e-9,
      100 * exact_bytes / exact / limits.read_bytes_per_s, exact / packed);
}

void bench_prefill(Backend& backend, Shape shape, std::size_t n_history,
                   const MachineLimits& limits) {
  constexpr std::size_t kTokens = 512;
  const std::size_t n_heads = shape.n_lanes * shape.n_group, d = shape.head_dim;
  const auto q = random_floats(kTokens * n_heads * d, 4);
  const auto k = random_halves(kTokens * d, 5), v = random_halves(kTokens * d, 6);
  auto positions = positions_up_to(kTokens);
  for (auto& p : positions) p += static_cast<std::int32_t>(n_history);
  const Layers history(backend, shape, n_history, true, 1);
  const ExactRun run{k.data(), v.data(), positions.data(), kTokens};
  std::vector<LaneView> lanes;
  for (std::size_t l = 0; l < shape.n_lanes; ++l)
    lanes.push_back({.runs = {&run, 1}, .pages = history.layer(0)[l].pages});
  std::vector<float> out(q.size()), lse(kTokens * n_heads);
  const double seconds = best_seconds([&] {
    must(backend.attend({.q = q.data(),
                         .n_tokens = kTokens,
                         .n_heads = n_heads,
                         .head_dim = d,
                         .positions = positions,
                         .lanes = lanes,
                         .scale = 1 / std::sqrt(static_cast<float>(d)),
                         .out = out.data(),
                         .lse = lse.data()}));
  });
  const double pairs = static_cast<double>(n_heads) *
                       static_cast<double>(kTokens * n_history + kTokens * (kTokens + 1) / 2);
  const double flops = pairs * 4 * static_cast<double>(d);
  std::printf(
      "prefill D=%-3zu lanes %zu g=%zu 512 tokens over %zu packed: %8.1f us  %6.1f GFLOP/s "
      "%3.0f %%\n",
      d, shape.n_lanes, shape.n_group, n_history, seconds * 1e6, flops / seconds * 1e-9,
      100 * flops / seconds / limits.fma_flops_per_s);
}

void bench_score(Backend& backend, Shape shape, const MachineLimits& limits) {
  constexpr std::size_t kTokens = 1024;
  const std::size_t d = shape.head_dim;
  const auto q = random_floats(kTokens * shape.n_group * d, 7);
  const auto k = random_halves(kTokens * d, 8);
  const auto positions = positions_up_to(kTokens);
  const std::vector<float> lse(kTokens * shape.n_group, 5.0f);
  std::vector<float> scores(kTokens, 0.0f);
  const double seconds = best_seconds([&] {
    must(backend.score({.q = q.data(),
                        .lse = lse.data(),
                        .n_tokens = kTokens,
                        .n_heads = shape.n_group,
                        .head_dim = d,
                        .n_group = shape.n_group,
                        .positions = positions,
                        .keys = {k.data(), k.data(), positions.data(), kTokens},
                        .scale = 1 / std::sqrt(static_cast<float>(d)),
                        .scores = scores.data()}));
  });
  const double flops = static_cast<double>(shape.n_group) *
                       static_cast<double>(kTokens * (kTokens + 1) / 2) * 2 *
                       static_cast<double>(d);
  std::vector<std::int32_t> kept(kTokens / 2);
  const double select =
      best_seconds([&] { must(backend.select(scores.data(), kTokens, kept.size(), kept.data())); });
  std::printf(
      "score   D=%-3zu g=%zu 1024 tokens, one lane: %8.1f us  %6.1f GFLOP/s %3.0f %%;  "
      "select half of them %.1f us\n",
      d, shape.n_group, seconds * 1e6, flops / seconds * 1e-9,
      100 * flops / seconds / limits.fma_flops_per_s, select * 1e6);
}

void bench_encode(Backend& backend, std::size_t head_dim) {
  const PageLayout layout = affine_layout({.head_dim = head_dim}).value();
  const auto k = random_halves(kPageTokens * head_dim, 9),
             v = random_halves(kPageTokens * head_dim, 10);
  const auto positions = positions_up_to(kPageTokens);
  std::vector<std::byte> page(layout.bytes);
  const double seconds = best_seconds([&] {
    const auto done = backend.encode_page(
        layout, {k.data(), v.data(), positions.data(), kPageTokens}, page.data());
    if (!done.ok()) std::exit(1);
  });
  std::printf("encode  D=%-3zu 2 bits: %.2f us a page, %.2f Gvalues/s\n", head_dim, seconds * 1e6,
              static_cast<double>(2 * kPageTokens * head_dim) / seconds * 1e-9);
}

void bench_all(const std::string& level, std::size_t n_threads) {
  auto opened = open_backend("cpu", {.n_threads = n_threads, .cpu_level = level});
  if (!opened.ok()) {
    std::fprintf(stderr, "%s\n", opened.error().message.c_str());
    std::exit(1);
  }
  Backend& backend = **opened;
  const MachineLimits limits = measure_machine(n_threads, level != "avx2");
  std::printf("%s, %s, %s: reads %.1f GB/s, %.0f GFLOP/s fp32\n", processor_name().c_str(),
              backend.device().c_str(), today().c_str(), limits.read_bytes_per_s * 1e-9,
              limits.fma_flops_per_s * 1e-9);
  for (const Shape& shape : kShapes)
    for (const std::size_t n : {1024u, 4096u, 16384u}) bench_decode(backend, shape, n, limits);
  for (const Shape& shape : kShapes)
    for (const std::size_t history : {0u, 2048u}) bench_prefill(backend, shape, history, limits);
  for (const Shape& shape : kShapes) bench_score(backend, shape, limits);
  for (const Shape& shape : kShapes) bench_encode(backend, shape.head_dim);
}

}  // namespace
}  // namespace satchel::bench

int main(int argc, char** argv) {
  const auto levels = satchel::kernels::cpu_level_names();
  const std::size_t present = satchel::kernels::cpu_levels_present();
  if (present == 0) return 1;
  const std::string level = argc > 1 ? argv[1] : std::string(levels[present - 1]);
  const std::size_t n_threads = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1;
  satchel::bench::bench_all(level, n_threads);
}
