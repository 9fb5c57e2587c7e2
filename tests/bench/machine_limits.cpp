#include "bench/machine_limits.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <memory>
#include <vector>

#include "kernels/base/aligned_buffer.h"
#include "kernels/cpu/thread_pool.h"

namespace satchel::bench {
namespace {

using Clock = std::chrono::steady_clock;

[[gnu::target("avx2")]] std::int64_t sum_all(const std::byte* from, std::size_t bytes) {
  __m256i sums[8] = {};
  for (std::size_t i = 0; i + 256 <= bytes; i += 256)
    for (std::size_t k = 0; k < 8; ++k)
      sums[k] = _mm256_add_epi64(
          sums[k], _mm256_load_si256(reinterpret_cast<const __m256i*>(from + i + 32 * k)));
  for (std::size_t k = 1; k < 8; ++k) sums[0] = _mm256_add_epi64(sums[0], sums[k]);
  return _mm256_extract_epi64(sums[0], 0) + _mm256_extract_epi64(sums[0], 1) +
         _mm256_extract_epi64(sums[0], 2) + _mm256_extract_epi64(sums[0], 3);
}

constexpr int kFmaRounds = 2'000'000;
constexpr int kChains = 12;  // more than latency times width of any core so far

[[gnu::target("avx2,fma")]] float fma_256() {
  __m256 sums[kChains];
  for (int k = 0; k < kChains; ++k) sums[k] = _mm256_set1_ps(1.0f + static_cast<float>(k));
  const __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
  for (int i = 0; i < kFmaRounds; ++i)
    for (int k = 0; k < kChains; ++k) sums[k] = _mm256_fmadd_ps(sums[k], a, b);
  for (int k = 1; k < kChains; ++k) sums[0] = _mm256_add_ps(sums[0], sums[k]);
  return _mm256_cvtss_f32(sums[0]);
}

[[gnu::target("avx512f")]] float fma_512() {
  __m512 sums[kChains];
  for (int k = 0; k < kChains; ++k) sums[k] = _mm512_set1_ps(1.0f + static_cast<float>(k));
  const __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
  for (int i = 0; i < kFmaRounds; ++i)
    for (int k = 0; k < kChains; ++k) sums[k] = _mm512_fmadd_ps(sums[k], a, b);
  for (int k = 1; k < kChains; ++k) sums[0] = _mm512_add_ps(sums[0], sums[k]);
  return _mm512_cvtss_f32(sums[0]);
}

// The shortest of ten.
template <class Body>
double best_seconds(const Body& body) {
  double best = 1e9;
  for (int round = 0; round < 10; ++round) {
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
  const std::size_t bytes = std::size_t{512} << 20;
  auto memory = std::move(AlignedBuffer::make(bytes)).value();
  std::vector<std::int64_t> sinks(pool->n_threads() * 8);
  const double read = best_seconds([&] {
    pool->parallel_for(bytes, 4 << 20, [&](std::size_t begin, std::size_t end, std::size_t thread) {
      sinks[thread * 8] += sum_all(memory.data() + begin, end - begin);
    });
  });
  limits.read_bytes_per_s = static_cast<double>(bytes) / read;
  std::vector<float> results(pool->n_threads() * 16);
  const double fma = best_seconds([&] {
    pool->parallel_for(pool->n_threads(), 1, [&](std::size_t begin, std::size_t, std::size_t) {
      results[begin * 16] += avx512 ? fma_512() : fma_256();
    });
  });
  const double lanes = avx512 ? 16 : 8;
  limits.fma_flops_per_s =
      2.0 * lanes * kChains * kFmaRounds * static_cast<double>(pool->n_threads()) / fma;
  double kept = 0;  // so that nothing is optimised away
  for (const float r : results) kept += static_cast<double>(r);
  for (const std::int64_t s : sinks) kept += static_cast<double>(s);
  if (kept == 0.5) limits.read_bytes_per_s = 0;
  return limits;
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
