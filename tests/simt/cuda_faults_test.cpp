// The cuda backend where things go wrong: each call of CUDA's that can fail, made to fail, becomes
// an Error with words for people; nothing is left behind, and what passes is usable again.
#include <gmock/gmock.h>

#include <cmath>
#include <vector>

#include "kernels/cuda/backend/backend_cuda.h"
#include "kernels/cuda/device/transfers.h"
#include "simt/findings.h"
#include "simt/memory.h"
#include "simt/on_executor.h"
#include "simt/runtime_api.h"
#include "support/lanes.h"
#include "support/mixed_bit.h"
#include "support/value_of.h"
#include "support/weights.h"

namespace satchel::kernels::cuda {
namespace {

using testing::HasSubstr;

float* floats(Buffer& buffer) {
  return reinterpret_cast<float*>(buffer.data());
}

class OneByteCode final : public OperandCode {
 public:
  std::string_view name() const override { return "one_byte"; }
  void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override {
    for (std::size_t i = 0; i < n_tokens * head_dim; ++i)
      page[layout.planes[0].at + i] = static_cast<std::byte>(x[i]);
  }
  void decode(const OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
              std::size_t head_dim, float* x) const override {
    for (std::size_t i = 0; i < n_tokens * head_dim; ++i)
      x[i] = static_cast<float>(page[layout.planes[0].at + i]);
  }
};

// A page of keys in a basis and of values by loops in main memory, there and back.
Result<std::int32_t> use_pages(Backend& backend) {
  constexpr std::size_t kDim = 16, kTokens = 5;
  const test::TestBasis made(kDim);
  Basis basis = made.view();
  basis.id = 3;
  const OneByteCode code;
  const Plane plane{.kind = PlaneKind::codes, .bits = 8, .bytes = kDim * 32};
  SATCHEL_TRY_ASSIGN(
      const PageLayout layout,
      page_layout(
          {.head_dim = kDim,
           .capacity = 32,
           .k = test::graded_operand({8}, &basis),
           .v = {.form = OperandShape::Form::coded, .code = &code, .planes = {&plane, 1}}}));
  const std::size_t rows = kDim * kTokens;
  SATCHEL_TRY_ASSIGN(Buffer exact, backend.allocate(2 * rows * sizeof(Half) + 64));
  SATCHEL_TRY_ASSIGN(Buffer page, backend.allocate(layout.bytes));
  SATCHEL_TRY_ASSIGN(Buffer out, backend.allocate(2 * rows * sizeof(float)));
  auto* k = reinterpret_cast<Half*>(exact.data());
  auto* decoded = reinterpret_cast<float*>(out.data());
  const ExactRun run{k, k + rows, reinterpret_cast<std::int32_t*>(k + 2 * rows), kTokens};
  for (int time = 0; time < 2; ++time) {
    const EncodeArgs encode{.layout = &layout, .exact = run, .page = page.data()};
    SATCHEL_TRY(backend.encode_pages({&encode, 1}));
  }
  const DecodeArgs decode{.layout = &layout,
                          .page = page.data(),
                          .n_tokens = kTokens,
                          .k = decoded,
                          .v = decoded + rows};
  SATCHEL_TRY(backend.decode_pages({&decode, 1}));
  return 0;
}

// What a lane of an exact run and a packed page is asked, by few queries and by many.
Result<std::int32_t> use_lane(Backend& backend) {
  constexpr std::size_t kDim = 32, kTokens = 3, kMany = 20;
  SATCHEL_TRY_ASSIGN(const PageLayout layout, page_layout({.head_dim = kDim,
                                                           .capacity = 32,
                                                           .k = test::affine_operand(4, 16),
                                                           .v = test::affine_operand(4, 16)}));
  SATCHEL_TRY_ASSIGN(Buffer exact, backend.allocate((2 * kDim * 2 + 4) * kTokens));
  SATCHEL_TRY_ASSIGN(Buffer packed, backend.allocate(layout.bytes));
  SATCHEL_TRY_ASSIGN(Buffer work, backend.allocate((2 * kMany * kDim + 3 * kMany) * 4));
  auto* k = reinterpret_cast<Half*>(exact.data());
  const ExactRun run{k, k + kDim * kTokens, reinterpret_cast<std::int32_t*>(k + 2 * kDim * kTokens),
                     kTokens};
  const EncodeArgs encode{.layout = &layout, .exact = run, .page = packed.data()};
  SATCHEL_TRY(backend.encode_pages({&encode, 1}));
  const PageView page{.bytes = packed.data(),
                      .layout = &layout,
                      .n_tokens = kTokens,
                      .live = LiveMask::first(kTokens)};
  SATCHEL_TRY_ASSIGN(const auto table, backend.make_lane_table(1));
  SATCHEL_TRY(table->set_runs(0, {&run, 1}));
  SATCHEL_TRY(table->set_pages(0, {&page, 1}));
  float *q = floats(work), *out = q + kMany * kDim, *lse = out + kMany * kDim;
  const auto* positions = reinterpret_cast<const std::int32_t*>(lse + 2 * kMany);
  for (const std::size_t n : {std::size_t{1}, kMany}) {
    const Batch batch{.positions = positions, .n_tokens = n};
    const Sequence all{.lanes = table.get(), .n_tokens = n};
    SATCHEL_TRY(backend.attend({.q = q,
                                .n_heads = 1,
                                .n_kv_heads = 1,
                                .head_dim = kDim,
                                .batch = batch,
                                .sequences = {&all, 1},
                                .out = out,
                                .lse = lse}));
    const LaneQueries queries{.q = q,
                              .batch = batch,
                              .n_heads = 1,
                              .head_dim = kDim,
                              .keys = {.runs = {&run, 1}, .pages = {&page, 1}}};
    const LogSumExpArgs sum{.lane = queries, .lse = lse};
    SATCHEL_TRY(backend.logsumexp({&sum, 1}));
    const ScoreArgs score{.lane = queries, .lse = lse, .scores = lse + kMany};
    SATCHEL_TRY(backend.score({&score, 1}));
  }
  return 0;
}

// Of a layer of one head, whose state follows the output in memory. All but the state is read from
// `from`, which has 128 values.
Result<void> use_delta(Backend& backend, const float* from, float* out) {
  constexpr std::size_t kDim = 4;
  float* const state = out + kDim;
  const StateSequence one{.n_tokens = 1, .before = state, .behind = state};
  GatedDeltaArgs args{.rows = from,
                      .taps = from + 16,
                      .n_taps = 2,
                      .n_key_heads = 1,
                      .n_value_heads = 1,
                      .key_dim = kDim,
                      .value_dim = kDim,
                      .decay = from + 40,
                      .strength = from + 41,
                      .rate = from + 42,
                      .decay_bias = from + 43,
                      .gate = from + 44,
                      .gain = from + 48,
                      .epsilon = 1e-5f,
                      .sequences = {&one, 1},
                      .out = out};
  args.convolved = state + args.state_values();
  return backend.gated_delta(args);
}

// Likewise.
Result<void> use_mamba(Backend& backend, const float* from, float* out) {
  constexpr std::size_t kDim = 4;
  float* const state = out + kDim;
  const StateSequence one{.n_tokens = 1, .before = state, .behind = state};
  Mamba2Args args{.rows = from,
                  .taps = from + 16,
                  .conv_bias = from + 60,
                  .n_taps = 2,
                  .n_heads = 1,
                  .n_groups = 1,
                  .head_dim = kDim,
                  .state_dim = kDim,
                  .step = from + 40,
                  .rate = from + 41,
                  .step_bias = from + 42,
                  .skip = from + 43,
                  .gate = from + 44,
                  .gain = from + 48,
                  .epsilon = 1e-5f,
                  .sequences = {&one, 1},
                  .out = out};
  args.convolved = state + args.state_values();
  return backend.mamba2(args);
}

// A step that comes again: a norm, products, an activation, layers with a state, an answer. The
// last times it is a graph.
Result<std::int32_t> use_steps(Backend& backend) {
  constexpr std::size_t kWidth = 32;
  const test::WeightFile file = test::random_weight(WeightType::q8_0, kWidth, kWidth, 3);
  SATCHEL_TRY_ASSIGN(const auto weight, backend.load_weight(file.source()));
  SATCHEL_TRY_ASSIGN(Buffer memory, backend.allocate(12 * kWidth * sizeof(float)));
  float *x = floats(memory), *out = x + kWidth, *gain = out + kWidth, *rows = gain + kWidth,
        *taps = rows + 3 * kWidth, *state = taps + 2 * kWidth, *of_delta = state + kWidth,
        *of_mamba = of_delta + 48;
  const StateSequence one{.n_tokens = 1, .before = state, .behind = state};
  std::int32_t largest = 0;
  for (int step = 0; step < 3; ++step) {
    const auto values = test::random_values(12 * kWidth, 5);
    SATCHEL_TRY(backend.upload(memory.data(), std::as_bytes(std::span(values))));
    for (int layer = 0; layer < 2; ++layer) {
      SATCHEL_TRY(backend.rms_norm(x, gain, 1, kWidth, 1e-5f, x));
      SATCHEL_TRY(backend.matmul(*weight, x, 1, out));
      SATCHEL_TRY(backend.glu(Activation::silu, out, x, kWidth));
      SATCHEL_TRY(backend.short_conv({.rows = rows,
                                      .taps = taps,
                                      .width = kWidth,
                                      .n_taps = 2,
                                      .sequences = {&one, 1},
                                      .out = out}));
      SATCHEL_TRY(backend.add(x, out, kWidth));
      SATCHEL_TRY(use_delta(backend, rows, of_delta));
      SATCHEL_TRY(backend.add(x, of_delta, 4));
      SATCHEL_TRY(use_mamba(backend, rows, of_mamba));
      SATCHEL_TRY(backend.add(x, of_mamba, 4));
    }
    SATCHEL_TRY_ASSIGN(largest, backend.argmax(x, kWidth));
  }
  return largest;
}

// Memory, a queued operation, one with arguments, one that answers, a long copy there and back.
Result<std::int32_t> use_memory(Backend& backend) {
  SATCHEL_TRY_ASSIGN(Buffer buffer, backend.allocate(2000 * sizeof(float)));
  std::vector<float> values(2000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
  SATCHEL_TRY(backend.upload(buffer.data(), std::as_bytes(std::span(values))));
  float* x = floats(buffer);
  SATCHEL_TRY(backend.scale(x, 2.0f, values.size()));
  const StoreArgs item{.from = x,
                       .n_rows = 2,
                       .n_values = 5,
                       .from_stride = 10,
                       .to = reinterpret_cast<Half*>(x + 1000)};
  SATCHEL_TRY(backend.store({&item, 1}));
  SATCHEL_TRY(backend.copy(buffer.data() + 4, buffer.data(), 400));
  std::vector<Backend::Ranked> ranked(3);
  SATCHEL_TRY(backend.top_k(x, 1000, ranked));
  std::vector<std::byte> much(kTransferLeast + 5, std::byte{7}), back(much.size());
  SATCHEL_TRY_ASSIGN(Buffer large, backend.allocate(much.size()));
  SATCHEL_TRY(backend.upload(large.data(), much));
  SATCHEL_TRY(backend.download(back, large.data()));
  EXPECT_TRUE(back == much);
  return ranked[0].index;
}

class Faults : public OnExecutor {};

// A backend from its opening to its end, of which one call fails.
struct Use {
  const char* name;
  Result<std::int32_t> (*of)(Backend& backend);
};
class EveryCall : public Faults, public testing::WithParamInterface<Use> {
 protected:
  static Result<std::int32_t> use() {
    SATCHEL_TRY_ASSIGN(const auto backend, make_backend());
    SATCHEL_TRY_ASSIGN(const std::int32_t answer, GetParam().of(*backend));
    SATCHEL_TRY(backend->finish());
    return answer;
  }
};

TEST_P(EveryCall, that_fails_is_an_error_value_and_nothing_is_left_behind) {
  const std::int32_t want = value_of(use());
  const std::pair<cudaError_t, const char*> faults[] = {{cudaErrorMemoryAllocation, "GPU_MEMORY"},
                                                        {cudaErrorInvalidValue, "GPU_CALL"},
                                                        {cudaErrorLaunchFailure, "GPU_LOST"}};
  std::size_t n_failed = 0;
  for (const auto& [error, code] : faults) {
    for (std::size_t n = 0;; ++n) {
      simt::forget_sticky_error();
      simt::fail_call(n, error);
      const Result<std::int32_t> got = use();
      if (!simt::has_failed_call()) break;
      if (got.ok()) {  // there was another way; or it was the backend's end, which nobody hears of
        EXPECT_EQ(*got, want) << "call " << n;
        continue;
      }
      ++n_failed;
      EXPECT_EQ(got.error().code, code) << "call " << n;
    }
  }
  RecordProperty("faults", static_cast<int>(n_failed));
  EXPECT_GT(n_failed, 80u);
  simt::fail_no_call();
  simt::forget_sticky_error();
  EXPECT_EQ(value_of(use()), want);
}

INSTANTIATE_TEST_SUITE_P(Of, EveryCall,
                         testing::Values(Use{"memory", use_memory}, Use{"pages", use_pages},
                                         Use{"a_lane", use_lane}, Use{"steps", use_steps}),
                         [](const auto& test) { return test.param.name; });

TEST_F(Faults, no_card_and_an_old_driver_have_errors_of_their_own) {
  simt::fail_call(0, cudaErrorNoDevice);
  EXPECT_EQ(make_backend().error().code, "GPU_NONE");
  simt::fail_call(0, cudaErrorInsufficientDriver);
  EXPECT_EQ(make_backend().error().code, "GPU_DRIVER");
}

TEST_F(Faults, after_a_full_memory_the_backend_goes_on) {
  const auto backend = value_of(make_backend());
  simt::fail_call(0, cudaErrorMemoryAllocation);
  const auto refused = backend->allocate(100);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::out_of_memory);
  EXPECT_TRUE(backend->allocate(100).ok());
  EXPECT_FALSE(backend->allocate(SIZE_MAX - 3).ok());
  EXPECT_TRUE(backend->finish().ok());
}

TEST_F(Faults, after_a_kernel_that_broke_every_call_says_so) {
  const auto backend = value_of(make_backend());
  auto buffer = value_of(backend->allocate(64));
  simt::fail_call(0, cudaErrorLaunchFailure);
  auto* x = reinterpret_cast<float*>(buffer.data());
  const auto broken = backend->scale(x, 2.0f, 16);
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().kind, ErrorKind::device_lost);
  EXPECT_THAT(broken.error().message, HasSubstr("cudaErrorLaunchFailure"));
  EXPECT_EQ(backend->finish().error().code, "GPU_LOST");
  EXPECT_EQ(backend->allocate(1).error().code, "GPU_LOST");
  simt::forget_sticky_error();  // a driver that answers again does not bring the card's memory back
  simt::fail_call(0, cudaErrorLaunchFailure);
  EXPECT_EQ(backend->finish().error().message, broken.error().message);
  EXPECT_EQ(backend->add(x, x, 0).error().code, "GPU_LOST");
  std::vector<std::byte> bytes(kTransferLeast);
  EXPECT_EQ(backend->upload(buffer.data(), bytes).error().code, "GPU_LOST");
  EXPECT_EQ(backend->download(bytes, buffer.data()).error().code, "GPU_LOST");
  EXPECT_EQ(backend->copy(buffer.data(), buffer.data() + 8, 4).error().code, "GPU_LOST");
  EXPECT_EQ(backend->allocate(1).error().code, "GPU_LOST");
  buffer = {};
  EXPECT_FALSE(simt::has_failed_call()) << "the driver was asked";
}

TEST_F(Faults, after_a_call_that_was_refused_the_next_one_works) {
  const auto backend = value_of(make_backend());
  auto buffer = value_of(backend->allocate(64));
  simt::fail_call(0, cudaErrorInvalidValue);
  const auto refused = backend->scale(floats(buffer), 2.0f, 16);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "GPU_CALL");
  EXPECT_THAT(refused.error().message, HasSubstr("cudaErrorInvalidValue"));
  EXPECT_TRUE(backend->scale(floats(buffer), 2.0f, 16).ok());
  EXPECT_TRUE(backend->finish().ok());
}

}  // namespace
}  // namespace satchel::kernels::cuda
