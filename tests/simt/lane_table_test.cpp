// The lane table: what a kernel would read after send() is what was set, however lanes change.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/cuda/attention/lane_table.h"
#include "kvcache/layout/tier_layouts.h"
#include "runtime/chat/memory_settings.h"
#include "runtime/limits/presets.h"
#include "simt/memory.h"
#include "support/value_of.h"

namespace satchel::kernels::cuda {
namespace {

template <class T>
std::vector<T> read(Device& device, const T* at, std::size_t n) {
  std::vector<T> out(n);
  EXPECT_TRUE(
      device
          .download(std::as_writable_bytes(std::span(out)), reinterpret_cast<const std::byte*>(at))
          .ok());
  return out;
}

// Addresses that nobody follows.
const std::byte* place(std::size_t i) {
  return reinterpret_cast<const std::byte*>(4096 + 256 * i);
}

class Lanes : public testing::Test {
 protected:
  static constexpr std::size_t kLanes = 3;

  void set_runs(std::size_t lane, const std::vector<std::size_t>& lengths) {
    std::vector<ExactRun> runs;
    for (const std::size_t n : lengths)
      runs.push_back({.k = reinterpret_cast<const Half*>(place(lane)), .n_tokens = n});
    ASSERT_TRUE(table_.set_runs(lane, runs).ok());
    runs_[lane] = lengths;
  }
  void set_pages(std::size_t lane, std::size_t n, const PageLayout& layout) {
    pages_[lane].clear();
    for (std::size_t i = 0; i < n; ++i)
      pages_[lane].push_back({.bytes = place(100 * lane + i),
                              .layout = &layout,
                              .n_tokens = 32,
                              .live = LiveMask::first(32),
                              .shift = static_cast<std::int32_t>(i)});
    ASSERT_TRUE(table_.set_pages(lane, pages_[lane]).ok());
  }
  void expect_there() {
    const DeviceLanes there = value_of(table_.send());
    const auto lanes = read(*device_, there.lanes, kLanes);
    for (std::size_t l = 0; l < kLanes; ++l) {
      ASSERT_EQ(lanes[l].n_runs, runs_[l].size());
      const auto runs = read(*device_, there.runs + l * there.runs_of_lane, lanes[l].n_runs);
      for (std::size_t i = 0; i < runs.size(); ++i) {
        EXPECT_EQ(runs[i].n_tokens, runs_[l][i]);
        EXPECT_EQ(reinterpret_cast<const std::byte*>(runs[i].k), place(l));
      }
      ASSERT_EQ(lanes[l].n_pages, pages_[l].size());
      const auto pages = read(*device_, there.pages + l * there.pages_of_lane, lanes[l].n_pages);
      for (std::size_t i = 0; i < pages.size(); ++i) {
        EXPECT_EQ(pages[i].bytes, pages_[l][i].bytes);
        EXPECT_EQ(pages[i].shift, pages_[l][i].shift);
        EXPECT_EQ(pages[i].live[0], 0xffffffffu);
        const LanePlan plan = read(*device_, there.plans + pages[i].plan, 1)[0];
        EXPECT_EQ(plan, lane_plan(*pages_[l][i].layout, {}, device_->shared_bytes_max()));
      }
    }
  }

  std::unique_ptr<Device> device_ = value_of(Device::open());
  BasisStore bases_{*device_};
  CudaLaneTable table_{*device_, kLanes, bases_};
  std::vector<std::size_t> runs_[kLanes];
  std::vector<PageView> pages_[kLanes];
};

TEST_F(Lanes, are_there_as_they_were_set_while_they_grow_shrink_and_change) {
  const PageLayout exact = value_of(page_layout({.head_dim = 32, .capacity = 32}));
  const OperandShape codes{.form = OperandShape::Form::affine, .bits = 2, .group = 16};
  const PageLayout two_bits =
      value_of(page_layout({.head_dim = 32, .capacity = 32, .k = codes, .v = codes}));
  expect_there();
  set_runs(1, {4, 7});
  expect_there();
  set_pages(0, 5, exact);
  set_pages(2, 1, two_bits);
  set_runs(0, {1});
  expect_there();
  set_pages(2, 70, two_bits);
  set_runs(2, {1, 2, 3, 4, 5});
  expect_there();
  set_pages(0, 2, two_bits);
  set_runs(1, {4, 8});
  set_runs(2, {});
  expect_there();
  expect_there();
}

TEST_F(Lanes, in_a_steady_step_send_one_run_and_take_no_memory) {
  const PageLayout exact = value_of(page_layout({.head_dim = 32, .capacity = 32}));
  set_pages(0, 9, exact);
  set_runs(0, {4, 1});
  expect_there();
  const std::size_t before = simt::device_bytes_held();
  const DeviceLanes first = value_of(table_.send());
  for (std::size_t n = 2; n < 9; ++n) {
    set_runs(0, {4, n});
    set_pages(0, 9, exact);
    EXPECT_EQ(value_of(table_.send()).pages, first.pages);
  }
  expect_there();
  EXPECT_EQ(simt::device_bytes_held(), before);
}

TEST_F(Lanes, know_a_layout_by_what_it_says_not_by_where_it_lies) {
  const OperandShape codes{.form = OperandShape::Form::affine, .bits = 4, .group = 16};
  const PageShape shape{.head_dim = 32, .capacity = 32, .k = codes, .v = codes};
  const PageLayout one = value_of(page_layout(shape)), other = one;
  set_pages(0, 1, one);
  set_pages(1, 1, other);
  EXPECT_EQ(table_.pages(0)[0].plan, table_.pages(1)[0].plan);
  expect_there();
}

// Keys in a basis of the model's and those by Hadamard in its place.
TEST(Presets, have_no_packed_page_that_a_warp_cannot_take_alone) {
  constexpr std::size_t kShared = 99 * 1024;  // of a block, on every card from sm_80 on
  for (const std::size_t d : {64u, 128u, 256u})
    for (const runtime::Preset& preset : runtime::presets()) {
      const kvcache::Recipe recipe = value_of(runtime::resolve_recipe(preset.name));
      const kvcache::CacheShape shape{.layers = {{.n_heads = 1, .n_kv_heads = 1, .head_dim = d}}};
      const auto layouts = value_of(kvcache::TierLayouts::make(shape, recipe.pipeline()));
      for (std::uint8_t tier = kvcache::kTierEight; tier < layouts.n_tiers(); ++tier) {
        PageLayout layout = layouts.of(tier, {.head_dim = d}, kPageTokens);
        if (layout.k.is_exact()) continue;
        SCOPED_TRACE(testing::Message() << preset.name << ", tier " << int{tier} << ", " << d);
        EXPECT_NE(lane_plan(layout, {}, kShared).packed_kind, 0u);
        if (!layout.k.is_mixed_bit()) continue;
        layout.k.transform = Transform::basis;
        EXPECT_NE(lane_plan(layout, {}, kShared).packed_kind, 0u);
      }
    }
}

}  // namespace
}  // namespace satchel::kernels::cuda
