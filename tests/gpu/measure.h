// How the benchmarks of a backend take time and say what came out.
//   time     wall clock around many queued calls that end in finish(), less what finish() takes
//            when nothing is queued: the contract has no events. What a call costs on the host
//            counts too and is told apart (queue_us): a graph starts when all of its round has
//            been queued
//   rounds   what is compared takes its rounds in turn; median, 5th and 95th percentile of them.
//            All rounds of a call are alike, so that the cuda backend sends a round as one graph,
//            as it does a decode step (kernels/cuda/device/queue.h); the graph is made before the
//            clock starts
//   results  a line of JSON each, written at once, so that what was measured stays if time runs out
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/rounds.h"
#include "kernels/base/assert.h"
#include "kernels/contract/backend.h"

namespace satchel::bench {

using Json = nlohmann::ordered_json;

struct Setting {
  kernels::Backend& backend;
  bool small = false;  // sizes for trying the program where there is no card
  // Attention at one length, decoding of one tier, for a profiler; 0 and empty: all.
  std::size_t n_tokens = 0;
  std::string tier = {};
};

inline void say(const Json& result) {
  std::cout << result.dump() << std::endl;
}

// Arrays in a backend's memory, as long as this lives.
class Arrays {
 public:
  explicit Arrays(kernels::Backend& backend) : backend_(backend) {}
  Arrays(const Arrays&) = delete;

  template <class T>
  T* make(std::size_t n) {
    buffers_.push_back(must(backend_.allocate(n * sizeof(T))));
    return reinterpret_cast<T*>(buffers_.back().data());
  }
  template <class T>
  T* put(const std::vector<T>& values) {
    T* there = make<T>(values.size());
    must(backend_.upload(reinterpret_cast<std::byte*>(there), std::as_bytes(std::span(values))));
    return there;
  }
  template <class T>
  std::vector<T> get(const T* there, std::size_t n) {
    std::vector<T> values(n);
    must(backend_.download(std::as_writable_bytes(std::span(values)),
                           reinterpret_cast<const std::byte*>(there)));
    return values;
  }

 private:
  kernels::Backend& backend_;
  std::vector<kernels::Buffer> buffers_;
};

// One call to time, repeated. It is told which of its round it is, from 0: its arguments come of
// that alone, and each should find its data out of the cache.
class Queued {
 public:
  Queued(kernels::Backend& backend, std::function<void(std::size_t i)> call)
      : backend_(&backend), call_(std::move(call)) {}

  // Finds how many calls make a round.
  void prepare() {
    run(2);
    constexpr double kRound = 4e-3;  // seconds; chosen: some thousand times what the clock costs
    const double one = run(4) / 4;
    n_calls_ = static_cast<std::size_t>(std::clamp(kRound / std::max(one, 1e-9), 1.0, 200.0));
    empty_ = run(0);
    for (int i = 0; i < 8; ++i) empty_ = std::min(empty_, run(0));
  }
  void warm_up() { run(n_calls_); }
  void round() {
    const auto n = static_cast<double>(n_calls_);
    seconds_.push_back(std::max(run(n_calls_) - empty_, 0.0) / n);
    queueing_ = std::min(queueing_, queued_seconds_ / n);
  }
  double median() const { return percentile(0.5); }
  void add_to(Json& result) const {
    result["us"] = median() * 1e6;
    result["us_p5"] = percentile(0.05) * 1e6;
    result["us_p95"] = percentile(0.95) * 1e6;
    result["queue_us"] = queueing_ * 1e6;
    result["finish_us"] = empty_ * 1e6;
  }

 private:
  double run(std::size_t n_calls) {
    return seconds_of([&] {
      queued_seconds_ = seconds_of([&] {
        for (std::size_t i = 0; i < n_calls; ++i) call_(i);
      });
      must(backend_->finish());
    });
  }
  double percentile(double share) const {
    std::vector<double> sorted = seconds_;
    std::sort(sorted.begin(), sorted.end());
    return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5)];
  }

  kernels::Backend* backend_;
  std::function<void(std::size_t i)> call_;
  std::size_t n_calls_ = 1;
  double empty_ = 0, queued_seconds_ = 0, queueing_ = 1e9;
  std::vector<double> seconds_;
};

// A graph each: as many as the cuda backend keeps (Queue::kStepsKept), else each turn would find
// its own forgotten and be timed without.
inline constexpr std::size_t kTurnsMost = 8;
inline void take_turns(std::span<Queued> calls, int n_rounds) {
  SATCHEL_ASSERT(calls.size() <= kTurnsMost);
  for (Queued& call : calls) call.prepare();
  // A round is known after the first, and a graph in the second.
  for (int i = 0; i < 3; ++i)
    for (Queued& call : calls) call.warm_up();
  for (int i = 0; i < n_rounds; ++i)
    for (Queued& call : calls) call.round();
}
inline void take_turns(Queued& call, int n_rounds) {
  take_turns({&call, 1}, n_rounds);
}

// The parts of bench_gpu.
void bench_decode_attention(const Setting& setting);
void bench_prefill_attention(const Setting& setting);
void bench_cache_operations(const Setting& setting);
void bench_weights(const Setting& setting);
void bench_moe(const Setting& setting);

}  // namespace satchel::bench
