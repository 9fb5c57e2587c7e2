// CpuBackend: SIMD kernels for x86-64, chosen at run time by level (cpu_level.h), on a pool of
// threads. The rooms define its operations, each beside its kernels; their contracts are those of
// Backend.
//   threads  rows, tiles and splits of fixed length go to the threads, so results do not depend on
//            their number
#pragma once

#include "kernels/base/aligned_buffer.h"
#include "kernels/contract/backend.h"
#include "kernels/cpu/dispatch/attend_scratch.h"
#include "kernels/cpu/dispatch/kernel_table.h"
#include "kernels/cpu/levels/cpu_level.h"
#include "kernels/cpu/threads/thread_pool.h"

namespace satchel::kernels::cpu {

// What an operation needs of its backend.
struct CpuContext {
  ThreadPool& pool;
  const KernelTable& kernels;
  WeightsAhead ahead;        // of this machine
  int activation_bits = 16;  // of products with quantised weights; or 8
};

class CpuBackend final : public Backend {
 public:
  // n_threads 0: one per physical core this process may run on. `level` must be present;
  // activation_bits: 16 or 8.
  static Result<std::unique_ptr<Backend>> make(std::size_t n_threads, CpuLevel level,
                                               int activation_bits);

  std::string_view name() const override { return "cpu"; }
  std::string device() const override;
  std::size_t scratch_bytes() const override;

  Result<Buffer> allocate(std::size_t bytes) override;
  Result<void> upload(std::byte* to, std::span<const std::byte> from) override;
  Result<void> download(std::span<std::byte> to, const std::byte* from) override;
  Result<void> copy(std::byte* to, const std::byte* from, std::size_t bytes) override;
  Result<std::unique_ptr<Weight>> load_weight(const WeightSource& source) override;
  Result<NumericWarnings> finish() override;

  Result<void> embed(const Weight& table, std::span<const std::int32_t> ids, float* out) override;
  Result<void> rms_norm(const float* x, const float* gain, std::size_t n_tokens, std::size_t width,
                        float epsilon, float* out) override;
  Result<void> make_rotation(const Batch& batch, const RopeTable& table, float* rotation) override;
  Result<void> rope(const RopeArgs& args) override;
  Result<void> matmul(const Weight& weight, const float* x, std::size_t n_tokens,
                      float* out) override;
  Result<void> project(const float* x, std::size_t n_tokens,
                       std::span<const Projection> projections) override;
  Result<void> glu(Activation activation, float* gate, const float* up,
                   std::size_t n_values) override;
  Result<void> add(float* x, const float* y, std::size_t n_values) override;
  Result<void> scale(float* x, float factor, std::size_t n_values) override;
  Result<void> soft_cap(float* x, float cap, std::size_t n_values) override;
  Result<void> add_row(float* x, const float* row, std::size_t n_rows, std::size_t width) override;
  Result<void> scale_first(float* x, float factor, std::size_t n_rows, std::size_t width,
                           std::size_t n_first) override;
  Result<void> gate_rows(float* x, const float* gate, std::size_t n_rows,
                         std::size_t width) override;
  Result<void> short_conv(const ShortConvArgs& args) override;
  Result<void> gated_delta(const GatedDeltaArgs& args) override;
  Result<void> mamba2(const Mamba2Args& args) override;

  Result<std::unique_ptr<LaneTable>> make_lane_table(std::size_t n_lanes) override;
  Result<void> store(std::span<const StoreArgs> items) override;
  Result<void> attend(const AttendArgs& args) override;
  Result<void> score(std::span<const ScoreArgs> items) override;
  Result<void> logsumexp(std::span<const LogSumExpArgs> items) override;
  Result<void> key_importance(std::span<const KeyImportanceArgs> items) override;
  Result<bool> refit(const RefitArgs& args) override;
  Result<void> select(std::span<const SelectArgs> items) override;
  Result<void> gather(std::span<const GatherArgs> items) override;
  Result<void> encode_pages(std::span<const EncodeArgs> items) override;
  Result<void> decode_pages(std::span<const DecodeArgs> items) override;

  Result<std::int32_t> argmax(const float* logits, std::size_t n) override;
  Result<void> top_k(const float* logits, std::size_t n, std::span<Ranked> out) override;

 private:
  CpuBackend(std::unique_ptr<ThreadPool> pool, CpuLevel level, int activation_bits);

  std::unique_ptr<ThreadPool> pool_;
  CpuContext context_;
  CpuLevel level_;
  NumericWarnings warnings_;
  AlignedBuffer product_memory_;  // the workspace of products; grows to the largest call so far
  AttendScratch scratch_;         // of the other operations
};

}  // namespace satchel::kernels::cpu
