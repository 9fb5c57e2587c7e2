// Backend: the interface that `reference`, `cpu` and `cuda` implement. The layers above do not know
// which one runs.
//   memory   data pointers are addresses in the backend's memory (Buffer); spans are main memory.
//            Only upload and download cross. For reference and cpu the two are the same.
//   types    activations fp32 [n_tokens, width], last index fastest; cached K and V fp16; positions
//            and ids int32
//   errors   device_lost, out_of_memory, unsupported (named). The caller guarantees shapes; they
//            are asserted.
//   queue    a call may return before its work is done. Calls take effect in the order they were
//            made; download() and finish() wait.
//   threads  one call at a time per Backend, which may use threads inside. The same input gives
//            the same bytes for any thread count.
//   numbers  reference defines what each operation computes (float64 where it matters).
//            tests/unit/kernels compares every backend present with it, within stated limits.
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
#include "kernels/contract/recurrent.h"
#include "kernels/contract/refit.h"
#include "kernels/contract/weight_type.h"

namespace satchel::kernels {

// Owned memory of one backend: 256-byte aligned and zeroed. Must not outlive its Backend.
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

// A weight matrix as a backend holds it, possibly repacked. Each backend derives its own class.
class Weight {
 public:
  Weight(WeightType type, std::size_t n_out, std::size_t n_in)
      : type_(type), n_out_(n_out), n_in_(n_in) {}
  virtual ~Weight() = default;
  WeightType type() const { return type_; }
  std::size_t n_out() const { return n_out_; }  // rows in the file: outputs
  std::size_t n_in() const { return n_in_; }    // values in a row: inputs
  // Bytes that this weight takes beyond the mapped file; 0 if it reads the mapping in place.
  virtual std::size_t owned_bytes() const = 0;

 private:
  WeightType type_;
  std::size_t n_out_, n_in_;
};

// A matrix as stored in the GGUF file: n_out rows of row_bytes(type, n_in) each. `bytes` must
// outlive the Weight.
struct WeightSource {
  WeightType type = WeightType::f32;
  std::size_t n_out = 0, n_in = 0;
  std::span<const std::byte> bytes = {};
  // Called with byte ranges of a repacked weight that will rarely be read again, so that the owner
  // of a mapped file can drop their pages. load_weight() and embed() call it, from any of their
  // threads. May be empty; the Weight keeps a copy.
  std::function<void(std::span<const std::byte>)> done_with = {};
  // Only embed() will read it, never a product: a backend that repacks may leave it where it is.
  bool is_table = false;

  void check() const;  // asserts that `bytes` has the length that type and shape require
};

// The tokens that pass through the layers together. Built once per decode step or prefill chunk
// and read by every layer.
struct Batch {
  const std::int32_t* positions = nullptr;  // [n_tokens], backend's memory; rise in a sequence
  std::size_t n_tokens = 0;
  std::int32_t position_min = 0, position_max = 0;  // of `positions`, for the host
};

struct RopeArgs {
  float* q = nullptr;  // [n_tokens, n_heads, head_dim], rotated in place
  float* k = nullptr;  // [n_tokens, n_kv_heads, head_dim], likewise; null: none
  std::size_t n_tokens = 0, n_heads = 0, n_kv_heads = 0, head_dim = 0;
  const float* rotation =
      nullptr;  // [n_tokens, n_rotated / 2, 2] cos, sin, as make_rotation() left
  std::size_t n_rotated = 0;
  RopePairs pairs = RopePairs::adjacent;
};

// One conversation's part of a batch: tokens first_token … first_token + n_tokens - 1. They attend
// to lanes first_lane … first_lane + n_kv_heads - 1 of `lanes`.
struct Sequence {
  const LaneTable* lanes = nullptr;
  std::size_t first_lane = 0;
  std::size_t first_token = 0, n_tokens = 0;
};

// Attention: softmax(cap(q·Kᵀ·scale) + ln count)·V over the query's sequence. A query at position p
// attends to keys at positions <= p and, if there is a window, > p - window.
// Query head h attends to lane h / (n_heads / n_kv_heads) of its sequence. A query that sees no
// key gets out = 0 and lse = -infinity.
//   sinks    a head's sink logit (gpt-oss) is one more logit of the softmax, without a value: not
//            scaled, capped or masked. lse includes it, so that exp(logit - lse) is the weight that
//            the model gives a key; a query that sees no key has lse = the sink's logit. Whoever
//            adds up an lse by logsumexp() begins with the sink (LayerShape::lse_of_no_key).
struct AttendArgs {
  const float* q = nullptr;  // [n_tokens, n_heads, head_dim]
  std::size_t n_heads = 0, n_kv_heads = 0, head_dim = 0;
  Batch batch;
  std::span<const Sequence> sequences;  // in order, together the whole batch
  float scale = 1;
  float soft_cap = 0;                       // cap(x) = soft_cap · tanh(x / soft_cap); 0: none
  std::size_t window = 0;                   // 0: none
  RopeTable rope = {};                      // used only by pages with a shift
  std::span<const float> sink_logits = {};  // [n_heads], finite; empty: no sinks
  float* out = nullptr;                     // [n_tokens, n_heads, head_dim]
  float* lse = nullptr;  // [n_tokens, n_heads], natural logsumexp of the logits; may be null
};

// The attention mask: which keys a query at position p attends to.
enum class AttentionMask {
  causal,  // causal: positions <= p
  full,    // full: every key
  band,    // band: positions p and p + 1, for a text that repeats itself; O(n)
};

// The queries of one lane's heads and the keys of that lane, for score() and logsumexp().
struct LaneQueries {
  const float* q = nullptr;  // [n_tokens, n_heads, head_dim]; the lane's heads are first_head …
                             // first_head + n_group - 1
  Batch batch;               // with rising positions
  std::size_t n_heads = 0, head_dim = 0;
  std::size_t first_head = 0, n_group = 1;
  LaneView keys;  // v and log_counts are not used
  float scale = 1, soft_cap = 0;
  std::size_t window = 0;  // with past and all: only keys at positions > p - window; 0: none
  AttentionMask mask = AttentionMask::causal;
  RopeTable rope = {};  // used only by pages with a shift

  void check() const;  // asserts that heads and pages fit the shape
};

// The score kernel of most selection methods, for one lane. It never materialises the T×T matrix.
//   scores[j] = HRED over the lane's query heads of QRED over queries i that see j of
//               weight[i] · exp(cap(q_i·k_j·scale) − lse_i)
// The result is reduced into the scores already there (sum: added; max: the larger), so a prompt
// can be scored chunk by chunk. Slots that no query sees keep their score.
//   below   Of::below_mean replaces the exp by 1 where it is below 1 / t_i, and by 0 elsewhere.
//           t_i = position of i + 1 + n_beside is the number of entries that i attends to.
//           "Below" means less than (1 - kBelowSlack) / t_i, so that rounding does not decide
//           between equal entries. Requires Queries::sum, AttentionMask::causal and no window.
//   order   scores hold the runs' tokens one after the other, then each page's n_tokens slots.
//           Dead slots have a place but are not written.
//   source  arXiv:2411.18077 (MiniKV) section 3.3: column sums without the matrix; below_mean:
//           arXiv:2305.17118 (Scissorhands) algorithm 2
struct ScoreArgs {
  enum class Heads { mean, max };
  enum class Queries { sum, max };
  enum class Of { probability, below_mean };
  LaneQueries lane;
  const float* lse = nullptr;      // [n_tokens, n_heads], from attend() or logsumexp()
  const float* weights = nullptr;  // [n_tokens], or null: 1
  Queries queries = Queries::sum;
  Heads heads = Heads::mean;  // Heads::max requires Queries::max
  float* scores = nullptr;
  Of of = Of::probability;
  std::int64_t n_beside = 0;  // below_mean: visible entries minus positions up to the query's

  void check() const;  // asserts what is required above
};
inline constexpr double kBelowSlack = 1e-4;

// The logsumexp of attention over the keys of a lane, without V and without the T×T matrix:
//   lse[i, h] = log(exp(lse[i, h]) + Σ over keys j that query i sees of exp(cap(q_ih·k_j·scale)))
// for the lane's heads h; other heads are not written. It adds to the value already there, so keys
// can be added in several calls; start with -infinity. A query that sees no key keeps its value.
struct LogSumExpArgs {
  LaneQueries lane;
  float* lse = nullptr;  // [n_tokens, n_heads]; the items of a call must not overlap
};

// The importance of keys by themselves, without any query:
//   scores[t] = exp(w[0] + Σ_c k[t, c] · (w[1 + c] + w[1 + head_dim + c] · k[t, c]))
// The exponent is clamped to ±kKeyImportanceMax; NaN counts as the smallest. The items of a call
// must not overlap. The mean of exp(q·k) has this form if the components of q are independent and
// normal: w holds their means, then half their variances. Expected Attention (arXiv:2510.00636)
// uses the full covariance; here the weights are learned (kvcache::KeyImportance).
struct KeyImportanceArgs {
  const float* k = nullptr;  // n_tokens rows of head_dim, stride floats apart
  std::size_t n_tokens = 0, head_dim = 0, stride = 0;
  std::span<const float> weights;  // [1 + 2 · head_dim]
  float* scores = nullptr;         // [n_tokens], overwritten
};
inline constexpr double kKeyImportanceMax = 80;  // exp(±80) is finite in fp32

// Converts K or V to the cache's fp16: values are clamped to ±65504, NaN becomes 0. Where the rows'
// positions are stored too, they are first_position, first_position + 1, …
struct StoreArgs {
  const float* from = nullptr;  // n_rows rows of n_values, from_stride floats apart
  std::size_t n_rows = 0, n_values = 0, from_stride = 0;
  Half* to = nullptr;                 // [n_rows, n_values]
  std::int32_t* positions = nullptr;  // [n_rows]; null: not stored
  std::int32_t first_position = 0;
};

// Finds the `keep` largest scores and writes their indices in rising order. Of equal scores the
// lower index wins; NaN counts as -infinity.
struct SelectArgs {
  const float* scores = nullptr;
  std::size_t n_scores = 0, keep = 0;
  std::int32_t* indices = nullptr;  // [keep]
};

// to[i] = from[indices[i]], rows of row_bytes.
struct GatherArgs {
  const std::byte* from = nullptr;
  const std::int32_t* indices = nullptr;  // [n_rows]
  std::size_t n_rows = 0, row_bytes = 0;
  std::byte* to = nullptr;
};

// Quantises exact tokens into a page; exact.n_tokens <= layout->capacity. Writes layout->bytes
// bytes, the same on every backend and machine.
struct EncodeArgs {
  const PageLayout* layout = nullptr;
  ExactRun exact;
  const float* log_counts = nullptr;  // [n_tokens], if the layout has them; null: all 0
  std::byte* page = nullptr;
};

// Decodes all n_tokens slots of a page to fp32 and undoes its transform. Of a latent lane's page, v
// is what k is.
struct DecodeArgs {
  const PageLayout* layout = nullptr;
  const std::byte* page = nullptr;
  std::size_t n_tokens = 0;
  float *k = nullptr, *v = nullptr;  // [n_tokens, head_dim]; null: not needed
};

// Numeric warnings: values that the quantisers replaced since the last finish(). NaN became 0,
// infinity the largest value that a page can hold.
struct NumericWarnings {
  std::size_t n_nan = 0, n_infinite = 0;
};

// The recommended size of one call. It is small enough to answer a stop request soon (about 20 ms
// on a typical machine, 200 ms on a slow one), and large enough not to read weights too often.
// Constant per backend, so that a prompt is split into the same chunks on every run.
struct WorkLimits {
  std::size_t n_tokens = 0;       // 0: unset
  std::size_t multiply_adds = 0;  // of all tokens together
};

// Backend memory available to caches now, in bytes.
struct AvailableMemory {
  std::size_t most = 0;     // upper limit; the kernels' own needs are already subtracted
  std::size_t usually = 0;  // the default limit, at most `most`
  // Whether allocate() commits a whole Buffer at once, as a GPU does. Otherwise pages are committed
  // when first written.
  bool taken_at_once = false;
};
// For main memory: `most` is all that is free, `usually` a quarter of it.
AvailableMemory available_main_memory();

// How a gated unit joins its two inputs:
//   silu          g / (1 + exp(-g)) · u
//   gelu_tanh     GELU of g in its tanh form, times u
//   clamped_silu  g / (1 + exp(-kClampedSlope · g)) · (u + 1), with g at most kClampedMost and u
//                 within ±kClampedMost (gpt-oss)
//   sigmoid       u / (1 + exp(-g)); of glu() alone, not of a feed_forward()
//   relu          max(g, 0) · u; likewise. Where u is g itself, it is squared (Nemotron-H)
enum class Activation { silu, gelu_tanh, clamped_silu, sigmoid, relu };
inline constexpr float kClampedMost = 7, kClampedSlope = 1.702f;

// The error of argmax() and top_k() if logit `index` is NaN.
Error nan_among_logits(std::size_t index);

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;  // "reference", "cpu", "cuda"
  virtual std::string device() const = 0;     // for people: "AVX-512 VNNI, 2 threads"
  // Measured on 2026-11-21, SmolLM2-135M, two threads of AVX-512 VNNI: 2^31 multiply-adds of
  // matrix work take at most 24 ms.
  virtual WorkLimits work_limits() const {
    return {.n_tokens = 256, .multiply_adds = std::size_t{2} << 30};
  }
  // Workspace of the backend, in addition to allocate() and load_weight(). Grows to the need of the
  // largest call so far.
  virtual std::size_t scratch_bytes() const { return 0; }
  virtual AvailableMemory available_memory() const { return available_main_memory(); }
  // The longest heads that attention and pages take.
  virtual std::size_t head_dim_max() const { return kHeadDimMax; }
  // Whether it knows latent lanes (lane_view.h).
  virtual bool takes_latent_lanes() const { return true; }
  // Whether a token's results in a step of a few are those of a step of its own, bit for bit.
  virtual bool steps_are_exact() const { return true; }

  // Memory.
  virtual Result<Buffer> allocate(std::size_t bytes) = 0;
  virtual Result<void> upload(std::byte* to, std::span<const std::byte> from) = 0;
  virtual Result<void> download(std::span<std::byte> to, const std::byte* from) = 0;
  virtual Result<void> copy(std::byte* to, const std::byte* from,
                            std::size_t bytes) = 0;  // may overlap
  virtual Result<std::unique_ptr<Weight>> load_weight(const WeightSource& source) = 0;

  // Waits until all queued work is done. Reports errors of queued work at the latest here, and the
  // numeric warnings since the last finish().
  virtual Result<NumericWarnings> finish() = 0;

  // Model. `gain` and other vectors are fp32 in the backend's memory.
  virtual Result<void> embed(const Weight& table, std::span<const std::int32_t> ids,
                             float* out) = 0;
  // out = x / sqrt(mean(x²) + epsilon) * gain, per row of `width`; out may be x.
  virtual Result<void> rms_norm(const float* x, const float* gain, std::size_t n_tokens,
                                std::size_t width, float epsilon, float* out) = 0;
  // cos and sin of position · frequency, computed in float64: [n_tokens, n_rotated / 2, 2].
  virtual Result<void> make_rotation(const Batch& batch, const RopeTable& table,
                                     float* rotation) = 0;
  virtual Result<void> rope(const RopeArgs& args) = 0;
  // out [n_tokens, n_out] = x [n_tokens, n_in] · weightᵀ
  virtual Result<void> matmul(const Weight& weight, const float* x, std::size_t n_tokens,
                              float* out) = 0;
  // gate[i] = activation of gate[i] and up[i]
  virtual Result<void> glu(Activation activation, float* gate, const float* up,
                           std::size_t n_values) = 0;
  // x[i] += y[i]
  virtual Result<void> add(float* x, const float* y, std::size_t n_values) = 0;
  // x[i] *= factor
  virtual Result<void> scale(float* x, float factor, std::size_t n_values) = 0;

  // x[i] = cap · tanh(x[i] / cap)
  virtual Result<void> soft_cap(float* x, float cap, std::size_t n_values) = 0;
  // x[r, i] += row[i], r < n_rows, i < width
  virtual Result<void> add_row(float* x, const float* row, std::size_t n_rows, std::size_t width);
  // x[r, i] *= factor, i < n_first: the first values of every row
  virtual Result<void> scale_first(float* x, float factor, std::size_t n_rows, std::size_t width,
                                   std::size_t n_first);

  // x[r, i] *= 1 / (1 + exp(-gate[r])), r < n_rows, i < width
  virtual Result<void> gate_rows(float* x, const float* gate, std::size_t n_rows,
                                 std::size_t width);

  // Layers with a state. States are written last, and only `behind`.
  virtual Result<void> short_conv(const ShortConvArgs& args) = 0;
  virtual Result<void> gated_delta(const GatedDeltaArgs& args) = 0;
  virtual Result<void> mamba2(const Mamba2Args& args) = 0;
  // To and from packed_bytes(n_values). The default implementation is for main memory.
  virtual Result<void> pack_values(const float* x, std::size_t n_values, std::byte* packed);
  virtual Result<void> unpack_values(const std::byte* packed, std::size_t n_values, float* x);

  // Fused operations. The default implementation defines the result; a backend overrides one that
  // it can do in a single pass.
  // outs[i] = x · weights[i]ᵀ + biases[i]
  struct Projection {
    const Weight* weight = nullptr;
    float* out = nullptr;
    const float* bias = nullptr;  // [n_out]; null: none
  };
  virtual Result<void> project(const float* x, std::size_t n_tokens,
                               std::span<const Projection> projections);
  // project() of normed = rms_norm(x).
  virtual Result<void> norm_project(const float* x, const float* gain, std::size_t n_tokens,
                                    float epsilon, float* normed,
                                    std::span<const Projection> projections);
  // x += from · weightᵀ + bias. The projection's `out` is work [n_tokens, n_out], left undefined.
  virtual Result<void> add_projection(const float* from, std::size_t n_tokens,
                                      const Projection& projection, float* x);
  // x += down · activation(gate · n, up · n), n = rms_norm(x). Leaves the three work arrays
  // undefined.
  struct FeedForward {
    const float* gain = nullptr;
    const Weight *gate = nullptr, *up = nullptr, *down = nullptr;
    Activation activation = Activation::silu;
    float epsilon = 0;
    float* normed = nullptr;                       // work [n_tokens, gate->n_in()]
    float *gate_out = nullptr, *up_out = nullptr;  // work [n_tokens, gate->n_out()]
  };
  virtual Result<void> feed_forward(const FeedForward& args, float* x, std::size_t n_tokens);

  struct Ranked {
    std::int32_t index;
    float value;
  };
  // Mixture of experts: x += factor · Σ_e weight_e · feed_forward_e(n), n = rms_norm(x). Each token
  // uses the n_used experts with the largest router · n (as top_k), weighted by a softmax. They are
  // added in the order of their numbers, whatever the rest of the batch. NaN in router · n is
  // `internal`, "LOGITS_NAN". Products get their biases. Gemma 4 norms for the router by another
  // gain, multiplies each expert's weight by a factor of the expert, and has the sum elsewhere.
  enum class Weighting {
    softmax,         // over those that a token uses
    softmax_of_all,  // over all experts: the weights of those used add up to less than 1
    // Used are those with the largest s + choice_bias, s = sigmoid(router · n); they weigh s,
    // divided by the sum of these (LFM2, Nemotron 3).
    sigmoid,
  };
  struct Expert {
    // Without a gate, activation(up · n, up · n).
    const Weight *gate = nullptr, *up = nullptr, *down = nullptr;
    const float *gate_bias = nullptr, *up_bias = nullptr, *down_bias = nullptr;  // null: none
  };
  struct MixtureOfExperts {
    const float* gain = nullptr;
    const float* router_gain = nullptr;  // [width]; null: gain
    const Weight* router = nullptr;      // [n_experts, width]
    const float* router_bias = nullptr;  // [n_experts]; null: none
    std::span<const Expert> experts;
    std::span<const float> expert_factors = {};  // [n_experts], main memory; empty: 1
    Weighting weighting = Weighting::softmax;
    std::span<const float> choice_biases = {};  // of sigmoid: [n_experts], main memory; empty: 0
    std::size_t n_used = 0;
    float factor = 1;
    float* sum = nullptr;  // [n_tokens, width]: is given the sum, and x stays; null: x
    Activation activation = Activation::silu;
    float epsilon = 0;
    float *normed = nullptr, *taken = nullptr;     // work [n_tokens, width]
    float *gate_out = nullptr, *up_out = nullptr;  // work [n_tokens, width of an expert]
    float* routed = nullptr;                       // work [n_tokens, n_experts]
    std::span<Ranked> chosen;                      // work [n_tokens · n_used], main memory
    std::span<float> scores = {};  // but of softmax: work [n_tokens · n_experts], main memory
  };
  virtual Result<void> moe(const MixtureOfExperts& args, float* x, std::size_t n_tokens);

  // Cache. The items of a call are independent; one call covers all lanes of a layer.
  virtual Result<std::unique_ptr<LaneTable>> make_lane_table(std::size_t n_lanes) = 0;
  virtual Result<void> store(std::span<const StoreArgs> items) = 0;
  virtual Result<void> attend(const AttendArgs& args) = 0;
  virtual Result<void> score(std::span<const ScoreArgs> items) = 0;
  virtual Result<void> logsumexp(std::span<const LogSumExpArgs> items) = 0;
  virtual Result<void> key_importance(std::span<const KeyImportanceArgs> items) = 0;
  // Whether it was fitted. Else all weights are 1 and v is as it was: the fit would not help, or
  // something was not finite.
  virtual Result<bool> refit(const RefitArgs& args) = 0;
  virtual Result<void> select(std::span<const SelectArgs> items) = 0;
  virtual Result<void> gather(std::span<const GatherArgs> items) = 0;
  virtual Result<void> encode_pages(std::span<const EncodeArgs> items) = 0;
  virtual Result<void> decode_pages(std::span<const DecodeArgs> items) = 0;

  // Token choice. Ties go to the lower index; NaN among the logits is `internal`, "LOGITS_NAN".
  virtual Result<std::int32_t> argmax(const float* logits, std::size_t n) = 0;
  // The k largest, largest first, into main memory.
  virtual Result<void> top_k(const float* logits, std::size_t n, std::span<Ranked> out) = 0;
};

}  // namespace satchel::kernels
