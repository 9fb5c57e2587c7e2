// What kernels ask of shared and device memory: the counter itself, by kernels whose accesses are
// known by heart, then limits for those that decode steps and prompts spend their time in.
#include <gmock/gmock.h>

#include <sstream>
#include <string>
#include <vector>

#include "kernels/cuda/backend/backend_cuda.h"
#include "simt/small_kernels.h"
#include "simt/small_launches.h"
#include "simt/traffic.h"
#include "support/lanes.h"
#include "support/mixed_bit.h"
#include "support/questions.h"
#include "support/staged_backend.h"
#include "support/value_of.h"
#include "support/weights.h"

namespace simt {

void PrintTo(const Traffic& traffic, std::ostream* out) {
  *out << traffic.n_accesses << " accesses, " << traffic.taken << " instead of " << traffic.least;
}

namespace test {

using namespace satchel;

namespace {

Traffic sum_of(const std::vector<LineTraffic>& lines, const std::string& kernel, Memory memory) {
  Traffic sum;
  for (const LineTraffic& line : lines)
    if (line.kernel == kernel && line.memory == memory) sum += line.traffic;
  return sum;
}

class CountedTraffic : public SmallLaunches {
 protected:
  void SetUp() override { count_traffic(true); }
  void TearDown() override {
    count_traffic(false);
    SmallLaunches::TearDown();
  }
  static Traffic of_shared(const std::string& kernel) {
    return sum_of(take_traffic(), kernel, Memory::shared);
  }
};

TEST_F(CountedTraffic, of_threads_at_different_banks_is_one_wavefront) {
  const OnDevice<float> out(32);
  launch(walk_shared, 1, 32, 32 * 4, 1u, out.data());
  const auto lines = take_traffic();
  EXPECT_EQ(sum_of(lines, "walk_shared", Memory::shared), (Traffic{2, 2, 2}));
  EXPECT_EQ(sum_of(lines, "walk_shared", Memory::device), (Traffic{1, 4, 4}));
}

TEST_F(CountedTraffic, of_four_threads_at_each_bank_is_four_wavefronts_and_names_the_lines) {
  const OnDevice<float> out(32);
  launch(walk_shared, 1, 32, 4 * 32 * 4, 4u, out.data());
  const auto lines = take_traffic();
  EXPECT_EQ(sum_of(lines, "walk_shared", Memory::shared), (Traffic{2, 8, 2}));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0].line, testing::StartsWith("small_kernels.cu:"));
  EXPECT_EQ(lines[0].traffic, (Traffic{1, 4, 1})) << "the most wasteful first";
}

// 16 bytes a thread go by quarters of the warp: four wavefronts are the least, and two where all
// threads read the same.
TEST_F(CountedTraffic, of_vectors_is_of_one_access_by_quarters_of_a_warp) {
  const OnDevice<float4> out(32);
  launch(walk_shared_by_fours, 1, 32, 32 * 16, 1u, out.data());
  auto lines = take_traffic();
  EXPECT_EQ(sum_of(lines, "walk_shared_by_fours", Memory::shared), (Traffic{3, 10, 10}));
  EXPECT_EQ(sum_of(lines, "walk_shared_by_fours", Memory::device), (Traffic{2, 32, 32}));
  launch(walk_shared_by_fours, 1, 32, 2 * 32 * 16, 2u, out.data());
  EXPECT_EQ(of_shared("walk_shared_by_fours"), (Traffic{3, 8 + 8 + 2, 10}));
}

// 16 bytes a thread and then 8: in shared memory two threads of eight meet at each bank, then four
// of sixteen. Each thread has a sector of its own.
TEST_F(CountedTraffic, of_ranges_is_of_each_width_they_are_copied_by) {
  const OnDevice<std::uint64_t> x(std::vector<std::uint64_t>(32 * 4, 1)), out(32 * 4);
  launch(copy_triples, 1, 32, 32 * 32, x.data(), out.data());
  const auto lines = take_traffic();
  EXPECT_EQ(sum_of(lines, "copy_triples", Memory::shared), (Traffic{4, 2 * (8 + 8), 2 * (4 + 2)}));
  EXPECT_EQ(sum_of(lines, "copy_triples", Memory::device),
            (Traffic{4, 2 * (32 + 32), 2 * (16 + 8)}));
}

TEST_F(CountedTraffic, of_values_a_sector_apart_is_a_sector_for_each) {
  const OnDevice<float> x(std::vector<float>(8 * 32 * 4, 1.0f)), out(32);
  launch(walk_device, 1, 32, 0, x.data(), 1u, 1u, out.data());
  const auto first = sum_of(take_traffic(), "walk_device", Memory::device);
  // Odd threads go round once more: half of the values of the next four sectors.
  EXPECT_EQ(first, (Traffic{3, 4 + 4 + 4, 4 + 2 + 4}));
  launch(walk_device, 1, 32, 0, x.data(), 8u, 3u, out.data());
  EXPECT_EQ(sum_of(take_traffic(), "walk_device", Memory::device),
            (Traffic{5, 3 * 32 + 16 + 4, 3 * 4 + 2 + 4}));
}

TEST_F(CountedTraffic, of_matrix_rows_is_eight_rows_at_once) {
  const OnDevice<unsigned> out(128);
  const auto stores = [](std::uint64_t ways) { return Traffic{4, 4 * ways, 4}; };
  launch(load_matrix_rows, 1, 32, 32 * 16, 16u, out.data());
  Traffic want = stores(4);  // 4 bytes, 16 apart
  want += {1, 4, 4};
  EXPECT_EQ(of_shared("load_matrix_rows"), want);
  launch(load_matrix_rows, 1, 32, 32 * 128, 128u, out.data());
  want = stores(32);
  want += {1, 32, 4};
  EXPECT_EQ(of_shared("load_matrix_rows"), want);
}

TEST_F(CountedTraffic, of_copies_on_their_way_is_of_both_memories) {
  const OnDevice<float> x(std::vector<float>(256, 1.0f)), out(256);
  launch(copy_through_shared, 1, 32, 1024, x.data(), out.data(), 1);
  const auto lines = take_traffic();
  Traffic copies[2];
  for (const LineTraffic& line : lines)
    if (line.traffic.n_accesses == 2) copies[line.memory == Memory::shared ? 0 : 1] += line.traffic;
  EXPECT_EQ(copies[0], (Traffic{2, 8, 8}));
  EXPECT_EQ(copies[1], (Traffic{2, 32, 32}));
}

TEST_F(CountedTraffic, is_not_kept_unless_asked_for) {
  const OnDevice<float> out(32);
  count_traffic(false);
  launch(walk_shared, 1, 32, 32 * 4, 1u, out.data());
  EXPECT_THAT(take_traffic(), testing::IsEmpty());
}

// Kernels of the product.

struct MostOf {
  const char* kernel;
  double shared, device;  // wavefronts and sectors for each that is needed
};
class KernelTraffic : public SmallLaunches {
 protected:
  void TearDown() override {
    count_traffic(false);
    SmallLaunches::TearDown();
  }
  static std::string worst_lines(const std::vector<LineTraffic>& lines, Memory memory) {
    std::ostringstream out;
    std::size_t n = 0;
    for (const LineTraffic& line : lines)
      if (line.memory == memory && line.traffic.taken > line.traffic.least && n++ < 12)
        out << "  " << line.kernel << ", " << line.line << ": "
            << testing::PrintToString(line.traffic) << "\n";
    return out.str();
  }
  // The limits are what was counted with g++ 12, rounded up.
  void expect_at_most(const MostOf& most) {
    const std::vector<LineTraffic> lines = take_traffic();
    const Traffic shared = sum_of(lines, most.kernel, Memory::shared),
                  device = sum_of(lines, most.kernel, Memory::device);
    EXPECT_GT(shared.n_accesses, 0u) << most.kernel << " did not run";
    EXPECT_GT(device.n_accesses, 0u) << most.kernel << " did not run";
    EXPECT_LE(shared.factor(), most.shared) << worst_lines(lines, Memory::shared);
    EXPECT_LE(device.factor(), most.device) << worst_lines(lines, Memory::device);
  }
  // One call of attention over a lane, four heads to a KV head.
  void attend(const kernels::PageShape& page, std::size_t n_tokens, std::size_t n_last) {
    const satchel::test::LaneFixture lane(
        {.head_dim = kDim, .n_first = 4, .n_pages = 3, .n_last = n_last, .page = page});
    count_traffic(true);
    satchel::test::ask(*backend_,
                       {.n_tokens = n_tokens,
                        .n_group = 4,
                        .head_dim = kDim,
                        .first_position = lane.end_position() - static_cast<int>(n_tokens)},
                       {lane.view()});
  }
  void multiply(kernels::WeightType type, std::size_t n_tokens) {
    constexpr std::size_t kOut = 256, kIn = 512;
    auto file = satchel::test::random_weight(type, kOut, kIn, 1);
    const auto weight = value_of(backend_->load_weight(file.source()));
    const auto x = satchel::test::random_values(n_tokens * kIn, 2);
    std::vector<float> out(n_tokens * kOut);
    count_traffic(true);
    EXPECT_TRUE(backend_->matmul(*weight, x.data(), n_tokens, out.data()).ok());
  }

  static constexpr std::size_t kDim = 128;
  std::unique_ptr<kernels::Backend> backend_ =
      satchel::test::make_staged(value_of(kernels::cuda::make_backend()));
};

// As most pages lie: keys' scales by channel over the page, values' by token.
kernels::PageShape packed(std::size_t bits) {
  kernels::PageShape page = satchel::test::affine_pages(bits, kernels::kPageTokens);
  if (bits == 2) page.v.group = 64;
  return page;
}
// The ladder's 4 bits (kvcache/codecs/klt.cpp), without a basis.
kernels::PageShape ladder() {
  return {.k = satchel::test::graded_operand({6, 5, 4, 4, 4, 3, 3, 3}),
          .v = {.form = kernels::OperandShape::Form::affine,
                .bits = 4,
                .group = 128,
                .symmetric = true,
                .transform = kernels::Transform::hadamard}};
}

TEST_F(KernelTraffic, of_decoding_over_fp16_stays_near_the_least) {
  attend({}, 1, 60);
  expect_at_most({"attend_splits", 1.06, 1.01});
}
TEST_F(KernelTraffic, of_decoding_over_four_bits_stays_near_the_least) {
  attend(packed(4), 1, 60);
  expect_at_most({"attend_splits", 1.22, 1.04});
}
TEST_F(KernelTraffic, of_decoding_over_two_bits_stays_near_the_least) {
  attend(packed(2), 1, 60);
  expect_at_most({"attend_splits", 1.22, 1.06});
}
TEST_F(KernelTraffic, of_decoding_over_the_ladder_stays_near_the_least) {
  attend(ladder(), 1, 60);
  expect_at_most({"attend_splits", 1.33, 1.05});
}
TEST_F(KernelTraffic, of_prefill_stays_near_the_least) {
  attend({}, 64, 256);
  expect_at_most({"attend_halves", 1.01, 1.22});
}
TEST_F(KernelTraffic, of_products_of_a_token_stays_near_the_least) {
  multiply(kernels::WeightType::q4_0, 1);
  expect_at_most({"gemv_kernel", 1.68, 1.22});
}
TEST_F(KernelTraffic, of_products_of_a_prompt_stays_near_the_least) {
  multiply(kernels::WeightType::q4_0, 64);
  expect_at_most({"gemm_kernel", 1.01, 1.01});
}

}  // namespace
}  // namespace test
}  // namespace simt
