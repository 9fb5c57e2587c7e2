#include "kernels/registry/self_check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "kernels/base/rng.h"
#include "kernels/reference/backend_reference.h"

namespace satchel::kernels {
namespace {

// The result of an operation. limit: the relative error (norm of the difference over norm) that
// rounding may cause; chosen above the limits of tests/unit/kernels, far below the error of a wrong
// kernel.
struct Answer {
  const char* what;
  double limit;
  std::vector<float> values;
};

std::vector<float> random_values(std::size_t n, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> out(n);
  for (float& x : out) x = static_cast<float>(4 * rng.uniform() - 2);
  return out;
}

// Runs the same operations on any backend.
class Work {
 public:
  explicit Work(Backend& backend) : backend_(&backend) {}

  Result<std::vector<Answer>> run() {
    SATCHEL_TRY(norm());
    SATCHEL_TRY(product());
    SATCHEL_TRY(pages());
    SATCHEL_TRY(choice());
    return std::move(answers_);
  }

 private:
  template <class T>
  Result<Buffer> there(const std::vector<T>& values) {
    SATCHEL_TRY_ASSIGN(Buffer buffer, backend_->allocate(values.size() * sizeof(T)));
    SATCHEL_TRY(backend_->upload(buffer.data(), std::as_bytes(std::span(values))));
    return buffer;
  }
  static float* floats(Buffer& buffer) { return reinterpret_cast<float*>(buffer.data()); }
  Result<void> add(const char* what, double limit, const Buffer& from) {
    std::vector<float> values(from.size() / sizeof(float));
    SATCHEL_TRY(backend_->download(std::as_writable_bytes(std::span(values)), from.data()));
    answers_.push_back({what, limit, std::move(values)});
    return {};
  }

  Result<void> norm();
  Result<void> product();
  Result<void> pages();
  Result<void> attention(const LaneTable& lanes, std::int32_t next_position);
  Result<void> choice();

  Backend* backend_;
  std::vector<Answer> answers_;
};

Result<void> Work::norm() {
  constexpr std::size_t kTokens = 2, kWidth = 192;
  SATCHEL_TRY_ASSIGN(Buffer x, there(random_values(kTokens * kWidth, 1)));
  SATCHEL_TRY_ASSIGN(Buffer gain, there(random_values(kWidth, 2)));
  SATCHEL_TRY(backend_->rms_norm(floats(x), floats(gain), kTokens, kWidth, 1e-5f, floats(x)));
  return add("a norm", 1e-5, x);
}

// Q4_K, the type of most models: blocks of 144 bytes, two halves and then codes of any value. Few
// tokens and many use different kernels.
Result<void> Work::product() {
  constexpr std::size_t kOut = 40, kIn = 512, kBlock = 144;
  Rng rng(3);
  std::vector<std::byte> file(kOut * *row_bytes(WeightType::q4_k, kIn));
  for (std::byte& each : file) each = static_cast<std::byte>(rng.next() >> 56);
  for (std::size_t at = 0; at < file.size(); at += kBlock) {
    const Half scales[] = {float_to_half(0.003f), float_to_half(0.02f)};
    std::memcpy(file.data() + at, scales, sizeof scales);
  }
  SATCHEL_TRY_ASSIGN(
      const std::unique_ptr<Weight> weight,
      backend_->load_weight({.type = WeightType::q4_k, .n_out = kOut, .n_in = kIn, .bytes = file}));
  for (const std::size_t n_tokens : {std::size_t{2}, std::size_t{20}}) {
    SATCHEL_TRY_ASSIGN(Buffer x, there(random_values(n_tokens * kIn, 4)));
    SATCHEL_TRY_ASSIGN(Buffer out, backend_->allocate(n_tokens * kOut * sizeof(float)));
    SATCHEL_TRY(backend_->matmul(*weight, floats(x), n_tokens, floats(out)));
    SATCHEL_TRY(add("a product with quantised weights", 1e-3, out));
  }
  return {};
}

constexpr std::size_t kDim = 64, kHeads = 4;

// A 4-bit page, and a few exact tokens after it.
Result<void> Work::pages() {
  constexpr std::size_t kPacked = 128, kExact = 5, kTokens = kPacked + kExact;
  const OperandShape codes{.form = OperandShape::Form::affine, .bits = 4, .group = 32};
  SATCHEL_TRY_ASSIGN(const PageLayout layout,
                     page_layout({.head_dim = kDim, .capacity = kPacked, .k = codes, .v = codes}));
  std::vector<Half> rows;
  for (const float x : random_values(2 * kTokens * kDim, 5)) rows.push_back(float_to_half(x));
  std::vector<std::int32_t> places(kTokens);
  for (std::size_t i = 0; i < kTokens; ++i) places[i] = static_cast<std::int32_t>(i);
  SATCHEL_TRY_ASSIGN(const Buffer exact, there(rows));
  SATCHEL_TRY_ASSIGN(const Buffer positions, there(places));
  SATCHEL_TRY_ASSIGN(Buffer page, backend_->allocate(layout.bytes));
  const auto* k = reinterpret_cast<const Half*>(exact.data());
  const Half* v = k + kTokens * kDim;
  const auto* at = reinterpret_cast<const std::int32_t*>(positions.data());
  const EncodeArgs encode{.layout = &layout,
                          .exact = {.k = k, .v = v, .positions = at, .n_tokens = kPacked},
                          .page = page.data()};
  SATCHEL_TRY(backend_->encode_pages({&encode, 1}));
  const PageView view{.bytes = page.data(),
                      .layout = &layout,
                      .n_tokens = kPacked,
                      .live = LiveMask::first(kPacked),
                      .last_position = kPacked - 1};
  const ExactRun run{.k = k + kPacked * kDim,
                     .v = v + kPacked * kDim,
                     .positions = at + kPacked,
                     .n_tokens = kExact};
  SATCHEL_TRY_ASSIGN(const std::unique_ptr<LaneTable> lanes, backend_->make_lane_table(1));
  SATCHEL_TRY(lanes->set_pages(0, {&view, 1}));
  SATCHEL_TRY(lanes->set_runs(0, {&run, 1}));
  SATCHEL_TRY(attention(*lanes, kTokens));
  std::vector<std::byte> packed(layout.bytes);
  SATCHEL_TRY(backend_->download(packed, page.data()));
  std::vector<float> bytes;
  for (const std::byte each : packed) bytes.push_back(static_cast<float>(each));
  answers_.push_back({"a quantised page", 0, std::move(bytes)});
  return {};
}

// Of one token (decode), and of enough for prefill attention.
Result<void> Work::attention(const LaneTable& lanes, std::int32_t next_position) {
  for (const std::size_t n_tokens : {std::size_t{1}, std::size_t{8}}) {
    std::vector<std::int32_t> places(n_tokens);
    for (std::size_t i = 0; i < n_tokens; ++i)
      places[i] = next_position - static_cast<std::int32_t>(n_tokens - i);
    SATCHEL_TRY_ASSIGN(const Buffer positions, there(places));
    SATCHEL_TRY_ASSIGN(Buffer q, there(random_values(n_tokens * kHeads * kDim, 6)));
    SATCHEL_TRY_ASSIGN(Buffer out, backend_->allocate(q.size()));
    const Sequence all{.lanes = &lanes, .n_tokens = n_tokens};
    SATCHEL_TRY(backend_->attend(
        {.q = floats(q),
         .n_heads = kHeads,
         .n_kv_heads = 1,
         .head_dim = kDim,
         .batch = {.positions = reinterpret_cast<const std::int32_t*>(positions.data()),
                   .n_tokens = n_tokens,
                   .position_min = places.front(),
                   .position_max = places.back()},
         .sequences = {&all, 1},
         .scale = 0.125f,
         .out = floats(out)}));
    SATCHEL_TRY(add("attention over a quantised page", 2e-3, out));
  }
  return {};
}

Result<void> Work::choice() {
  const std::vector<float> logits = random_values(3000, 7);
  SATCHEL_TRY_ASSIGN(Buffer x, there(logits));
  SATCHEL_TRY_ASSIGN(const std::int32_t largest, backend_->argmax(floats(x), logits.size()));
  answers_.push_back({"argmax", 0, {static_cast<float>(largest)}});
  return {};
}

// Infinite if a value is NaN or infinite.
double difference(const std::vector<float>& got, const std::vector<float>& want) {
  double apart = 0, all = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    apart += std::pow(double{got[i]} - double{want[i]}, 2);
    all += std::pow(double{want[i]}, 2);
  }
  return std::isfinite(apart) ? std::sqrt(apart / all) : INFINITY;
}

Error wrong(const Backend& backend, const Answer& answer, double by) {
  char text[96];
  std::snprintf(text, sizeof text, "by a relative %.2g, more than rounding explains (%.2g)", by,
                answer.limit);
  return {ErrorKind::device_lost, "GPU_CHECK",
          backend.device() + " gives wrong results: " + answer.what + " differs " + text +
              ". Satchel uses the cpu backend instead. Restart the machine or install another "
              "driver. The backend \"cuda\" uses the GPU anyway."};
}

}  // namespace

Result<void> self_check(Backend& backend) {
  reference::ReferenceBackend reference;
  SATCHEL_TRY_ASSIGN(const std::vector<Answer> want, Work(reference).run());
  SATCHEL_TRY_ASSIGN(const std::vector<Answer> got, Work(backend).run());
  for (std::size_t i = 0; i < want.size(); ++i)
    if (const double by = difference(got[i].values, want[i].values); by > want[i].limit)
      return wrong(backend, want[i], by);
  return {};
}

}  // namespace satchel::kernels
