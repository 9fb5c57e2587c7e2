#include "app/eval/measure/machine_limits.h"

#if defined(__x86_64__)

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/base/aligned_buffer.h"

namespace satchel::eval {
namespace {

using Clock = std::chrono::steady_clock;

template <class T, std::size_t kBytes>
using Vector [[gnu::vector_size(kBytes)]] = T;
using Longs = Vector<std::int64_t, 32>;

[[gnu::target("avx2")]] std::int64_t sum_all(const std::byte* from, std::size_t bytes) {
  Longs sums[8] = {};
  const auto* at = reinterpret_cast<const Longs*>(from);
  for (std::size_t i = 0; i + 8 <= bytes / sizeof(Longs); i += 8)
    for (std::size_t k = 0; k < 8; ++k) sums[k] += at[i + k];
  for (std::size_t k = 1; k < 8; ++k) sums[0] += sums[k];
  return sums[0][0] + sums[0][1] + sums[0][2] + sums[0][3];
}

constexpr int kFmaRounds = 200'000;
constexpr std::size_t kChains = 12;  // more than latency times width of any core so far

// sum = sum * a + b in registers; the compiler fuses it.
template <class Floats>
[[gnu::always_inline]] inline float fused() {
  Floats sums[kChains];
  for (std::size_t k = 0; k < kChains; ++k) sums[k] = Floats{} + (1.0f + static_cast<float>(k));
  const Floats a = Floats{} + 0.999f, b = Floats{} + 0.001f;
  for (int i = 0; i < kFmaRounds; ++i)
    for (std::size_t k = 0; k < kChains; ++k) sums[k] = sums[k] * a + b;
  for (std::size_t k = 1; k < kChains; ++k) sums[0] += sums[k];
  return sums[0][0];
}
[[gnu::target("avx2,fma")]] float fma_256() {
  return fused<Vector<float, 32>>();
}
[[gnu::target("avx512f")]] float fma_512() {
  return fused<Vector<float, 64>>();
}

// The shortest of a hundred.
template <class Body>
double best_seconds(const Body& body) {
  double best = 1e9;
  for (int round = 0; round < 100; ++round) {
    const auto begin = Clock::now();
    body();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return best;
}

// Each thread's share, and all are done.
template <class Body>
void over_threads(std::size_t n_threads, const Body& body) {
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < n_threads; ++i) threads.emplace_back([&body, i] { body(i); });
  body(0);
}

}  // namespace

MachineLimits measure_machine(std::size_t n_threads, bool avx512) {
  MachineLimits limits;
  // Slices, each long out of the cache when its turn comes again: short rounds find quiet moments.
  constexpr std::size_t kSlices = 8, kSliceBytes = std::size_t{64} << 20;
  Result<AlignedBuffer> memory = AlignedBuffer::make(kSlices * kSliceBytes);
  if (!memory.ok()) return limits;
  std::vector<std::int64_t> sinks(n_threads * 8);
  std::size_t slice = 0;
  const std::size_t share = kSliceBytes / n_threads;
  const double read = best_seconds([&] {
    const std::byte* from = memory->data() + slice++ % kSlices * kSliceBytes;
    over_threads(n_threads, [&](std::size_t i) {
      sinks[i * 8] += sum_all(from + i * share / 32 * 32, share);
    });
  });
  limits.read_bytes_per_s = static_cast<double>(share * n_threads) / read;
  std::vector<float> results(n_threads * 16);
  const double fma = best_seconds([&] {
    over_threads(n_threads,
                 [&](std::size_t i) { results[i * 16] += avx512 ? fma_512() : fma_256(); });
  });
  const double lanes = avx512 ? 16 : 8;
  limits.fma_flops_per_s =
      2.0 * lanes * static_cast<double>(kChains * n_threads) * kFmaRounds / fma;
  double kept = 0;  // so that nothing is optimised away
  for (const float r : results) kept += static_cast<double>(r);
  for (const std::int64_t x : sinks) kept += static_cast<double>(x);
  if (kept == 0.5) limits.read_bytes_per_s = 0;
  return limits;
}

}  // namespace satchel::eval

#else

namespace satchel::eval {

MachineLimits measure_machine(std::size_t, bool) {
  return {};
}

}  // namespace satchel::eval

#endif
