// The cache operations of the CPU backend, as specified by Backend (kernels/contract/backend.h).
// Results do not depend on the number of threads.
#pragma once

#include <span>

#include "kernels/contract/backend.h"
#include "kernels/cpu/dispatch/attend_scratch.h"
#include "kernels/cpu/dispatch/cpu_context.h"

namespace satchel::kernels::cpu {

void store(const CpuContext& context, std::span<const StoreArgs> items);
Result<void> attend(const CpuContext& context, AttendScratch& scratch, const AttendArgs& args);
Result<void> score(const CpuContext& context, AttendScratch& scratch,
                   std::span<const ScoreArgs> items);
Result<void> logsumexp(const CpuContext& context, AttendScratch& scratch,
                       std::span<const LogSumExpArgs> items);
void key_importance(const CpuContext& context, std::span<const KeyImportanceArgs> items);
Result<void> select(const CpuContext& context, AttendScratch& scratch,
                    std::span<const SelectArgs> items);
void gather(const CpuContext& context, std::span<const GatherArgs> items);
Result<NumericWarnings> encode_pages(const CpuContext& context, AttendScratch& scratch,
                                     std::span<const EncodeArgs> items);
void decode_pages(const CpuContext& context, std::span<const DecodeArgs> items);

}  // namespace satchel::kernels::cpu
