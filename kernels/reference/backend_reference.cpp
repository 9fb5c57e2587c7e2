#include "kernels/reference/backend_reference.h"

#include <cstring>
#include <utility>

#include "kernels/contract/host_lane_table.h"
#include "kernels/reference/host_memory.h"
#include "kernels/reference/page_codec.h"

namespace satchel::kernels::reference {

Result<Buffer> ReferenceBackend::allocate(std::size_t bytes) {
  return allocate_host(bytes);
}
Result<void> ReferenceBackend::upload(std::byte* to, std::span<const std::byte> from) {
  return copy(to, from.data(), from.size());
}
Result<void> ReferenceBackend::download(std::span<std::byte> to, const std::byte* from) {
  return copy(to.data(), from, to.size());
}
Result<void> ReferenceBackend::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes != 0) std::memmove(to, from, bytes);
  return {};
}

Result<NumericWarnings> ReferenceBackend::finish() {
  return std::exchange(warnings_, {});
}

Result<std::unique_ptr<LaneTable>> ReferenceBackend::make_lane_table(std::size_t n_lanes) {
  return std::unique_ptr<LaneTable>(std::make_unique<HostLaneTable>(n_lanes));
}

Result<void> ReferenceBackend::encode_pages(std::span<const EncodeArgs> items) {
  for (const EncodeArgs& args : items) {
    const ExactRun& exact = args.exact;
    encode_frame(args);
    encode_operand(*args.layout, Operand::k, exact.k, exact.n_tokens, args.page, warnings_);
    encode_operand(*args.layout, Operand::v, exact.v, exact.n_tokens, args.page, warnings_);
  }
  return {};
}
Result<void> ReferenceBackend::decode_pages(std::span<const DecodeArgs> items) {
  for (const DecodeArgs& args : items) decode_page(args);
  return {};
}

}  // namespace satchel::kernels::reference
