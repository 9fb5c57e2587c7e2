#include "kernels/cpu/cache_ops.h"

#include "kernels/reference/cache_ops.h"

namespace satchel::kernels::cpu {

Result<void> store(const CpuContext&, const StoreArgs& args) {
  return reference::store(args);
}
Result<void> select(const CpuContext&, const float* scores, std::size_t n_scores, std::size_t keep,
                    std::int32_t* indices) {
  return reference::select(scores, n_scores, keep, indices);
}
Result<void> gather(const CpuContext&, const std::byte* from, const std::int32_t* indices,
                    std::size_t n_rows, std::size_t row_bytes, std::byte* to) {
  return reference::gather(from, indices, n_rows, row_bytes, to);
}
Result<EncodeHealth> encode_page(const CpuContext&, const PageLayout& layout, const ExactRun& exact,
                                 std::byte* page) {
  return reference::encode_page(layout, exact, page);
}
Result<void> decode_page(const CpuContext&, const PageLayout& layout, const std::byte* page,
                         float* k, float* v) {
  return reference::decode_page(layout, page, k, v);
}

}  // namespace satchel::kernels::cpu
