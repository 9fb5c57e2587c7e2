// CpuLevel: which instructions the CPU backend may use, found by CPUID and XGETBV at run time. The
// order is the order of preference; a machine that has a level has all below it.
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

// The highest level this machine and its operating system have, or nothing below the floor.
std::optional<CpuLevel> highest_cpu_level();
std::optional<CpuLevel> cpu_level_of(std::string_view name);
// How many bytes ahead of itself a lone token should ask for weights on this processor.
std::size_t weights_asked_ahead();
// As people write it: "AVX-512 VNNI".
std::string_view display_name(CpuLevel level);

}  // namespace satchel::kernels::cpu
