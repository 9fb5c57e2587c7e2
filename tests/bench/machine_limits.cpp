#include "bench/machine_limits.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <vector>

#include "kernels/base/aligned_buffer.h"
#include "kernels/cpu/threads/thread_pool.h"
#include "kernels/registry/registry.h"

namespace satchel::bench {
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

}  // namespace

MachineLimits measure_machine(std::size_t n_threads, bool avx512) {
  MachineLimits limits;
  auto pool = std::move(kernels::cpu::ThreadPool::make(n_threads)).value();
  // Slices, each long out of the cache when its turn comes again: short rounds find quiet moments.
  constexpr std::size_t kSlices = 8, kSliceBytes = std::size_t{64} << 20;
  auto memory = std::move(AlignedBuffer::make(kSlices * kSliceBytes)).value();
  std::vector<std::int64_t> sinks(pool->n_threads() * 8);
  std::size_t slice = 0;
  const double read = best_seconds([&] {
    const std::byte* from = memory.data() + slice++ % kSlices * kSliceBytes;
    pool->parallel_for(kSliceBytes, 1 << 20,
                       [&](std::size_t begin, std::size_t end, std::size_t thread) {
                         sinks[thread * 8] += sum_all(from + begin, end - begin);
                       });
  });
  limits.read_bytes_per_s = static_cast<double>(kSliceBytes) / read;
  std::vector<float> results(pool->n_threads() * 16);
  const double fma = best_seconds([&] {
    pool->parallel_for(pool->n_threads(), 1, [&](std::size_t begin, std::size_t, std::size_t) {
      results[begin * 16] += avx512 ? fma_512() : fma_256();
    });
  });
  const double lanes = avx512 ? 16 : 8;
  limits.fma_flops_per_s =
      2.0 * lanes * static_cast<double>(kChains * pool->n_threads()) * kFmaRounds / fma;
  double kept = 0;  // so that nothing is optimised away
  for (const float r : results) kept += static_cast<double>(r);
  for (const std::int64_t s : sinks) kept += static_cast<double>(s);
  if (kept == 0.5) limits.read_bytes_per_s = 0;
  return limits;
}

std::optional<ChosenCpu> chosen_cpu(int argc, char** argv) {
  const std::size_t n_present = kernels::cpu_levels_present();
  if (n_present == 0) return std::nullopt;
  return ChosenCpu{
      .level = argc > 1 ? argv[1] : std::string(kernels::cpu_level_names()[n_present - 1]),
      .n_threads = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1};
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

}  // namespace satchel::bench
