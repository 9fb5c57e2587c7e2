#include "kernels/cpu/backend/backend_cpu.h"

#include <cstring>
#include <string>
#include <utility>

#include "kernels/base/assert.h"
#include "kernels/contract/host_lane_table.h"
#include "kernels/cpu/dispatch/cache_ops.h"
#include "kernels/cpu/dispatch/cpu_context.h"
#include "kernels/cpu/products/matmul.h"
#include "kernels/cpu/rows/vector_ops.h"
#include "kernels/reference/host_memory.h"

namespace satchel::kernels::cpu {
namespace {

const CpuWeight& ours(const Weight& weight) {
  return static_cast<const CpuWeight&>(weight);
}

class CpuBackend final : public Backend {
 public:
  CpuBackend(std::unique_ptr<ThreadPool> pool, CpuLevel level, int activation_bits)
      : pool_(std::move(pool)),
        context_{*pool_, kernels_of(level), weights_asked_ahead(), activation_bits},
        level_(level) {}

  std::string_view name() const override { return "cpu"; }
  std::string device() const override {
    const std::size_t n = pool_->n_threads();
    return std::string(display_name(level_)) + ", " + std::to_string(n) +
           (n == 1 ? " thread" : " threads") +
           (context_.activation_bits == 8 ? ", 8-bit activations" : "");
  }

  std::size_t scratch_bytes() const override { return scratch_.bytes() + attend_scratch_.bytes(); }

  Result<Buffer> allocate(std::size_t bytes) override { return reference::allocate_host(bytes); }
  Result<void> upload(std::byte* to, std::span<const std::byte> from) override {
    return copy(to, from.data(), from.size());
  }
  Result<void> download(std::span<std::byte> to, const std::byte* from) override {
    return copy(to.data(), from, to.size());
  }
  Result<void> copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    if (bytes != 0) std::memmove(to, from, bytes);
    return {};
  }
  Result<std::unique_ptr<Weight>> load_weight(const WeightSource& source) override {
    return cpu::load_weight(context_, source);
  }

  Result<NumericWarnings> finish() override { return std::exchange(warnings_, {}); }

  Result<void> embed(const Weight& table, std::span<const std::int32_t> ids, float* out) override {
    return cpu::embed(context_, ours(table), ids, out);
  }
  Result<void> rms_norm(const float* x, const float* gain, std::size_t n_tokens, std::size_t width,
                        float epsilon, float* out) override {
    cpu::rms_norm(context_, {.x = x,
                             .gain = gain,
                             .n_tokens = n_tokens,
                             .width = width,
                             .epsilon = epsilon,
                             .out = out});
    return {};
  }
  Result<void> make_rotation(const Batch& batch, const RopeTable& table, float* rotation) override {
    cpu::make_rotation(context_, batch, table, rotation);
    return {};
  }
  Result<void> rope(const RopeArgs& args) override {
    cpu::rope(context_, args);
    return {};
  }
  Result<void> matmul(const Weight& weight, const float* x, std::size_t n_tokens,
                      float* out) override {
    const Projection projection{.weight = &weight, .out = out};
    return cpu::project(context_, scratch_, {&projection, 1}, x, n_tokens);
  }
  Result<void> project(const float* x, std::size_t n_tokens,
                       std::span<const Projection> projections) override {
    SATCHEL_TRY(cpu::project(context_, scratch_, projections, x, n_tokens));
    for (const Projection& each : projections)
      if (each.bias != nullptr)
        cpu::add_row(context_, each.out, each.bias, n_tokens, each.weight->n_out());
    return {};
  }
  Result<void> norm_project(const float* x, const float* gain, std::size_t n_tokens, float epsilon,
                            float* normed, std::span<const Projection> projections) override {
    SATCHEL_ASSERT(!projections.empty());
    const std::size_t width = projections[0].weight->n_in();
    SATCHEL_TRY(rms_norm(x, gain, n_tokens, width, epsilon, normed));
    return project(normed, n_tokens, projections);
  }
  Result<void> glu(Activation activation, float* gate, const float* up,
                   std::size_t n_values) override {
    cpu::glu(context_, activation, gate, up, n_values);
    return {};
  }
  Result<void> add(float* x, const float* y, std::size_t n_values) override {
    cpu::add(context_, x, y, n_values);
    return {};
  }
  Result<void> scale(float* x, float factor, std::size_t n_values) override {
    cpu::scale(context_, x, factor, n_values);
    return {};
  }
  Result<void> soft_cap(float* x, float cap, std::size_t n_values) override {
    cpu::soft_cap(context_, x, cap, n_values);
    return {};
  }
  Result<void> add_row(float* x, const float* row, std::size_t n_rows, std::size_t width) override {
    cpu::add_row(context_, x, row, n_rows, width);
    return {};
  }
  Result<void> scale_first(float* x, float factor, std::size_t n_rows, std::size_t width,
                           std::size_t n_first) override {
    cpu::scale_first(context_, x, factor, n_rows, width, n_first);
    return {};
  }

  Result<std::unique_ptr<LaneTable>> make_lane_table(std::size_t n_lanes) override {
    return std::unique_ptr<LaneTable>(std::make_unique<HostLaneTable>(n_lanes));
  }
  Result<void> store(std::span<const StoreArgs> items) override {
    cpu::store(context_, items);
    return {};
  }
  Result<void> attend(const AttendArgs& args) override {
    return cpu::attend(context_, attend_scratch_, args);
  }
  Result<void> score(std::span<const ScoreArgs> items) override {
    return cpu::score(context_, attend_scratch_, items);
  }
  Result<void> logsumexp(std::span<const LogSumExpArgs> items) override {
    return cpu::logsumexp(context_, attend_scratch_, items);
  }
  Result<void> key_importance(std::span<const KeyImportanceArgs> items) override {
    cpu::key_importance(context_, items);
    return {};
  }
  Result<void> select(std::span<const SelectArgs> items) override {
    return cpu::select(context_, attend_scratch_, items);
  }
  Result<void> gather(std::span<const GatherArgs> items) override {
    cpu::gather(context_, items);
    return {};
  }
  Result<void> encode_pages(std::span<const EncodeArgs> items) override {
    SATCHEL_TRY_ASSIGN(const NumericWarnings warnings,
                       cpu::encode_pages(context_, attend_scratch_, items));
    warnings_.n_nan += warnings.n_nan;
    warnings_.n_infinite += warnings.n_infinite;
    return {};
  }
  Result<void> decode_pages(std::span<const DecodeArgs> items) override {
    cpu::decode_pages(context_, items);
    return {};
  }

  Result<std::int32_t> argmax(const float* logits, std::size_t n) override {
    return cpu::argmax(context_, logits, n);
  }
  Result<void> top_k(const float* logits, std::size_t n, std::span<Ranked> out) override {
    return cpu::top_k(context_, logits, n, out);
  }

 private:
  std::unique_ptr<ThreadPool> pool_;
  CpuContext context_;
  CpuLevel level_;
  NumericWarnings warnings_;
  MatmulScratch scratch_;
  AttendScratch attend_scratch_;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_backend(std::size_t n_threads, CpuLevel level,
                                              int activation_bits) {
  SATCHEL_TRY_ASSIGN(std::unique_ptr<ThreadPool> pool, ThreadPool::make(n_threads));
  return std::unique_ptr<Backend>(
      std::make_unique<CpuBackend>(std::move(pool), level, activation_bits));
}

}  // namespace satchel::kernels::cpu
