// The cache operations of the CPU backend. Contracts: Backend (kernels/contract/backend.h), whose
// operations these are; results do not depend on the number of threads.
#pragma once

#include <span>

#include "kernels/contract/backend.h"
#include "kernels/cpu/attend_scratch.h"
#include "kernels/cpu/cpu_context.h"

namespace satchel::kernels::cpu {

void store(const CpuContext& context, std::span<const StoreArgs> items);
Result<void> attend(const CpuContext& context, AttendScratch& scratch, const AttendArgs& args);
Result<void> score(const CpuContext& context, AttendScratch& scratch,
                   std::span<const ScoreArgs> items);
Result<void> log_sum(const CpuContext& context, AttendScratch& scratch,
                     std::span<const LogSumArgs> items);
void key_worth(const CpuContext& context, std::span<const KeyWorthArgs> items);
Result<void> select(const CpuContext& context, AttendScratch& scratch,
                    std::span<const SelectArgs> items);
void gather(const CpuContext& context, std::span<const GatherArgs> items);
Result<Health> encode_pages(const CpuContext& context, AttendScratch& scratch,
                            std::span<const EncodeArgs> items);
void decode_pages(const CpuContext& context, std::span<const DecodeArgs> items);

}  // namespace satchel::kernels::cpu
