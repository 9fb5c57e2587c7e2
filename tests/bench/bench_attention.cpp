// bench_attention [level] [threads] [part]: what the CPU backend's cache operations reach, against
// the read bandwidth and the fp32 multiply-add rate measured in the same run.
//   parts    all of them, or the one that is named
//   decode   one token over n cached ones, 2-bit pages (groups of 16) beside exact fp16; each call
//            reads another layer's cache, 48 MiB of pages in all, so that it comes from memory
//   pages    pages of other kinds beside those, a round of each in turn
//   ladder   pages of the ladder (kvcache/codecs/klt.cpp) beside exact fp16, a round of each in
//            turn; 8, 4, 3 and 2 bits, K at 4 with V at 2, and 4 bits in shorter pages
//   prefill  512 new tokens over themselves (and 2048 packed ones), multiply-adds that count only
//   score    the second pass over 1024 tokens; encode: pages packed one after the other
//   echo     2048 queries over themselves, all of them: logsumexp() and score() by the maximum, one
//            product each, beside attend() over 4096, two products; the band of the same queries
//   figures  the shortest round: other programs share the machine
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "bench/attention_step.h"
#include "bench/machine_limits.h"
#include "bench/rounds.h"
#include "kernels/registry/registry.h"
#include "support/mixed_bit.h"

namespace satchel::bench {
namespace {

using namespace satchel::kernels;

struct PagesOf {
  std::size_t bits = 2, group = 16;
  std::size_t capacity = kPageTokens;
  Transform transform = Transform::none;
  std::int32_t shift = 0;
};
Held pages_of(const PagesOf& what) {
  const OperandShape operand{.form = OperandShape::Form::affine,
                             .bits = what.bits,
                             .group = what.group,
                             .transform = what.transform};
  return {.page = PageShape{.capacity = what.capacity, .k = operand, .v = operand},
          .shift = what.shift};
}

// Layers enough for so many bytes of 2-bit pages, a quarter of them where they hold fp16.
std::size_t n_layers_of(Shape shape, std::size_t n_tokens, const Held& held, std::size_t bytes) {
  const std::size_t of_layer = shape.n_lanes * n_tokens * shape.head_dim * 17 / 16;
  return std::max<std::size_t>(2, bytes / of_layer / (held.page.has_value() ? 1 : 4));
}

// Seconds of one layer's attention of one token.
double decode_seconds_of(Backend& backend, Shape shape, std::size_t n_tokens, const Held& held) {
  const Layers layers(backend, shape, n_tokens, held,
                      n_layers_of(shape, n_tokens, held, std::size_t{48} << 20));
  DecodeStep step(backend, shape, layers, n_tokens);
  return best_seconds([&] { step(); }) / static_cast<double>(layers.n());
}

void bench_decode(Backend& backend, Shape shape, std::size_t n_tokens,
                  const MachineLimits& limits) {
  const std::size_t d = shape.head_dim;
  PageShape page = *pages_of({}).page;
  page.head_dim = d;
  const double packed = decode_seconds_of(backend, shape, n_tokens, pages_of({}));
  const double exact = decode_seconds_of(backend, shape, n_tokens, {});
  const double bytes =
      static_cast<double>(shape.n_lanes * n_tokens / kPageTokens * page_layout(page)->bytes);
  const double exact_bytes = static_cast<double>(shape.n_lanes * n_tokens * d * 4);
  std::printf(
      "decode D=%-3zu lanes %zu g=%zu n=%-6zu packed %8.1f us %5.1f GB/s %3.0f %%   fp16 %8.1f us "
      "%5.1f GB/s %3.0f %%   ratio %.2f\n",
      d, shape.n_lanes, shape.n_group, n_tokens, packed * 1e6, bytes / packed * 1e-9,
      100 * bytes / packed / limits.read_bytes_per_s, exact * 1e6, exact_bytes / exact * 1e-9,
      100 * exact_bytes / exact / limits.read_bytes_per_s, exact / packed);
}

// Pages of several kinds, a round of each in turn, so that what else the machine does meets all
// alike.
class KindsOfPages {
 public:
  KindsOfPages(Backend& backend, Shape shape, std::size_t n_tokens)
      : backend_(backend), shape_(shape), n_tokens_(n_tokens), basis_(shape.head_dim) {}
  KindsOfPages(const KindsOfPages&) = delete;

  void add_others() {
    add("2 bits", pages_of({}));
    add("of 32", pages_of({.group = 32}));
    add("exact", {});
    add("4 bits", pages_of({.bits = 4, .group = 32}));
    constexpr PagesOf kTransformed{.bits = 4, .group = 32, .transform = Transform::hadamard};
    add("transformed", pages_of(kTransformed));
    PagesOf other = kTransformed;
    for (const std::size_t capacity : {96u, 64u, 32u}) {
      other.capacity = capacity;
      add("in " + std::to_string(capacity), pages_of(other));
    }
    other = kTransformed;
    other.shift = 100;
    add("moved", pages_of(other));
    add("8 bits", pages_of({.bits = 8, .group = 32}));
  }

  void add_ladder() {
    add("fp16", {});
    for (const std::size_t bits : {8u, 4u, 3u, 2u}) add(std::to_string(bits), rung(bits, bits));
    add("K4V2", rung(4, 2));
    for (const std::size_t capacity : {96u, 64u, 32u}) {
      Held shorter = rung(4, 4);
      shorter.page->capacity = capacity;
      add("4 in " + std::to_string(capacity), shorter);
    }
  }

  void run(const char* called) {
    constexpr int kRounds = 15;
    for (int round = 0; round < kRounds; ++round)
      for (Kind& kind : kinds_) kind.measure();
    std::printf("%s D=%-3zu lanes %zu g=%zu n=%zu, us (and by the first):", called, shape_.head_dim,
                shape_.n_lanes, shape_.n_group, n_tokens_);
    for (const Kind& kind : kinds_)
      std::printf(" %s %.1f (%.2f)", kind.name.c_str(), kind.best * 1e6,
                  kind.best / kinds_.front().best);
    std::printf("\n");
  }

 private:
  struct Kind {
    std::string name;
    std::unique_ptr<Layers> layers;
    std::unique_ptr<DecodeStep> step;
    double best = 1e9;

    void measure() {
      best = std::min(best, seconds_of([&] { (*step)(); }) / static_cast<double>(layers->n()));
    }
  };
  // As codecs/klt.cpp grades them.
  Held rung(std::size_t k_bits, std::size_t v_bits) const {
    const std::vector<std::uint8_t> pattern =
        k_bits == 2   ? std::vector<std::uint8_t>{4, 3, 3, 2, 2, 1, 1, 0}
        : k_bits == 3 ? std::vector<std::uint8_t>{5, 4, 3, 3, 3, 2, 2, 2}
        : k_bits == 4 ? std::vector<std::uint8_t>{6, 5, 4, 4, 4, 3, 3, 3}
                      : std::vector<std::uint8_t>{8, 8, 8, 8, 8, 8, 8, 8};
    const Basis basis = basis_.view();
    PageShape page{.k = test::graded_operand(pattern, k_bits == 8 ? nullptr : &basis),
                   .v = {.form = OperandShape::Form::affine,
                         .bits = v_bits,
                         .group = shape_.head_dim,
                         .symmetric = true,
                         .transform = Transform::hadamard}};
    if (k_bits == 8) page.k.transform = Transform::hadamard;
    const std::size_t n_quads = shape_.head_dim / kQuad;
    for (std::size_t i = 0; i < n_quads; ++i) page.k.quad_bits[i] = pattern[i * 8 / n_quads];
    return {.page = page};
  }
  void add(std::string name, const Held& held) {
    const std::size_t n_layers = n_layers_of(shape_, n_tokens_, held, std::size_t{8} << 20);
    auto layers = std::make_unique<Layers>(backend_, shape_, n_tokens_, held, n_layers);
    auto step = std::make_unique<DecodeStep>(backend_, shape_, *layers, n_tokens_);
    kinds_.push_back({std::move(name), std::move(layers), std::move(step)});
  }

  Backend& backend_;
  const Shape shape_;
  const std::size_t n_tokens_;
  const test::TestBasis basis_;
  std::vector<Kind> kinds_;
};

void bench_prefill(Backend& backend, Shape shape, std::size_t n_history,
                   const MachineLimits& limits) {
  constexpr std::size_t kTokens = 512;
  const std::size_t n_heads = shape.n_lanes * shape.n_group, d = shape.head_dim;
  const auto q = random_floats(kTokens * n_heads * d, 4);
  const auto k = random_halves(kTokens * d, 5), v = random_halves(kTokens * d, 6);
  auto positions = positions_up_to(kTokens);
  for (auto& p : positions) p += static_cast<std::int32_t>(n_history);
  Layers history(backend, shape, std::max(n_history, kPageTokens), pages_of({}), 1);
  const ExactRun run{k.data(), v.data(), positions.data(), kTokens};
  for (std::size_t l = 0; l < shape.n_lanes; ++l) {
    must(history.table().set_runs(l, {&run, 1}));
    if (n_history == 0) must(history.table().set_pages(l, {}));
  }
  const Sequence sequence{.lanes = &history.table(), .n_tokens = kTokens};
  std::vector<float> out(q.size()), lse(kTokens * n_heads);
  const double seconds = best_seconds([&] {
    must(backend.attend({.q = q.data(),
                         .n_heads = n_heads,
                         .n_kv_heads = shape.n_lanes,
                         .head_dim = d,
                         .batch = {.positions = positions.data(), .n_tokens = kTokens},
                         .sequences = {&sequence, 1},
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
  const ExactRun run{k.data(), k.data(), positions.data(), kTokens};
  const ScoreArgs args{.lane = {.q = q.data(),
                                .batch = {.positions = positions.data(), .n_tokens = kTokens},
                                .n_heads = shape.n_group,
                                .head_dim = d,
                                .n_group = shape.n_group,
                                .keys = {.runs = {&run, 1}, .pages = {}},
                                .scale = 1 / std::sqrt(static_cast<float>(d))},
                       .lse = lse.data(),
                       .scores = scores.data()};
  const double seconds = best_seconds([&] { must(backend.score({&args, 1})); });
  const double flops = static_cast<double>(shape.n_group) *
                       static_cast<double>(kTokens * (kTokens + 1) / 2) * 2 *
                       static_cast<double>(d);
  std::vector<std::int32_t> kept(kTokens / 2);
  const SelectArgs choice{scores.data(), kTokens, kept.size(), kept.data()};
  const double select = best_seconds([&] { must(backend.select({&choice, 1})); });
  std::printf(
      "score   D=%-3zu g=%zu 1024 tokens, one lane: %8.1f us  %6.1f GFLOP/s %3.0f %%;  "
      "select half of them %.1f us\n",
      d, shape.n_group, seconds * 1e6, flops / seconds * 1e-9,
      100 * flops / seconds / limits.fma_flops_per_s, select * 1e6);
}

// A round of each in turn, so that what else the machine does meets all alike.
class Echo {
 public:
  Echo(Backend& backend, Shape shape)
      : backend_(backend),
        shape_(shape),
        n_heads_(shape.n_lanes * shape.n_group),
        held_(backend, shape, 2 * kTokens, {}, 1),
        positions_(positions_up_to(3 * kTokens)),
        q_(random_floats(kTokens * n_heads_ * shape.head_dim, 11)),
        out_(q_.size()),
        lse_(kTokens * n_heads_, 5.0f),
        k_(random_halves(kTokens * shape.head_dim, 12)),
        run_{k_.data(), k_.data(), positions_.data(), kTokens},
        scores_(shape.n_lanes * kTokens) {}
  Echo(const Echo&) = delete;

  void run() {
    Time attended, summed, scored, band_summed, band_scored;
    for (int round = 0; round < 9; ++round) {
      attended.measure([&] { attend(); });
      summed.measure([&] { logsumexp(AttentionMask::full); });
      scored.measure([&] { score(AttentionMask::full); });
      band_summed.measure([&] { logsumexp(AttentionMask::band); });
      band_scored.measure([&] { score(AttentionMask::band); });
    }
    const auto pairs = static_cast<double>(kTokens * kTokens * n_heads_);
    const double product = pairs * static_cast<double>(shape_.head_dim);
    std::printf(
        "echo    D=%-3zu lanes %zu g=%zu 2048 queries: attend over 4096 %.1f ms %.1f GMAC/s, "
        "log_sum %.1f ms %.1f GMAC/s, score %.1f ms %.1f GMAC/s; both by attend's rate %.3f; "
        "band %.2f + %.2f ms\n",
        shape_.head_dim, shape_.n_lanes, shape_.n_group, attended.best * 1e3,
        4 * product / attended.best * 1e-9, summed.best * 1e3, product / summed.best * 1e-9,
        scored.best * 1e3, product / scored.best * 1e-9,
        (summed.best + scored.best) / (attended.best / 2), band_summed.best * 1e3,
        band_scored.best * 1e3);
  }

 private:
  static constexpr std::size_t kTokens = 2048;
  struct Time {
    double best = 1e9;
    template <class Body>
    void measure(const Body& body) {
      best = std::min(best, seconds_of(body));
    }
  };
  float scale() const { return 1 / std::sqrt(static_cast<float>(shape_.head_dim)); }

  // All 4096 keys come before the queries.
  void attend() {
    const Sequence sequence{.lanes = &held_.table(), .n_tokens = kTokens};
    must(backend_.attend(
        {.q = q_.data(),
         .n_heads = n_heads_,
         .n_kv_heads = shape_.n_lanes,
         .head_dim = shape_.head_dim,
         .batch = {.positions = positions_.data() + 2 * kTokens, .n_tokens = kTokens},
         .sequences = {&sequence, 1},
         .scale = scale(),
         .out = out_.data()}));
  }
  LaneQueries lane(std::size_t index, AttentionMask mask) const {
    return {.q = q_.data(),
            .batch = {.positions = positions_.data(), .n_tokens = kTokens},
            .n_heads = n_heads_,
            .head_dim = shape_.head_dim,
            .first_head = index * shape_.n_group,
            .n_group = shape_.n_group,
            .keys = {.runs = {&run_, 1}, .pages = {}},
            .scale = scale(),
            .mask = mask};
  }
  void logsumexp(AttentionMask mask) {
    std::vector<LogSumExpArgs> items;
    for (std::size_t l = 0; l < shape_.n_lanes; ++l)
      items.push_back({.lane = lane(l, mask), .lse = lse_.data()});
    must(backend_.logsumexp(items));
  }
  void score(AttentionMask mask) {
    std::vector<ScoreArgs> items;
    for (std::size_t l = 0; l < shape_.n_lanes; ++l)
      items.push_back({.lane = lane(l, mask),
                       .lse = lse_.data(),
                       .queries = ScoreArgs::Queries::max,
                       .heads = ScoreArgs::Heads::max,
                       .scores = scores_.data() + l * kTokens});
    must(backend_.score(items));
  }

  Backend& backend_;
  const Shape shape_;
  const std::size_t n_heads_;
  Layers held_;
  const std::vector<std::int32_t> positions_;
  const std::vector<float> q_;
  std::vector<float> out_, lse_;
  const std::vector<Half> k_;
  const ExactRun run_;
  std::vector<float> scores_;
};

void bench_encode(Backend& backend, std::size_t head_dim) {
  PageShape shape = *pages_of({}).page;
  shape.head_dim = head_dim;
  const PageLayout layout = page_layout(shape).value();
  const auto k = random_halves(kPageTokens * head_dim, 9),
             v = random_halves(kPageTokens * head_dim, 10);
  const auto positions = positions_up_to(kPageTokens);
  std::vector<std::byte> page(layout.bytes);
  const EncodeArgs args{.layout = &layout,
                        .exact = {k.data(), v.data(), positions.data(), kPageTokens},
                        .page = page.data()};
  const double seconds = best_seconds([&] { must(backend.encode_pages({&args, 1})); });
  std::printf("encode  D=%-3zu 2 bits: %.2f us a page, %.2f Gvalues/s\n", head_dim, seconds * 1e6,
              static_cast<double>(2 * kPageTokens * head_dim) / seconds * 1e-9);
}

void bench_all(const std::string& level, std::size_t n_threads, const std::string& part) {
  const auto opened = must(open_backend("cpu", {.n_threads = n_threads, .cpu_level = level}));
  Backend& backend = *opened;
  const MachineLimits limits = measure_machine(n_threads, level != "avx2");
  std::printf("%s, %s, %s: reads %.1f GB/s, %.0f GFLOP/s fp32\n", processor_name().c_str(),
              backend.device().c_str(), today().c_str(), limits.read_bytes_per_s * 1e-9,
              limits.fma_flops_per_s * 1e-9);
  const auto wanted = [&](const char* name) { return part.empty() || part == name; };
  for (const Shape& shape : kShapes) {
    for (const std::size_t n : {1024u, 4096u, 16384u})
      if (wanted("decode")) bench_decode(backend, shape, n, limits);
    // Whole pages of every capacity.
    for (const std::size_t n : {384u, 1920u, 16128u})
      for (const char* called : {"pages", "ladder"}) {
        if (!wanted(called)) continue;
        KindsOfPages kinds(backend, shape, n);
        called[0] == 'p' ? kinds.add_others() : kinds.add_ladder();
        kinds.run(called);
      }
    for (const std::size_t history : {0u, 2048u})
      if (wanted("prefill")) bench_prefill(backend, shape, history, limits);
    if (wanted("score")) bench_score(backend, shape, limits);
    if (wanted("echo")) Echo(backend, shape).run();
    if (wanted("encode")) bench_encode(backend, shape.head_dim);
  }
}

}  // namespace
}  // namespace satchel::bench

int main(int argc, char** argv) {
  const auto cpu = satchel::bench::chosen_cpu(argc, argv);
  if (!cpu) return 1;
  satchel::bench::bench_all(cpu->level, cpu->n_threads, argc > 3 ? argv[3] : "");
}
