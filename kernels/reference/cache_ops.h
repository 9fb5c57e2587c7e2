// The cache operations of the reference backend, in the plainest loops: what each must compute.
// Contracts: Backend (kernels/contract/backend.h), whose operations these are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/contract/backend.h"

namespace satchel::kernels::reference {

Result<void> store(const StoreArgs& args);
Result<void> attend(const AttendArgs& args);
Result<void> score(const ScoreArgs& args);
Result<void> select(const float* scores, std::size_t n_scores, std::size_t keep,
                    std::int32_t* indices);
Result<void> gather(const std::byte* from, const std::int32_t* indices, std::size_t n_rows,
                    std::size_t row_bytes, std::byte* to);
Result<EncodeHealth> encode_page(const PageLayout& layout, const ExactRun& exact, std::byte* page);
Result<void> decode_page(const PageLayout& layout, const std::byte* page, float* k, float* v);

}  // namespace satchel::kernels::reference
