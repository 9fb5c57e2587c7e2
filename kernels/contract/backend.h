// Backend: the contract that `reference`, `cpu` and (later) `cuda` implement. Above it nobody knows
// which one runs.
//   memory   data pointers are addresses in the backend's memory (Buffer); spans are main memory.
//            Only upload and download cross. For reference and cpu the two are the same.
//   types    activations fp32 [n_tokens, width], last index fastest; cached K and V fp16; positions
//            and ids int32
//   errors   device_lost, out_of_memory, unsupported (named). Shapes are our own business: asserted.
//   threads  one call at a time per Backend; it may use threads inside. Same input, same bytes, for
//            any thread count.
//   numbers  reference states what each operation must compute (float64 where it matters);
//            tests/unit/kernels holds every backend present against it, within the limits written
//            there (../shared/kernels.md section 9)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "kernels/base/half.h"
#include "kernels/base/result.h"
#include "kernels/contract/lane_view.h"
#include "kernels/contract/page_layout.h"
#include "kernels/contract/weight_type.h"

namespace satchel::kernels {

// Memory of one backend, owned, 256-byte aligned, zeroed. Must not outlive its Backend.
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::byte* data, std::size_t bytes, std::function<void(std::byte*)> release)
      : data_(data, std::move(release)), bytes_(bytes) {}
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  std::size_t size() const { return bytes_; }

 private:
  std::unique_ptr<std::byte, std::function<void(std::byte*)>> data_{nullptr, [](std::byte*) {}};
  std::size_t bytes_ = 0;
};

// A weight matrix as a backend holds it (perhaps repacked). Each backend derives its own.
class Weight {
 public:
  Weight(WeightType type, std::size_t n_out, std::size_t n_in)
      : type_(type), n_out_(n_out), n_in_(n_in) {}
  virtual ~Weight() = default;
  WeightType type() const { return type_; }
  std::size_t n_out() const { return n_out_; }  // rows in the file: outputs
  std::size_t n_in() const { return n_in_; }    // values in a row: inputs
  // Memory this weight takes beyond the file's mapping (0: it reads the mapping in place).
  virtual std::size_t owned_bytes() const = 0;

 private:
  WeightType type_;
  std::size_t n_out_, n_in_;
};

// A matrix as it lies in the GGUF: n_out rows of row_bytes(type, n_in). `bytes` must outlive the
// Weight.
struct WeightSource {
  WeightType type = WeightType::f32;
  std::size_t n_out = 0, n_in = 0;
  std::span<const std::byte> bytes = {};
};

// How GGUF's Llama files order the two halves of a rotated pair.
enum class RopePairs { adjacent /* (2i, 2i+1) */, halves /* (i, i + n_rotated/2) */ };
struct RopeArgs {
  float* x = nullptr;  // [n_tokens, n_heads, head_dim], rotated in place
  std::size_t n_tokens = 0, n_heads = 0, head_dim = 0;
  std::span<const std::int32_t> positions;    // [n_tokens]
  std::span<const double> inverse_frequency;  // [n_rotated / 2], scaling already applied; the rest
                                              // of a head is left as is
  RopePairs pairs = RopePairs::adjacent;
};

// softmax(q·Kᵀ·scale)·V over everything each lane holds at a position <= the query's.
// Query head h reads lane h / (n_heads / n_kv_heads). Where nothing is visible: out = 0, lse =
// -infinity.
struct AttendArgs {
  const float* q = nullptr;  // [n_tokens, n_heads, head_dim]
  std::size_t n_tokens = 0, n_heads = 0, head_dim = 0;
  std::span<const std::int32_t> positions;  // [n_tokens]
  std::span<const LaneView> lanes;          // [n_kv_heads], lengths may differ and may be 0
  float scale = 1;
  float* out = nullptr;  // [n_tokens, n_heads, head_dim]
  float* lse =
      nullptr;  // [n_tokens, n_heads], natural log of the sum of exp(q·k·scale); or nullptr
};

// Second pass of selective attention: for one lane, scores[j] += mean over its query heads of
// Σ_i exp(q_i·k_j·scale − lse_i), over queries i with positions[i] >= keys.positions[j]. Never
// holds the T×T matrix.
//   source  arXiv:2411.18077 section 3.3; ../shared/methods/selection.md section 3, tests K1 to K5
struct ScoreArgs {
  const float* q = nullptr;    // [n_tokens, n_heads, head_dim]; the lane's heads are first_head …
                               // first_head + n_group - 1
  const float* lse = nullptr;  // [n_tokens, n_heads], as attend() gave it, over all the lane holds
  std::size_t n_tokens = 0, n_heads = 0, head_dim = 0;
  std::size_t first_head = 0, n_group = 1;
  std::span<const std::int32_t> positions;  // [n_tokens]
  ExactRun keys;                            // v unused
  float scale = 1;
  float* scores = nullptr;  // [keys.n_tokens], added to
};

// fp32 rows to fp16 rows, clamped to ±65504, NaN to 0: K and V on their way into a cache.
struct StoreArgs {
  const float* from = nullptr;  // n_rows rows of n_values, from_stride floats apart
  std::size_t n_rows = 0, n_values = 0, from_stride = 0;
  Half* to = nullptr;  // [n_rows, n_values]
};

// What the quantiser met and mended (../shared/methods/codecs.md 0.1).
struct EncodeHealth {
  std::size_t n_nan = 0, n_infinite = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;  // "reference", "cpu", "cuda"
  virtual std::string device() const = 0;     // for people: "AVX-512 VNNI, 2 threads"

  // Memory.
  virtual Result<Buffer> allocate(std::size_t bytes) = 0;
  virtual Result<void> upload(std::byte* to, std::span<const std::byte> from) = 0;
  virtual Result<void> download(std::span<std::byte> to, const std::byte* from) = 0;
  virtual Result<void> copy(std::byte* to, const std::byte* from,
                            std::size_t bytes) = 0;  // may overlap
  virtual Result<std::unique_ptr<Weight>> load_weight(const WeightSource& source) = 0;

  // Model. `gain` and other vectors are fp32 in the backend's memory.
  virtual Result<void> embed(const Weight& table, std::span<const std::int32_t> ids,
                             float* out) = 0;
  // out = x / sqrt(mean(x²) + epsilon) * gain, per row of `width`; out may be x.
  virtual Result<void> rms_norm(const float* x, const float* gain, std::size_t n_tokens,
                                std::size_t width, float epsilon, float* out) = 0;
  virtual Result<void> rope(const RopeArgs& args) = 0;
  // out [n_tokens, n_out] = x [n_tokens, n_in] · weightᵀ
  virtual Result<void> matmul(const Weight& weight, const float* x, std::size_t n_tokens,
                              float* out) = 0;
  // gate[i] = gate[i] / (1 + exp(-gate[i])) * up[i]
  virtual Result<void> gated_silu(float* gate, const float* up, std::size_t n_values) = 0;
  // x[i] += y[i]
  virtual Result<void> add(float* x, const float* y, std::size_t n_values) = 0;

  // Cache.
  virtual Result<void> store(const StoreArgs& args) = 0;
  virtual Result<void> attend(const AttendArgs& args) = 0;
  virtual Result<void> score(const ScoreArgs& args) = 0;
  // The `keep` largest scores as rising indices: larger first, then the lower index; NaN counts as
  // -infinity.
  virtual Result<void> select(const float* scores, std::size_t n_scores, std::size_t keep,
                              std::int32_t* indices) = 0;
  // to[i] = from[indices[i]], rows of row_bytes.
  virtual Result<void> gather(const std::byte* from, const std::int32_t* indices,
                              std::size_t n_rows, std::size_t row_bytes, std::byte* to) = 0;
  // exact.n_tokens == kPageTokens; writes layout.bytes bytes, the same on every backend and
  // machine.
  virtual Result<EncodeHealth> encode_page(const PageLayout& layout, const ExactRun& exact,
                                           std::byte* page) = 0;
  // k, v [kPageTokens, head_dim]
  virtual Result<void> decode_page(const PageLayout& layout, const std::byte* page, float* k,
                                   float* v) = 0;

  // Choice. Ties go to the lower index; a NaN among the logits is `internal`, "LOGITS_NAN".
  virtual Result<std::int32_t> argmax(const float* logits, std::size_t n) = 0;
  // The k largest, largest first, into main memory.
  struct Ranked {
    std::int32_t index;
    float value;
  };
  virtual Result<void> top_k(const float* logits, std::size_t n, std::span<Ranked> out) = 0;
};

}  // namespace satchel::kernels
