// bench_scoring [LEVEL] [THREADS] [TOKENS]: what scoring adds to the attention of a prompt that is
// read in chunks, on the CPU backend.
//   reads    4,096 tokens of one layer in chunks of 256, as a model does: K and V of a chunk are
//            stored, its queries attend over all so far, then the recipe's scorer observes
//   recipes  a window of queries (snapkv), column sums of all (h2o), the last 400 counted
//            (scissorhands), two softmaxes (keyformer), all and near ones (fastgen), keys alone
//            (keydiff)
//   columns  ms of attention and of observing; `with`: both by attention alone, so that 1.6 is 60 %
//            more; `layer`: ms until what stays is decided and packed, in no column before
//   input    normal values
//   figures  the shortest of rounds that all recipes take in turn, attention and observing of each
//            round timed apart, in CPU time where there is one thread (the default): other programs
//            share the machine
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
#include "kvcache/cache/cache.h"
#include "support/lanes.h"

namespace satchel::bench {
namespace {

using namespace satchel::kernels;

constexpr std::size_t kChunk = 256;  // Backend::work_limits() of the CPU
constexpr int kRounds = 5;           // chosen: two would do on a machine of one's own
constexpr const char* kRecipes[] = {"snapkv",    "h2o",     "scissorhands",
                                    "keyformer", "fastgen", "keydiff"};

struct Seconds {
  double attend = 1e9, observe = 1e9, layer = 1e9;
};

// A layer's q, k and v of all tokens, which all recipes read.
struct Prompt {
  Shape shape;
  std::size_t n_tokens;
  std::vector<float> q, k, v;

  Prompt(Shape shape_in, std::size_t n)
      : shape(shape_in),
        n_tokens(n),
        q(random_floats(n * n_heads() * shape.head_dim, 1)),
        k(random_floats(n * shape.n_lanes * shape.head_dim, 2)),
        v(random_floats(n * shape.n_lanes * shape.head_dim, 3)) {}
  std::size_t n_heads() const { return shape.n_lanes * shape.n_group; }
};

class ReadLayer {
 public:
  ReadLayer(const Prompt& prompt, const std::shared_ptr<Backend>& backend, const char* recipe,
            Time time)
      : prompt_(prompt),
        time_(time),
        backend_(*backend),
        name_(recipe),
        positions_(positions_up_to(prompt.n_tokens)),
        out_(kChunk * prompt.n_heads() * prompt.shape.head_dim),
        lse_(kChunk * prompt.n_heads()) {
    shape_.layers = {{.n_heads = prompt.n_heads(),
                      .n_kv_heads = prompt.shape.n_lanes,
                      .head_dim = prompt.shape.head_dim,
                      .attention_scale = 1 / std::sqrt(static_cast<float>(prompt.shape.head_dim)),
                      .inverse_frequency = test::rope_frequencies(prompt.shape.head_dim)}};
    constexpr std::size_t kArena = std::size_t{256} << 20;
    arena_ = must(kvcache::Arena::open(backend, kArena));
    cache_ = must(kvcache::Cache::open(arena_, shape_, must(kvcache::Recipe::builtin(recipe))));
  }

  void round() {
    cache_->clear();
    Seconds now{.attend = 0, .observe = 0, .layer = 0};
    kvcache::Prefill reading = must(cache_->begin_prefill({.n_tokens = prompt_.n_tokens}));
    must(reading.begin_layer(0));
    for (std::size_t first = 0; first < prompt_.n_tokens; first += kChunk)
      chunk(reading, first, std::min(kChunk, prompt_.n_tokens - first), now);
    now.layer = seconds([&] { must(reading.end_layer()); });
    best_ = {.attend = std::min(best_.attend, now.attend),
             .observe = std::min(best_.observe, now.observe),
             .layer = std::min(best_.layer, now.layer)};
  }
  const char* name() const { return name_; }
  const Seconds& best() const { return best_; }

 private:
  void chunk(kvcache::Prefill& reading, std::size_t first, std::size_t n, Seconds& now) {
    const std::size_t row = prompt_.shape.n_lanes * prompt_.shape.head_dim;
    const float* q = prompt_.q.data() + first * row * prompt_.shape.n_group;
    const float* k = prompt_.k.data() + first * row;
    must(reading.add_chunk(k, prompt_.v.data() + first * row, n));
    kernels::Sequence lanes = reading.lanes();
    lanes.n_tokens = n;
    const kvcache::LayerShape& layer = shape_.layers[0];
    now.attend += seconds([&] {
      must(backend_.attend({.q = q,
                            .n_heads = layer.n_heads,
                            .n_kv_heads = layer.n_kv_heads,
                            .head_dim = layer.head_dim,
                            .batch = {.positions = positions_.data() + first,
                                      .n_tokens = n,
                                      .position_min = positions_[first],
                                      .position_max = positions_[first + n - 1]},
                            .sequences = {&lanes, 1},
                            .scale = layer.attention_scale,
                            .rope = layer.rope(),
                            .out = out_.data(),
                            .lse = lse_.data()}));
    });
    now.observe += seconds([&] {
      must(reading.observe({.q = q, .lse = lse_.data(), .pre_rope_q = q, .pre_rope_k = k}));
    });
  }

  template <class Body>
  double seconds(const Body& body) const {
    const double begin = now_seconds(time_);
    body();
    return now_seconds(time_) - begin;
  }

  const Prompt& prompt_;
  const Time time_;
  Backend& backend_;
  const char* name_;
  const std::vector<std::int32_t> positions_;
  std::vector<float> out_, lse_;
  kvcache::CacheShape shape_;
  std::shared_ptr<kvcache::Arena> arena_;
  std::unique_ptr<kvcache::Cache> cache_;
  Seconds best_;
};

void bench_all(const std::string& level, std::size_t n_threads, std::size_t n_tokens) {
  const std::shared_ptr<Backend> backend =
      must(open_backend("cpu", {.n_threads = n_threads, .cpu_level = level}));
  std::printf("%s, %s, %s\n", processor_name().c_str(), backend->device().c_str(), today().c_str());
  for (const Shape& shape : kShapes) {
    const Prompt prompt(shape, n_tokens);
    std::vector<std::unique_ptr<ReadLayer>> readings;
    for (const char* recipe : kRecipes)
      readings.push_back(std::make_unique<ReadLayer>(
          prompt, backend, recipe, n_threads == 1 ? Time::of_thread : Time::wall));
    for (int round = 0; round < kRounds; ++round)
      for (const auto& reading : readings) reading->round();
    double plain = 1e9;  // the same for all
    for (const auto& reading : readings) plain = std::min(plain, reading->best().attend);
    std::printf("%zu tokens, %zu heads over %zu of %zu: attention %.1f ms\n", n_tokens,
                prompt.n_heads(), shape.n_lanes, shape.head_dim, plain * 1e3);
    for (const auto& reading : readings) {
      const Seconds& best = reading->best();
      std::printf("  %-13s attention %8.1f ms, observing %8.1f ms, with %.2f; layer %.1f ms\n",
                  reading->name(), best.attend * 1e3, best.observe * 1e3,
                  (plain + best.observe) / plain, best.layer * 1e3);
    }
  }
}

}  // namespace
}  // namespace satchel::bench

int main(int argc, char** argv) {
  const auto cpu = satchel::bench::chosen_cpu(argc, argv);
  if (!cpu) return 1;
  const std::size_t n_tokens = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 4096;
  satchel::bench::bench_all(cpu->level, cpu->n_threads, n_tokens);
}
