// FailingBackend: passes calls on to another backend, but the n-th of those that a cache, or who
// feeds it, makes fails, and does nothing: once, or with all that follow.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "kernels/contract/backend.h"

namespace satchel::test {

class FailingBackend final : public kernels::Backend {
 public:
  explicit FailingBackend(std::unique_ptr<kernels::Backend> inner,
                          std::string_view name = "failing")
      : inner_(std::move(inner)), name_(name) {}
  // From now on; nothing: no call fails.
  void fail_at(std::optional<std::size_t> n) {
    n_calls_ = 0;
    fail_at_ = n;
    stays_lost_ = counts_copies_ = waits_for_check_ = false;
  }
  // The n-th and all that follow, until fail_at().
  void fail_from(std::size_t n) {
    fail_at(n);
    stays_lost_ = true;
  }
  // Counts from the end of a self-check, whose last call is argmax(), or from the first token where
  // there was none.
  void wait_for_check() { waits_for_check_ = true; }
  // Called before a call fails.
  void on_failure(std::function<void()> then) { on_failure_ = std::move(then); }
  // The n-th copy() from now on; no other call fails.
  void fail_at_copy(std::size_t n) {
    fail_at(n);
    counts_copies_ = true;
  }
  // From now on no table of lanes is to be had, or no memory.
  void fail_tables(bool fail) { fails_tables_ = fail; }
  void fail_allocations(bool fail) { fails_allocations_ = fail; }
  // From now on weights find no room.
  void fail_weights(bool fail) { fails_weights_ = fail; }
  // From now on it is a device that does not know latent lanes.
  void forget_latent_lanes() { knows_latent_lanes_ = false; }
  bool has_failed() const { return fail_at_ && n_calls_ > *fail_at_; }

  std::string_view name() const override { return name_; }
  std::string device() const override { return inner_->device(); }
  kernels::AvailableMemory available_memory() const override { return inner_->available_memory(); }
  std::size_t head_dim_max() const override { return inner_->head_dim_max(); }
  bool takes_latent_lanes() const override {
    return knows_latent_lanes_ && inner_->takes_latent_lanes();
  }
  bool steps_are_exact() const override { return inner_->steps_are_exact(); }
  Result<kernels::Buffer> allocate(std::size_t bytes) override {
    if (fails_allocations_)
      return Error{ErrorKind::out_of_memory, "MEMORY", "The test's device has no memory left."};
    return inner_->allocate(bytes);
  }
  Result<void> upload(std::byte* to, std::span<const std::byte> from) override {
    SATCHEL_TRY(count());
    return inner_->upload(to, from);
  }
  Result<void> download(std::span<std::byte> to, const std::byte* from) override {
    SATCHEL_TRY(count());
    return inner_->download(to, from);
  }
  Result<void> copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    SATCHEL_TRY(count_call());
    return inner_->copy(to, from, bytes);
  }
  Result<std::unique_ptr<kernels::Weight>> load_weight(
      const kernels::WeightSource& source) override {
    if (fails_weights_)
      return Error{ErrorKind::out_of_memory, "GPU_MEMORY", "The test's device is full."};
    return inner_->load_weight(source);
  }
  Result<kernels::NumericWarnings> finish() override { return inner_->finish(); }
  Result<void> embed(const kernels::Weight& table, std::span<const std::int32_t> ids,
                     float* out) override {
    waits_for_check_ = false;
    return inner_->embed(table, ids, out);
  }
  Result<void> rms_norm(const float* x, const float* gain, std::size_t n_tokens, std::size_t width,
                        float epsilon, float* out) override {
    return inner_->rms_norm(x, gain, n_tokens, width, epsilon, out);
  }
  Result<void> make_rotation(const kernels::Batch& batch, const kernels::RopeTable& table,
                             float* rotation) override {
    return inner_->make_rotation(batch, table, rotation);
  }
  Result<void> rope(const kernels::RopeArgs& args) override { return inner_->rope(args); }
  Result<void> matmul(const kernels::Weight& weight, const float* x, std::size_t n_tokens,
                      float* out) override {
    return inner_->matmul(weight, x, n_tokens, out);
  }
  Result<void> glu(kernels::Activation activation, float* gate, const float* up,
                   std::size_t n_values) override {
    return inner_->glu(activation, gate, up, n_values);
  }
  Result<void> add(float* x, const float* y, std::size_t n) override {
    return inner_->add(x, y, n);
  }
  Result<void> scale(float* x, float factor, std::size_t n) override {
    return inner_->scale(x, factor, n);
  }
  Result<void> soft_cap(float* x, float cap, std::size_t n) override {
    return inner_->soft_cap(x, cap, n);
  }
  Result<void> short_conv(const kernels::ShortConvArgs& args) override {
    SATCHEL_TRY(count());
    return inner_->short_conv(args);
  }
  Result<void> gated_delta(const kernels::GatedDeltaArgs& args) override {
    SATCHEL_TRY(count());
    return inner_->gated_delta(args);
  }
  Result<void> pack_values(const float* x, std::size_t n_values, std::byte* packed) override {
    SATCHEL_TRY(count());
    return inner_->pack_values(x, n_values, packed);
  }
  Result<void> unpack_values(const std::byte* packed, std::size_t n_values, float* x) override {
    SATCHEL_TRY(count());
    return inner_->unpack_values(packed, n_values, x);
  }
  Result<void> mamba2(const kernels::Mamba2Args& args) override {
    SATCHEL_TRY(count());
    return inner_->mamba2(args);
  }
  Result<std::unique_ptr<kernels::LaneTable>> make_lane_table(std::size_t n_lanes) override {
    SATCHEL_TRY(count());
    if (fails_tables_) return lost();
    return inner_->make_lane_table(n_lanes);
  }
  Result<void> store(std::span<const kernels::StoreArgs> items) override {
    SATCHEL_TRY(count());
    return inner_->store(items);
  }
  Result<void> attend(const kernels::AttendArgs& args) override {
    SATCHEL_TRY(count());
    return inner_->attend(args);
  }
  Result<void> score(std::span<const kernels::ScoreArgs> items) override {
    SATCHEL_TRY(count());
    return inner_->score(items);
  }
  Result<void> logsumexp(std::span<const kernels::LogSumExpArgs> items) override {
    SATCHEL_TRY(count());
    return inner_->logsumexp(items);
  }
  Result<void> key_importance(std::span<const kernels::KeyImportanceArgs> items) override {
    SATCHEL_TRY(count());
    return inner_->key_importance(items);
  }
  Result<bool> refit(const kernels::RefitArgs& args) override {
    SATCHEL_TRY(count());
    return inner_->refit(args);
  }
  Result<void> select(std::span<const kernels::SelectArgs> items) override {
    SATCHEL_TRY(count());
    return inner_->select(items);
  }
  Result<void> gather(std::span<const kernels::GatherArgs> items) override {
    SATCHEL_TRY(count());
    return inner_->gather(items);
  }
  Result<void> encode_pages(std::span<const kernels::EncodeArgs> items) override {
    SATCHEL_TRY(count());
    return inner_->encode_pages(items);
  }
  Result<void> decode_pages(std::span<const kernels::DecodeArgs> items) override {
    SATCHEL_TRY(count());
    return inner_->decode_pages(items);
  }
  Result<std::int32_t> argmax(const float* logits, std::size_t n) override {
    waits_for_check_ = false;
    return inner_->argmax(logits, n);
  }
  Result<void> top_k(const float* logits, std::size_t n, std::span<Ranked> out) override {
    return inner_->top_k(logits, n, out);
  }

 private:
  Result<void> count() { return counts_copies_ ? Result<void>() : count_call(); }
  Result<void> count_call() {
    if (!fail_at_ || waits_for_check_) return {};
    const std::size_t n = n_calls_++;
    if (n == *fail_at_ || (stays_lost_ && n > *fail_at_)) return lost();
    return {};
  }
  Error lost() const {
    if (on_failure_) on_failure_();
    return {ErrorKind::device_lost, "DEVICE_LOST", "The test's device failed."};
  }

  std::unique_ptr<kernels::Backend> inner_;
  std::string_view name_;
  std::size_t n_calls_ = 0;
  std::optional<std::size_t> fail_at_;
  std::function<void()> on_failure_;
  bool stays_lost_ = false, counts_copies_ = false, waits_for_check_ = false;
  bool fails_tables_ = false, fails_allocations_ = false, fails_weights_ = false;
  bool knows_latent_lanes_ = true;
};

}  // namespace satchel::test
