// CpuLevel: the instruction set that the CPU backend uses, detected by CPUID and XGETBV at run
// time. Higher levels are preferred; a machine with one level has all below it.
//   avx2        AVX2, FMA, F16C (BMI1 and BMI2 come with them): the floor
//   avx512      F, BW, VL, DQ
//   avx512vnni  and VNNI (vpdpwssd)
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace satchel::kernels::cpu {

enum class CpuLevel { avx2, avx512, avx512vnni };

inline constexpr std::array<std::string_view, 3> kCpuLevelNames = {"avx2", "avx512", "avx512vnni"};

// The highest level that machine and operating system support; nothing if below AVX2.
std::optional<CpuLevel> highest_cpu_level();
std::optional<CpuLevel> cpu_level_of(std::string_view name);
// How a product of one token asks for weights before it comes to them.
struct AskedAhead {
  std::size_t bytes = 0;  // how far; 0: the processor's own look-ahead does better alone
  bool into_l2 = false;   // and no nearer
};
struct WeightsAhead {
  AskedAhead codes;  // of 2 to 6 bits, which take time to unpack
  AskedAhead wide;   // of 8 bits, and floats
};
// On this processor.
WeightsAhead weights_asked_ahead();
// As people write it: "AVX-512 VNNI".
std::string_view display_name(CpuLevel level);

}  // namespace satchel::kernels::cpu
