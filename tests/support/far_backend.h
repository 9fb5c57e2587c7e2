// FarBackend: another backend whose memory the host cannot touch but through upload() and
// download(), as a card's: a layer above that reads or writes it by itself crashes here, on a
// machine without a card.
//   memory   as much as is asked for, for buffers; weights are the other backend's
//   threads  as the Backend's; open while a call of it runs, so its own threads may use it
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <type_traits>

#include "kernels/base/assert.h"
#include "kernels/contract/backend.h"

namespace satchel::test {

// Addresses that nobody may use but within an Open.
class FarMemory {
 public:
  explicit FarMemory(std::size_t bytes)
      : bytes_(bytes / kPage * kPage),
        base_(static_cast<std::byte*>(
            mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    SATCHEL_ASSERT(base_ != MAP_FAILED);
  }
  ~FarMemory() { munmap(base_, bytes_); }
  FarMemory(const FarMemory&) = delete;
  FarMemory& operator=(const FarMemory&) = delete;

  class Open {
   public:
    explicit Open(FarMemory& memory) : memory_(memory) {
      if (memory_.n_open_++ == 0) memory_.protect(PROT_READ | PROT_WRITE);
    }
    ~Open() {
      if (--memory_.n_open_ == 0) memory_.protect(PROT_NONE);
    }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

   private:
    FarMemory& memory_;
  };

  // Null: there is no room. The lowest gap that is large enough.
  std::byte* take(std::size_t bytes) {
    const std::size_t whole = (bytes / kPage + 1) * kPage;
    std::size_t at = 0;
    for (const auto& [begin, end] : taken_) {
      if (begin - at >= whole) break;
      at = end;
    }
    if (at + whole > bytes_) return nullptr;
    taken_[at] = at + whole;
    used_ = std::max(used_, at + whole);
    const Open open(*this);
    std::memset(base_ + at, 0, whole);
    return base_ + at;
  }
  // The longest stretch that take() would give.
  std::size_t longest_free() const {
    std::size_t longest = 0, at = 0;
    for (const auto& [begin, end] : taken_) {
      longest = std::max(longest, begin - at);
      at = end;
    }
    longest = std::max(longest, bytes_ - at);
    return longest - std::min(longest, kPage);
  }
  void give_back(const std::byte* at) {
    const auto found = taken_.find(static_cast<std::size_t>(at - base_));
    madvise(base_ + found->first, found->second - found->first, MADV_DONTNEED);
    taken_.erase(found);
  }

 private:
  static constexpr std::size_t kPage = 4096;
  void protect(int how) { SATCHEL_ASSERT(mprotect(base_, used_, how) == 0); }

  std::size_t bytes_;
  std::byte* base_;
  std::map<std::size_t, std::size_t> taken_;  // begin, end
  std::size_t used_ = 0, n_open_ = 0;
};

class FarBackend final : public kernels::Backend {
 public:
  explicit FarBackend(std::unique_ptr<kernels::Backend> inner,
                      std::size_t bytes = std::size_t{16} << 30)
      : FarBackend(std::move(inner), std::make_shared<FarMemory>(bytes)) {}
  // memory: shared with other backends, which one thread uses
  FarBackend(std::unique_ptr<kernels::Backend> inner, std::shared_ptr<FarMemory> memory)
      : memory_(std::move(memory)), inner_(std::move(inner)) {}

  std::string_view name() const override { return inner_->name(); }
  std::string device() const override { return inner_->device(); }
  kernels::WorkLimits work_limits() const override { return inner_->work_limits(); }
  std::size_t scratch_bytes() const override { return inner_->scratch_bytes(); }
  std::size_t head_dim_max() const override { return inner_->head_dim_max(); }
  bool takes_latent_lanes() const override { return inner_->takes_latent_lanes(); }
  bool steps_are_exact() const override { return inner_->steps_are_exact(); }
  kernels::AvailableMemory available_memory() const override {
    const std::size_t available = memory_->longest_free();
    return {.most = available, .usually = available, .taken_at_once = true};
  }

  Result<kernels::Buffer> allocate(std::size_t bytes) override {
    std::byte* const at = memory_->take(bytes);
    if (at == nullptr)
      return Error{ErrorKind::out_of_memory, "GPU_MEMORY", "No far memory is left."};
    return kernels::Buffer(at, bytes,
                           [memory = memory_](std::byte* data) { memory->give_back(data); });
  }
  Result<std::unique_ptr<kernels::Weight>> load_weight(
      const kernels::WeightSource& source) override {
    return inner_->load_weight(source);
  }
  Result<std::unique_ptr<kernels::LaneTable>> make_lane_table(std::size_t n_lanes) override {
    return inner_->make_lane_table(n_lanes);
  }
  Result<kernels::NumericWarnings> finish() override { return inner_->finish(); }

  Result<void> upload(std::byte* to, std::span<const std::byte> from) override {
    return open([&] { return inner_->upload(to, from); });
  }
  Result<void> download(std::span<std::byte> to, const std::byte* from) override {
    return open([&] { return inner_->download(to, from); });
  }
  Result<void> copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    return open([&] { return inner_->copy(to, from, bytes); });
  }
  Result<void> embed(const kernels::Weight& table, std::span<const std::int32_t> ids,
                     float* out) override {
    return open([&] { return inner_->embed(table, ids, out); });
  }
  Result<void> rms_norm(const float* x, const float* gain, std::size_t n_tokens, std::size_t width,
                        float epsilon, float* out) override {
    return open([&] { return inner_->rms_norm(x, gain, n_tokens, width, epsilon, out); });
  }
  Result<void> make_rotation(const kernels::Batch& batch, const kernels::RopeTable& table,
                             float* rotation) override {
    return open([&] { return inner_->make_rotation(batch, table, rotation); });
  }
  Result<void> rope(const kernels::RopeArgs& args) override {
    return open([&] { return inner_->rope(args); });
  }
  Result<void> matmul(const kernels::Weight& weight, const float* x, std::size_t n_tokens,
                      float* out) override {
    return open([&] { return inner_->matmul(weight, x, n_tokens, out); });
  }
  Result<void> glu(kernels::Activation activation, float* gate, const float* up,
                   std::size_t n_values) override {
    return open([&] { return inner_->glu(activation, gate, up, n_values); });
  }
  Result<void> add(float* x, const float* y, std::size_t n) override {
    return open([&] { return inner_->add(x, y, n); });
  }
  Result<void> scale(float* x, float factor, std::size_t n) override {
    return open([&] { return inner_->scale(x, factor, n); });
  }
  Result<void> soft_cap(float* x, float cap, std::size_t n) override {
    return open([&] { return inner_->soft_cap(x, cap, n); });
  }
  Result<void> add_row(float* x, const float* row, std::size_t n_rows, std::size_t width) override {
    return open([&] { return inner_->add_row(x, row, n_rows, width); });
  }
  Result<void> gate_rows(float* x, const float* gate, std::size_t n_rows,
                         std::size_t width) override {
    return open([&] { return inner_->gate_rows(x, gate, n_rows, width); });
  }
  Result<void> short_conv(const kernels::ShortConvArgs& args) override {
    return open([&] { return inner_->short_conv(args); });
  }
  Result<void> gated_delta(const kernels::GatedDeltaArgs& args) override {
    return open([&] { return inner_->gated_delta(args); });
  }
  Result<void> pack_values(const float* x, std::size_t n_values, std::byte* packed) override {
    return open([&] { return inner_->pack_values(x, n_values, packed); });
  }
  Result<void> unpack_values(const std::byte* packed, std::size_t n_values, float* x) override {
    return open([&] { return inner_->unpack_values(packed, n_values, x); });
  }
  Result<void> mamba2(const kernels::Mamba2Args& args) override {
    return open([&] { return inner_->mamba2(args); });
  }
  Result<void> scale_first(float* x, float factor, std::size_t n_rows, std::size_t width,
                           std::size_t n_first) override {
    return open([&] { return inner_->scale_first(x, factor, n_rows, width, n_first); });
  }
  Result<void> project(const float* x, std::size_t n_tokens,
                       std::span<const Projection> projections) override {
    return open([&] { return inner_->project(x, n_tokens, projections); });
  }
  Result<void> norm_project(const float* x, const float* gain, std::size_t n_tokens, float epsilon,
                            float* normed, std::span<const Projection> projections) override {
    return open(
        [&] { return inner_->norm_project(x, gain, n_tokens, epsilon, normed, projections); });
  }
  Result<void> add_projection(const float* from, std::size_t n_tokens, const Projection& projection,
                              float* x) override {
    return open([&] { return inner_->add_projection(from, n_tokens, projection, x); });
  }
  Result<void> feed_forward(const FeedForward& args, float* x, std::size_t n_tokens) override {
    return open([&] { return inner_->feed_forward(args, x, n_tokens); });
  }
  Result<void> moe(const MixtureOfExperts& args, float* x, std::size_t n_tokens) override {
    return open([&] { return inner_->moe(args, x, n_tokens); });
  }
  Result<void> store(std::span<const kernels::StoreArgs> items) override {
    return open([&] { return inner_->store(items); });
  }
  Result<void> attend(const kernels::AttendArgs& args) override {
    return open([&] { return inner_->attend(args); });
  }
  Result<void> score(std::span<const kernels::ScoreArgs> items) override {
    return open([&] { return inner_->score(items); });
  }
  Result<void> logsumexp(std::span<const kernels::LogSumExpArgs> items) override {
    return open([&] { return inner_->logsumexp(items); });
  }
  Result<void> key_importance(std::span<const kernels::KeyImportanceArgs> items) override {
    return open([&] { return inner_->key_importance(items); });
  }
  Result<bool> refit(const kernels::RefitArgs& args) override {
    return open([&] { return inner_->refit(args); });
  }
  Result<void> select(std::span<const kernels::SelectArgs> items) override {
    return open([&] { return inner_->select(items); });
  }
  Result<void> gather(std::span<const kernels::GatherArgs> items) override {
    return open([&] { return inner_->gather(items); });
  }
  Result<void> encode_pages(std::span<const kernels::EncodeArgs> items) override {
    return open([&] { return inner_->encode_pages(items); });
  }
  Result<void> decode_pages(std::span<const kernels::DecodeArgs> items) override {
    return open([&] { return inner_->decode_pages(items); });
  }
  Result<std::int32_t> argmax(const float* logits, std::size_t n) override {
    return open([&] { return inner_->argmax(logits, n); });
  }
  Result<void> top_k(const float* logits, std::size_t n, std::span<Ranked> out) override {
    return open([&] { return inner_->top_k(logits, n, out); });
  }

 private:
  template <class Call>
  std::invoke_result_t<Call> open(const Call& call) {
    const FarMemory::Open opened(*memory_);
    return call();
  }

  std::shared_ptr<FarMemory> memory_;
  std::unique_ptr<kernels::Backend> inner_;
};

}  // namespace satchel::test
