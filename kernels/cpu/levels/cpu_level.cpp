#include "kernels/cpu/levels/cpu_level.h"

#include <cpuid.h>

#include <cstdint>

#include "kernels/base/assert.h"

namespace satchel::kernels::cpu {
namespace {

// Bits of CPUID leaf 1 (ecx) and leaf 7 (ebx, ecx), as Intel's and AMD's manuals number them.
constexpr std::uint32_t kFma = 1u << 12, kXsave = 1u << 27, kAvx = 1u << 28, kF16c = 1u << 29;
constexpr std::uint32_t kBmi1 = 1u << 3, kAvx2 = 1u << 5, kBmi2 = 1u << 8;
constexpr std::uint32_t kAvx512f = 1u << 16, kAvx512dq = 1u << 17, kAvx512bw = 1u << 30,
                        kAvx512vl = 1u << 31;
constexpr std::uint32_t kAvx512vnni = 1u << 11;
// XCR0: what the operating system saves. 6: xmm, ymm; 0xe0: masks and both halves of zmm.
constexpr std::uint32_t kYmmState = 0x06, kZmmState = 0xe6;

constexpr bool has(std::uint32_t word, std::uint32_t bits) {
  return (word & bits) == bits;
}

constexpr std::uint32_t kZen4Family = 0x19;  // Zen 3 and 4; older ones are taken for it, unmeasured

// As AMD's manuals add it up.
std::uint32_t cpu_family() {
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return 0;
  const std::uint32_t family = a >> 8 & 0xf;
  return family == 0xf ? family + (a >> 20 & 0xff) : family;
}

std::uint32_t saved_state() {
  std::uint32_t low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));  // not _xgetbv: that needs -mxsave
  return low;
}

}  // namespace

std::optional<CpuLevel> highest_cpu_level() {
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return {};
  if (!has(c, kFma | kXsave | kAvx | kF16c) || !has(saved_state(), kYmmState)) return {};
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || !has(b, kBmi1 | kAvx2 | kBmi2)) return {};
  if (!has(b, kAvx512f | kAvx512dq | kAvx512bw | kAvx512vl) || !has(saved_state(), kZmmState))
    return CpuLevel::avx2;
  return has(c, kAvx512vnni) ? CpuLevel::avx512vnni : CpuLevel::avx512;
}

std::optional<CpuLevel> cpu_level_of(std::string_view name) {
  for (std::size_t i = 0; i < kCpuLevelNames.size(); ++i)
    if (kCpuLevelNames[i] == name) return static_cast<CpuLevel>(i);
  return {};
}

// Chosen by maker and family, as measured, one thread, weights from memory (kernels/cpu/README.md).
//   Intel    its look-ahead follows the requests, and too many of them in the air stop the loads:
//            Sapphire Rapids reads Q4_0 at 15.6 GB/s with 2048 and at 10.2 with 8192
//   Zen 4    what is asked into L1 waits for few places: Q4_K 15.2 GB/s so, 24.0 into L2; what
//            needs little arithmetic comes fastest unasked, Q8_0 at 24.3 instead of 20.6
//   others   Zen 5's look-ahead ends with a page of 4 KiB: 11 GB/s without, 33 with 4096, 45 (all
//            there is) with 8192
WeightsAhead weights_asked_ahead() {
  std::uint32_t a = 0, maker = 0, c = 0, d = 0;
  const bool known = __get_cpuid(0, &a, &maker, &c, &d) != 0;
  if (known && maker == signature_INTEL_ebx) return {{2048}, {2048}};
  if (known && maker == signature_AMD_ebx && cpu_family() <= kZen4Family)
    return {{.bytes = 4096, .into_l2 = true}, {}};
  return {{8192}, {8192}};
}

std::string_view display_name(CpuLevel level) {
  switch (level) {
    case CpuLevel::avx2:
      return "AVX2";
    case CpuLevel::avx512:
      return "AVX-512";
    case CpuLevel::avx512vnni:
      return "AVX-512 VNNI";
  }
  SATCHEL_ASSERT(false);
  return {};
}

}  // namespace satchel::kernels::cpu
