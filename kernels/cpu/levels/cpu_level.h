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
// The prefetch distance in bytes for weights in a one-token product on this processor.
std::size_t weights_asked_ahead();
// As people write it: "AVX-512 VNNI".
std::string_view display_name(CpuLevel level);

}  // namespace satchel::kernels::cpu
