// What the benchmarks time by, and what they feed: other programs share the machine, so a figure is
// the shortest of several rounds, and what is to be compared takes its rounds in turn.
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numbers>
#include <utility>
#include <vector>

#include "kernels/base/half.h"
#include "kernels/base/result.h"
#include "kernels/base/rng.h"

namespace satchel::bench {

// What was expected to go well, or the end of the program.
template <class T>
T must(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

template <class Body>
double seconds_of(const Body& body) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  body();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The shortest of as many rounds as a second allows, at least three.
template <class Body>
double best_seconds(const Body& body) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  const auto end = Clock::now() + std::chrono::seconds(1);
  for (int round = 0; round < 3 || Clock::now() < end; ++round)
    best = std::min(best, seconds_of(body));
  return best;
}

// Of all threads, or of the calling one while it ran: on a busy machine a long call never has a
// core to itself.
enum class Time { wall, of_thread };
inline double now_seconds(Time time) {
  timespec now = {};
  clock_gettime(time == Time::wall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// One thing to time. A round is so many calls that reading the clock is none of it.
class Timed {
 public:
  Timed(Time time, std::function<void()> call) : time_(time), call_(std::move(call)) {
    constexpr double kRound = 40e-6, kCalls = 32;  // seconds; chosen: the clock takes under 1 us
    const double first = seconds_of(call_);
    n_calls_ = static_cast<int>(std::clamp(kRound / std::max(first, 1e-9), 1.0, kCalls));
  }
  void round() {
    const double begin = now_seconds(time_);
    for (int i = 0; i < n_calls_; ++i) call_();
    best_ = std::min(best_, (now_seconds(time_) - begin) / n_calls_);
  }
  double seconds() const { return best_; }  // of one call, in the shortest round

 private:
  Time time_;
  std::function<void()> call_;
  int n_calls_ = 1;
  double best_ = 1e9;
};

// A round of each in turn for so many seconds, at least six of each and at most fifty.
inline void take_turns(Timed& one, Timed& other, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (int round = 0; round < 6 || (round < 50 && Clock::now() < end); ++round) {
    one.round();
    other.round();
  }
}

// Normal, of deviation 1.
inline std::vector<float> random_floats(std::size_t n, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> out(n);
  for (float& x : out) {
    const double length = std::sqrt(-2 * std::log(1 - rng.uniform()));
    x = static_cast<float>(length * std::cos(2 * std::numbers::pi * rng.uniform()));
  }
  return out;
}

inline std::vector<Half> random_halves(std::size_t n, std::uint64_t seed) {
  const auto floats = random_floats(n, seed);
  std::vector<Half> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = float_to_half(floats[i]);
  return out;
}

inline std::vector<std::int32_t> positions_up_to(std::size_t n) {
  std::vector<std::int32_t> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<std::int32_t>(i);
  return out;
}

}  // namespace satchel::bench
