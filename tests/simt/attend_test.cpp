// Attention of the cuda backend where the tests that every backend shares cannot look: lanes that
// stay there from step to step, pages that are read back first, results that must not depend on
// company.
#include <gmock/gmock.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/attention/prefill.h"
#include "kernels/cuda/backend/backend_cuda.h"
#include "kernels/cuda/pages/page_ops.h"
#include "simt/block.h"
#include "simt/findings.h"
#include "simt/memory.h"
#include "simt/runtime_api.h"
#include "support/backends.h"
#include "support/lanes.h"
#include "support/rope.h"
#include "support/value_of.h"

namespace satchel::kernels::cuda {
namespace {

using testing::FloatNear;
using testing::IsEmpty;
using testing::Pointwise;

class Attending : public testing::Test {
 protected:
  void TearDown() override {
    simt::set_order(0);
    simt::machine() = {};
    EXPECT_THAT(simt::take_findings(), IsEmpty());
  }

  template <class T>
  const T* put(const T* from, std::size_t n) {
    buffers_.push_back(value_of(backend_->allocate(n * sizeof(T))));
    Buffer& there = buffers_.back();
    EXPECT_TRUE(backend_->upload(there.data(), std::as_bytes(std::span(from, n))).ok());
    return reinterpret_cast<const T*>(there.data());
  }
  // Runs and pages of the view there; `runs` and `pages` keep what the table points to.
  void put_lane(LaneTable& table, std::size_t lane, const LaneView& view,
                std::vector<ExactRun>& runs, std::vector<PageView>& pages) {
    runs.assign(view.runs.begin(), view.runs.end());
    pages.assign(view.pages.begin(), view.pages.end());
    for (ExactRun& run : runs)
      run = {put(run.k, run.n_tokens * dim_), put(run.v, run.n_tokens * dim_),
             put(run.positions, run.n_tokens), run.n_tokens};
    for (PageView& page : pages) page.bytes = put(page.bytes, page.layout->bytes);
    EXPECT_TRUE(table.set_runs(lane, runs).ok());
    EXPECT_TRUE(table.set_pages(lane, pages).ok());
  }
  // What another backend says, in main memory.
  std::vector<float> ask(Backend& other, std::span<const Sequence> sequences) const {
    std::vector<float> out(q_.size());
    AttendArgs args = args_;
    args.q = q_.data();
    args.batch.positions = positions_.data();
    args.out = out.data();
    args.sequences = sequences;
    EXPECT_TRUE(other.attend(args).ok());
    return out;
  }
  // Queries of n_heads heads, a token after the other from `first_position` on.
  void put_queries(std::size_t n_tokens, std::size_t n_heads, std::int32_t first_position) {
    q_.clear();
    for (const Half x : test::random_halves(n_tokens * n_heads * dim_, dim_, 5))
      q_.push_back(half_to_float(x));
    positions_.clear();
    for (std::size_t i = 0; i < n_tokens; ++i)
      positions_.push_back(first_position + static_cast<std::int32_t>(i));
    args_.q = put(q_.data(), q_.size());
    args_.batch = {.positions = put(positions_.data(), n_tokens), .n_tokens = n_tokens};
    args_.out = const_cast<float*>(put(q_.data(), q_.size()));
    args_.n_heads = n_heads;
    args_.n_kv_heads = 1;
    args_.head_dim = dim_;
    args_.scale = 0.125f;
    frequencies_ = test::rope_frequencies(dim_);
    args_.rope = {.inverse_frequency = frequencies_};
  }
  std::vector<float> attend(std::span<const Sequence> sequences) {
    args_.sequences = sequences;
    EXPECT_TRUE(backend_->attend(args_).ok());
    return outputs();
  }
  std::vector<float> outputs() {
    std::vector<float> out(args_.batch.n_tokens * args_.n_heads * dim_);
    EXPECT_TRUE(backend_
                    ->download(std::as_writable_bytes(std::span(out)),
                               reinterpret_cast<const std::byte*>(args_.out))
                    .ok());
    return out;
  }

  std::size_t dim_ = 64;
  std::unique_ptr<Backend> backend_ = value_of(make_backend());
  std::vector<Buffer> buffers_;
  std::vector<float> q_;
  std::vector<std::int32_t> positions_;
  std::vector<double> frequencies_;
  AttendArgs args_;
};

TEST_F(Attending, in_a_steady_step_takes_no_memory_of_the_card) {
  PageShape transformed = test::affine_pages(4);
  transformed.k.transform = transformed.v.transform = Transform::hadamard;
  const test::LaneFixture a(
      {.n_first = 2, .n_pages = 4, .n_last = 70, .page = test::affine_pages(2)});
  const test::LaneFixture b({.n_pages = 3, .page = transformed, .shift = 5});
  const auto table = value_of(backend_->make_lane_table(2));
  std::vector<ExactRun> runs[2];
  std::vector<PageView> pages[2];
  put_lane(*table, 0, a.view(), runs[0], pages[0]);
  put_lane(*table, 1, b.view(), runs[1], pages[1]);
  put_queries(2, 3, a.end_position());
  const Sequence sequences[] = {
      {.lanes = table.get(), .n_tokens = 1},
      {.lanes = table.get(), .first_lane = 1, .first_token = 1, .n_tokens = 1}};
  args_.sequences = sequences;
  runs[0][1].n_tokens = 60;
  const auto step = [&] {
    ++runs[0][1].n_tokens;
    ASSERT_TRUE(table->set_runs(0, runs[0]).ok());
    ASSERT_TRUE(backend_->attend(args_).ok());
  };
  step();
  const std::size_t there = simt::device_bytes_held(), scratch = backend_->scratch_bytes();
  for (int i = 0; i < 5; ++i) step();
  EXPECT_EQ(simt::device_bytes_held(), there);
  EXPECT_EQ(backend_->scratch_bytes(), scratch);
}

// Pages that blocks take, then such as warps take alone.
TEST_F(Attending, gives_a_row_the_same_bits_whatever_shares_the_call_in_any_order_of_blocks) {
  PageShape of_channels = test::affine_pages(4, kPageTokens), of_both = test::affine_pages(2, 32);
  of_channels.v.group = 128;
  of_both.v.transform = Transform::hadamard;
  const std::tuple<std::size_t, PageShape, bool> cases[] = {
      {64, test::affine_pages(3), false}, {128, of_channels, true}, {64, of_both, true}};
  for (const auto& [dim, page, is_of_warps] : cases) {
    dim_ = dim;
    const test::LaneFixture lane(
        {.head_dim = dim, .n_first = 3, .n_pages = 5, .n_last = 40, .page = page});
    const LanePlan plan = lane_plan(*lane.view().pages[0].layout, {}, 99 * 1024);
    ASSERT_EQ(plan.packed_kind != 0, is_of_warps);
    const auto table = value_of(backend_->make_lane_table(1));
    std::vector<ExactRun> runs;
    std::vector<PageView> pages;
    put_lane(*table, 0, lane.view(), runs, pages);
    for (const std::size_t n_heads : {1u, 3u, 4u}) {
      put_queries(4, n_heads, lane.end_position() - 60);
      const Sequence four = {.lanes = table.get(), .n_tokens = 4};
      const std::vector<float> together = attend({&four, 1});
      simt::set_order(7);
      EXPECT_EQ(attend({&four, 1}), together);
      simt::set_order(0);
      args_.batch.n_tokens = 1;
      const Sequence one = {.lanes = table.get(), .n_tokens = 1};
      std::vector<float> alone = attend({&one, 1});
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin()))
          << n_heads << ", " << dim;
    }
  }
}

// Exact keys beside codes of wide values: a block has no room for both, so the page is read back.
// That may be done in rounds, whose number does not show.
TEST_F(Attending, reads_pages_back_first_that_no_block_has_room_for) {
  dim_ = 256;
  const PageShape shape{.v = test::affine_operand(8, 32)};
  const test::LaneFixture lane({.head_dim = dim_, .n_pages = 2, .n_last = 9, .page = shape});
  const auto device = value_of(Device::open());
  ASSERT_FALSE(lane_plan(*lane.view().pages[0].layout, {}, device->shared_bytes_max()).has_kernel);
  Arguments arguments = value_of(Arguments::make(*device));
  PageOps pages_there = value_of(PageOps::make(*device));
  CudaLaneTable table(*device, 1, pages_there.bases());
  std::vector<ExactRun> runs;
  std::vector<PageView> pages;
  put_lane(table, 0, lane.view(), runs, pages);
  put_queries(2, 2, lane.end_position());
  const Sequence sequence = {.lanes = &table, .n_tokens = 2};
  args_.sequences = {&sequence, 1};
  std::vector<std::size_t> n_decoded;
  const auto decode = [&](std::span<const DecodeArgs> items) -> Result<void> {
    n_decoded.push_back(items.size());
    return pages_there.decode(items, arguments);
  };
  Attention at_once(*device, arguments), in_rounds(*device, arguments, 1);
  ASSERT_TRUE(at_once.attend(args_, decode).ok());
  const std::vector<float> want = outputs();
  EXPECT_EQ(n_decoded, (std::vector<std::size_t>{2}));
  n_decoded.clear();
  ASSERT_TRUE(in_rounds.attend(args_, decode).ok());
  EXPECT_EQ(outputs(), want);
  EXPECT_EQ(n_decoded, (std::vector<std::size_t>{1, 1}));
}

// Lanes of very different lengths: the first pieces of all, then the rest of the long one.
TEST_F(Attending, reads_pages_back_within_its_limit_however_lanes_are_cut) {
  dim_ = 256;
  const PageShape shape{.v = test::affine_operand(8, 32)};
  const test::LaneFixture long_lane({.head_dim = dim_, .n_pages = 7, .page = shape});
  const test::LaneFixture short_lane({.head_dim = dim_, .n_pages = 1, .page = shape});
  const auto device = value_of(Device::open());
  Arguments arguments = value_of(Arguments::make(*device));
  PageOps pages_there = value_of(PageOps::make(*device));
  CudaLaneTable table(*device, 2, pages_there.bases());
  std::vector<ExactRun> runs[2];
  std::vector<PageView> pages[2];
  put_lane(table, 0, long_lane.view(), runs[0], pages[0]);
  put_lane(table, 1, short_lane.view(), runs[1], pages[1]);
  put_queries(2, 1, long_lane.end_position());
  const Sequence sequences[] = {
      {.lanes = &table, .n_tokens = 1},
      {.lanes = &table, .first_lane = 1, .first_token = 1, .n_tokens = 1}};
  args_.sequences = sequences;
  std::size_t most = 0, sum = 0;
  const auto decode = [&](std::span<const DecodeArgs> items) -> Result<void> {
    most = std::max(most, items.size());
    sum += items.size();
    return pages_there.decode(items, arguments);
  };
  const std::size_t page_bytes = 2 * kPageTokens * dim_ * sizeof(float);
  for (std::size_t limit = 2; limit < 9; ++limit) {
    most = sum = 0;
    Attention attention(*device, arguments, limit * page_bytes);
    ASSERT_TRUE(attention.attend(args_, decode).ok());
    EXPECT_LE(most, limit);
    EXPECT_EQ(sum, 8u) << "each page once";
  }
}

// As sm_75: neither the blocks of many rows fit, nor eight bits of a page.
TEST_F(Attending, wide_heads_is_right_on_a_card_of_little_shared_memory) {
  constexpr std::size_t kShared = 64 * 1024;
  dim_ = 256;
  ASSERT_GT(prefill_shared_bytes(dim_), kShared);
  simt::machine().shared_bytes = kShared;
  backend_ = value_of(make_backend());
  const auto reference = test::open_reference();
  for (const std::size_t bits : {2u, 8u}) {
    const test::LaneFixture lane({.head_dim = dim_,
                                  .n_first = 3,
                                  .n_pages = 1,
                                  .n_last = 20,
                                  .page = test::affine_pages(bits, 32)});
    ASSERT_EQ(lane_plan(*lane.view().pages[0].layout, {}, kShared).has_kernel, bits == 2);
    const auto table = value_of(backend_->make_lane_table(1));
    const auto host_table = test::table_of(*reference, {lane.view()});
    std::vector<ExactRun> runs;
    std::vector<PageView> pages;
    put_lane(*table, 0, lane.view(), runs, pages);
    for (const std::size_t n_tokens : {1u, 9u}) {
      put_queries(n_tokens, 2, lane.end_position());
      const Sequence there = {.lanes = table.get(), .n_tokens = n_tokens};
      const std::vector<float> got = attend({&there, 1});
      const Sequence here = {.lanes = host_table.get(), .n_tokens = n_tokens};
      const float limit = bits == 2 ? 3e-4f : 2e-5f;  // warps take the pages of 2 bits
      EXPECT_THAT(got, Pointwise(FloatNear(limit), ask(*reference, {&here, 1})));
    }
  }
}

}  // namespace
}  // namespace satchel::kernels::cuda
