// What the tests of an arena share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/base/rng.h"
#include "kernels/reference/host_memory.h"
#include "kvcache/lanes/arena.h"

namespace satchel::kvcache::test {

// A backend that has memory and nothing else: what an arena may ask of one. Counts the copies, and
// fails them from the fail_from-th on.
class MemoryOnly final : public kernels::Backend {
 public:
  explicit MemoryOnly(bool* is_gone = nullptr) : is_gone_(is_gone) {}
  ~MemoryOnly() override {
    if (is_gone_ != nullptr) *is_gone_ = true;
  }
  static constexpr std::size_t kBytesMax = 1 << 20;
  std::size_t n_copies = 0;
  std::optional<std::size_t> fail_from;

  std::string_view name() const override { return "memory_only"; }
  std::string device() const override { return "main memory"; }
  Result<kernels::Buffer> allocate(std::size_t bytes) override {
    if (bytes > kBytesMax) return Error{ErrorKind::out_of_memory, "MEMORY", "No such machine."};
    return kernels::reference::allocate_host(bytes);
  }
  Result<void> copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    if (fail_from && n_copies >= *fail_from)
      return Error{ErrorKind::device_lost, "DEVICE_LOST", "The device is gone."};
    ++n_copies;
    std::memmove(to, from, bytes);
    return {};
  }

  Result<void> upload(std::byte*, std::span<const std::byte>) override { return unasked(); }
  Result<void> download(std::span<std::byte>, const std::byte*) override { return unasked(); }
  Result<std::unique_ptr<kernels::Weight>> load_weight(const kernels::WeightSource&) override {
    return unasked();
  }
  Result<kernels::NumericWarnings> finish() override { return unasked(); }
  Result<void> embed(const kernels::Weight&, std::span<const std::int32_t>, float*) override {
    return unasked();
  }
  Result<void> rms_norm(const float*, const float*, std::size_t, std::size_t, float,
                        float*) override {
    return unasked();
  }
  Result<void> make_rotation(const kernels::Batch&, const kernels::RopeTable&, float*) override {
    return unasked();
  }
  Result<void> rope(const kernels::RopeArgs&) override { return unasked(); }
  Result<void> short_conv(const kernels::ShortConvArgs&) override { return unasked(); }
  Result<void> gated_delta(const kernels::GatedDeltaArgs&) override { return unasked(); }
  Result<void> mamba2(const kernels::Mamba2Args&) override { return unasked(); }
  Result<void> matmul(const kernels::Weight&, const float*, std::size_t, float*) override {
    return unasked();
  }
  Result<void> glu(kernels::Activation, float*, const float*, std::size_t) override {
    return unasked();
  }
  Result<void> add(float*, const float*, std::size_t) override { return unasked(); }
  Result<void> scale(float*, float, std::size_t) override { return unasked(); }
  Result<void> soft_cap(float*, float, std::size_t) override { return unasked(); }
  Result<std::unique_ptr<kernels::LaneTable>> make_lane_table(std::size_t) override {
    return unasked();
  }
  Result<void> store(std::span<const kernels::StoreArgs>) override { return unasked(); }
  Result<void> attend(const kernels::AttendArgs&) override { return unasked(); }
  Result<void> score(std::span<const kernels::ScoreArgs>) override { return unasked(); }
  Result<void> logsumexp(std::span<const kernels::LogSumExpArgs>) override { return unasked(); }
  Result<void> key_importance(std::span<const kernels::KeyImportanceArgs>) override {
    return unasked();
  }
  Result<void> select(std::span<const kernels::SelectArgs>) override { return unasked(); }
  Result<bool> refit(const kernels::RefitArgs&) override { return unasked(); }
  Result<void> gather(std::span<const kernels::GatherArgs>) override { return unasked(); }
  Result<void> encode_pages(std::span<const kernels::EncodeArgs>) override { return unasked(); }
  Result<void> decode_pages(std::span<const kernels::DecodeArgs>) override { return unasked(); }
  Result<std::int32_t> argmax(const float*, std::size_t) override { return unasked(); }
  Result<void> top_k(const float*, std::size_t, std::span<Ranked>) override { return unasked(); }

 private:
  static Error unasked() {
    return Error{ErrorKind::unsupported, "UNASKED", "An arena asks for memory only."};
  }
  bool* is_gone_;
};

class CountingUser final : public ExtentUser {
 public:
  void extents_moved() override { ++n_told; }
  std::size_t n_told = 0;
};

// An arena over such a backend.
class ArenaTest : public testing::Test {
 protected:
  void open(std::size_t bytes) { arena_ = Arena::open(backend_, bytes).value(); }

  ExtentId take(std::size_t bytes) { return arena_->take(bytes).value(); }
  // `n` extents of `bytes`, side by side.
  std::vector<ExtentId> take_row(std::size_t n, std::size_t bytes) {
    std::vector<ExtentId> row;
    for (std::size_t i = 0; i < n; ++i) row.push_back(take(bytes));
    return row;
  }
  void fill(ExtentId id, std::uint64_t seed) {
    Rng rng(seed);
    std::generate_n(arena_->at(id), arena_->bytes_of(id),
                    [&] { return static_cast<std::byte>(rng.next()); });
  }
  bool holds(ExtentId id, std::uint64_t seed) {
    Rng rng(seed);
    const std::byte* at = arena_->at(id);
    return std::all_of(at, at + arena_->bytes_of(id),
                       [&](std::byte b) { return b == static_cast<std::byte>(rng.next()); });
  }

  std::shared_ptr<MemoryOnly> backend_ = std::make_shared<MemoryOnly>();
  std::shared_ptr<Arena> arena_;
};

// Many sizes, so that holes split, meet and are closed.
inline std::size_t random_size(Rng& rng, std::size_t bytes_max) {
  return 1 + static_cast<std::size_t>(rng.next() % bytes_max);
}

}  // namespace satchel::kvcache::test
