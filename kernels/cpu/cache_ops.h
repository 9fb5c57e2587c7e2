// The cache operations of the CPU backend. Contracts: Backend (kernels/contract/backend.h), whose
// operations these are; results do not depend on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/contract/backend.h"
#include "kernels/cpu/attend_scratch.h"
#include "kernels/cpu/cpu_context.h"

namespace satchel::kernels::cpu {

Result<void> store(const CpuContext& context, const StoreArgs& args);
Result<void> attend(const CpuContext& context, AttendScratch& scratch, const AttendArgs& args);
Result<void> score(const CpuContext& context, AttendScratch& scratch, const ScoreArgs& args);
Result<void> select(const CpuContext& context, const float* scores, std::size_t n_scores,
                    std::size_t keep, std::int32_t* indices);
Result<void> gather(const CpuContext& context, const std::byte* from, const std::int32_t* indices,
                    std::size_t n_rows, std::size_t row_bytes, std::byte* to);
Result<EncodeHealth> encode_page(const CpuContext& context, AttendScratch& scratch,
                                 const PageLayout& layout, const ExactRun& exact, std::byte* page);
Result<void> decode_page(const CpuContext& context, const PageLayout& layout, const std::byte* page,
                         float* k, float* v);

}  // namespace satchel::kernels::cpu
