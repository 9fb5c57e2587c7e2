// ReferenceBackend: the specification of every operation, in plain single-threaded loops. Slow on
// purpose; tests compare every other backend with it. Each file of this folder defines the
// operations that it is named after; their contracts are those of Backend.
//   numbers  sums run in float64 in index order; results round to fp32 once
#pragma once

#include "kernels/contract/backend.h"

namespace satchel::kernels::reference {

class ReferenceBackend final : public Backend {
 public:
  std::string_view name() const override { return "reference"; }
  std::string device() const override { return "plain loops, 1 thread"; }
  // Plain loops do about 2^29 multiply-adds per second.
  WorkLimits work_limits() const override {
    return {.n_tokens = 256, .multiply_adds = std::size_t{1} << 26};
  }

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
  Result<void> glu(Activation activation, float* gate, const float* up,
                   std::size_t n_values) override;
  Result<void> add(float* x, const float* y, std::size_t n_values) override;
  Result<void> scale(float* x, float factor, std::size_t n_values) override;
  Result<void> soft_cap(float* x, float cap, std::size_t n_values) override;
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
  NumericWarnings warnings_;
};

}  // namespace satchel::kernels::reference
