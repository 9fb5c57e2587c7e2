#include "kernels/cpu/backend/backend_cpu.h"

#include <cstring>
#include <utility>

#include "kernels/contract/host_lane_table.h"
#include "kernels/reference/host_memory.h"

namespace satchel::kernels::cpu {

Result<std::unique_ptr<Backend>> CpuBackend::make(std::size_t n_threads, CpuLevel level,
                                                  int activation_bits) {
  SATCHEL_TRY_ASSIGN(std::unique_ptr<ThreadPool> pool, ThreadPool::make(n_threads));
  return std::unique_ptr<Backend>(new CpuBackend(std::move(pool), level, activation_bits));
}

CpuBackend::CpuBackend(std::unique_ptr<ThreadPool> pool, CpuLevel level, int activation_bits)
    : pool_(std::move(pool)),
      context_{*pool_, kernels_of(level), weights_asked_ahead(), activation_bits},
      level_(level) {}

std::string CpuBackend::device() const {
  const std::size_t n = pool_->n_threads();
  return std::string(display_name(level_)) + ", " + std::to_string(n) +
         (n == 1 ? " thread" : " threads") +
         (context_.activation_bits == 8 ? ", 8-bit activations" : "");
}

std::size_t CpuBackend::scratch_bytes() const {
  return product_memory_.size() + scratch_.bytes();
}

Result<Buffer> CpuBackend::allocate(std::size_t bytes) {
  return reference::allocate_host(bytes);
}
Result<void> CpuBackend::upload(std::byte* to, std::span<const std::byte> from) {
  return copy(to, from.data(), from.size());
}
Result<void> CpuBackend::download(std::span<std::byte> to, const std::byte* from) {
  return copy(to.data(), from, to.size());
}
Result<void> CpuBackend::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes != 0) std::memmove(to, from, bytes);
  return {};
}

Result<NumericWarnings> CpuBackend::finish() {
  return std::exchange(warnings_, {});
}

Result<std::unique_ptr<LaneTable>> CpuBackend::make_lane_table(std::size_t n_lanes) {
  return std::unique_ptr<LaneTable>(std::make_unique<HostLaneTable>(n_lanes));
}

}  // namespace satchel::kernels::cpu
