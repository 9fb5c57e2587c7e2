#include "kernels/cpu/backend_cpu.h"

#include <cstring>
#include <string>

#include "kernels/cpu/cache_ops.h"
#include "kernels/cpu/cpu_context.h"
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/vector_ops.h"
#include "kernels/reference/host_memory.h"

namespace satchel::kernels::cpu {
namespace {

const CpuWeight& ours(const Weight& weight) {
  return static_cast<const CpuWeight&>(weight);
}

class CpuBackend final : public Backend {
 public:
  CpuBackend(std::unique_ptr<ThreadPool> pool, CpuLevel level)
      : pool_(std::move(pool)), context_{*pool_, level} {}

  std::string_view name() const override { return "cpu"; }
  std::string device() const override {
    const std::size_t n = pool_->n_threads();
    return std::string(display_name(context_.level)) + ", " + std::to_string(n) +
           (n == 1 ? " thread" : " threads");
  }

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

  Result<void> embed(const Weight& table, std::span<const std::int32_t> ids, float* out) override {
    return cpu::embed(context_, ours(table), ids, out);
  }
  Result<void> rms_norm(const float* x, const float* gain, std::size_t n_tokens, std::size_t width,
                        float epsilon, float* out) override {
    return cpu::rms_norm(context_, {.x = x,
                                    .gain = gain,
                                    .n_tokens = n_tokens,
                                    .width = width,
                                    .epsilon = epsilon,
                                    .out = out});
  }
  Result<void> rope(const RopeArgs& args) override { return cpu::rope(context_, args); }
  Result<void> matmul(const Weight& weight, const float* x, std::size_t n_tokens,
                      float* out) override {
    return cpu::matmul(context_, scratch_, ours(weight), x, n_tokens, out);
  }
  Result<void> gated_silu(float* gate, const float* up, std::size_t n_values) override {
    return cpu::gated_silu(context_, gate, up, n_values);
  }
  Result<void> add(float* x, const float* y, std::size_t n_values) override {
    return cpu::add(context_, x, y, n_values);
  }

  Result<void> store(const StoreArgs& args) override { return cpu::store(context_, args); }
  Result<void> attend(const AttendArgs& args) override {
    return cpu::attend(context_, attend_scratch_, args);
  }
  Result<void> score(const ScoreArgs& args) override {
    return cpu::score(context_, attend_scratch_, args);
  }
  Result<void> select(const float* scores, std::size_t n_scores, std::size_t keep,
                      std::int32_t* indices) override {
    return cpu::select(context_, scores, n_scores, keep, indices);
  }
  Result<void> gather(const std::byte* from, const std::int32_t* indices, std::size_t n_rows,
                      std::size_t row_bytes, std::byte* to) override {
    return cpu::gather(context_, from, indices, n_rows, row_bytes, to);
  }
  Result<EncodeHealth> encode_page(const PageLayout& layout, const ExactRun& exact,
                                   std::byte* page) override {
    return cpu::encode_page(context_, attend_scratch_, layout, exact, page);
  }
  Result<void> decode_page(const PageLayout& layout, const std::byte* page, float* k,
                           float* v) override {
    return cpu::decode_page(context_, layout, page, k, v);
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
  MatmulScratch scratch_;
  AttendScratch attend_scratch_;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_backend(std::size_t n_threads, CpuLevel level) {
  SATCHEL_TRY_ASSIGN(std::unique_ptr<ThreadPool> pool, ThreadPool::make(n_threads));
  return std::unique_ptr<Backend>(std::make_unique<CpuBackend>(std::move(pool), level));
}

}  // namespace satchel::kernels::cpu
