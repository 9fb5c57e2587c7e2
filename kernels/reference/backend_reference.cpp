#include "kernels/reference/backend_reference.h"

#include <cstring>
#include <utility>

#include "kernels/contract/host_lane_table.h"
#include "kernels/reference/cache_ops.h"
#include "kernels/reference/host_memory.h"
#include "kernels/reference/model_ops.h"
#include "kernels/reference/page_codec.h"

namespace satchel::kernels::reference {
namespace {

// Reads the file's bytes in place.
class ReferenceWeight final : public Weight {
 public:
  explicit ReferenceWeight(const WeightSource& source)
      : Weight(source.type, source.n_out, source.n_in), source_(source) {}
  std::size_t owned_bytes() const override { return 0; }
  const WeightSource& source() const { return source_; }

 private:
  WeightSource source_;
};

const WeightSource& source_of(const Weight& weight) {
  return static_cast<const ReferenceWeight&>(weight).source();
}

class ReferenceBackend final : public Backend {
 public:
  std::string_view name() const override { return "reference"; }
  std::string device() const override { return "plain loops, 1 thread"; }

  // Plain loops do some 2^29 multiply-adds a second.
  WorkLimits work_limits() const override {
    return {.n_tokens = 256, .multiply_adds = std::size_t{1} << 26};
  }

  Result<Buffer> allocate(std::size_t bytes) override { return allocate_host(bytes); }
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
    check_source(source);
    return std::unique_ptr<Weight>(std::make_unique<ReferenceWeight>(source));
  }

  Result<NumericWarnings> finish() override { return std::exchange(warnings_, {}); }

  Result<void> embed(const Weight& table, std::span<const std::int32_t> ids, float* out) override {
    return reference::embed(source_of(table), ids, out);
  }
  Result<void> rms_norm(const float* x, const float* gain, std::size_t n_tokens, std::size_t width,
                        float epsilon, float* out) override {
    reference::rms_norm(x, gain, n_tokens, width, epsilon, out);
    return {};
  }
  Result<void> make_rotation(const Batch& batch, const RopeTable& table, float* rotation) override {
    reference::make_rotation(batch, table, rotation);
    return {};
  }
  Result<void> rope(const RopeArgs& args) override {
    reference::rope(args);
    return {};
  }
  Result<void> matmul(const Weight& weight, const float* x, std::size_t n_tokens,
                      float* out) override {
    return reference::matmul(source_of(weight), x, n_tokens, out);
  }
  Result<void> glu(Activation activation, float* gate, const float* up,
                   std::size_t n_values) override {
    reference::glu(activation, gate, up, n_values);
    return {};
  }
  Result<void> add(float* x, const float* y, std::size_t n_values) override {
    reference::add(x, y, n_values);
    return {};
  }
  Result<void> scale(float* x, float factor, std::size_t n_values) override {
    reference::scale(x, factor, n_values);
    return {};
  }
  Result<void> soft_cap(float* x, float cap, std::size_t n_values) override {
    reference::soft_cap(x, cap, n_values);
    return {};
  }

  Result<std::unique_ptr<LaneTable>> make_lane_table(std::size_t n_lanes) override {
    return std::unique_ptr<LaneTable>(std::make_unique<HostLaneTable>(n_lanes));
  }
  Result<void> store(std::span<const StoreArgs> items) override {
    for (const StoreArgs& args : items) reference::store(args);
    return {};
  }
  Result<void> attend(const AttendArgs& args) override { return reference::attend(args); }
  Result<void> score(std::span<const ScoreArgs> items) override {
    for (const ScoreArgs& args : items) reference::score(args);
    return {};
  }
  Result<void> logsumexp(std::span<const LogSumExpArgs> items) override {
    for (const LogSumExpArgs& args : items) reference::logsumexp(args);
    return {};
  }
  Result<void> key_importance(std::span<const KeyImportanceArgs> items) override {
    for (const KeyImportanceArgs& args : items) reference::key_importance(args);
    return {};
  }
  Result<void> select(std::span<const SelectArgs> items) override {
    for (const SelectArgs& args : items) reference::select(args);
    return {};
  }
  Result<void> gather(std::span<const GatherArgs> items) override {
    for (const GatherArgs& args : items) reference::gather(args);
    return {};
  }
  Result<void> encode_pages(std::span<const EncodeArgs> items) override {
    for (const EncodeArgs& args : items) encode_page(args, warnings_);
    return {};
  }
  Result<void> decode_pages(std::span<const DecodeArgs> items) override {
    for (const DecodeArgs& args : items) decode_page(args);
    return {};
  }

  Result<std::int32_t> argmax(const float* logits, std::size_t n) override {
    return reference::argmax(logits, n);
  }
  Result<void> top_k(const float* logits, std::size_t n, std::span<Ranked> out) override {
    return reference::top_k(logits, n, out);
  }

 private:
  NumericWarnings warnings_;
};

}  // namespace

std::unique_ptr<Backend> make_backend() {
  return std::make_unique<ReferenceBackend>();
}

}  // namespace satchel::kernels::reference
