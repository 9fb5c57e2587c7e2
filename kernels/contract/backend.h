// Backend: the contract that `reference`, `cpu` and (later) `cuda` implement. Above it nobody knows
// which one runs.
//   memory   data pointers are addresses in the backend's memory (Buffer); spans are main memory.
//            Only upload and download cross. For reference and cpu the two are the same.
//   types    activations fp32 [n_tokens, width], last index fastest; cached K and V fp16; positions
//            and ids int32
//   errors   device_lost, out_of_memory, unsupported (named). Shapes are our own business: asserted.
//   queue    a call may return before its work is done; calls take effect in the order they were
//            made; download() and finish() wait
//   threads  one call at a time per Backend; it may use threads inside. Same input, same bytes, for
//            any thread count.
//   numbers  reference states what each operation must compute (float64 where it matters);
//            tests/unit/kernels holds every backend present against it, within the limits written
//            there
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
  // Told, inside load_weight() and embed() and from any of their threads, which bytes of a repacked
  // weight are hardly read again: a mapped file need not count beside it. May be empty; kept with it.
  std::function<void(std::span<const std::byte>)> done_with = {};
};

// The tokens that go through the layers together: made once per step or chunk, read by every layer.
struct Batch {
  const std::int32_t* positions = nullptr;  // [n_tokens], backend's memory; rising in a sequence
  std::size_t n_tokens = 0;
  std::int32_t position_min = 0, position_max = 0;  // of them, known to the host
};

struct RopeArgs {
  float* x = nullptr;  // [n_tokens, n_heads, head_dim], rotated in place
  std::size_t n_tokens = 0, n_heads = 0, head_dim = 0;
  const float* rotation =
      nullptr;  // [n_tokens, n_rotated / 2, 2] cos, sin, as make_rotation() left
  std::size_t n_rotated = 0;
  RopePairs pairs = RopePairs::adjacent;
};

// The tokens first_token … first_token + n_tokens - 1 of a batch belong to one conversation, whose
// lanes first_lane … first_lane + n_kv_heads - 1 of `lanes` they read.
struct Sequence {
  const LaneTable* lanes = nullptr;
  std::size_t first_lane = 0;
  std::size_t first_token = 0, n_tokens = 0;
};

// softmax(cap(q·Kᵀ·scale) + ln count)·V over everything the query's sequence holds at a position
// <= the query's and, where there is a window, > the query's position - window.
// Query head h reads lane h / (n_heads / n_kv_heads) of its sequence. Where nothing is visible:
// out = 0, lse = -infinity.
struct AttendArgs {
  const float* q = nullptr;  // [n_tokens, n_heads, head_dim]
  std::size_t n_heads = 0, n_kv_heads = 0, head_dim = 0;
  Batch batch;
  std::span<const Sequence> sequences;  // in order, together the whole batch
  float scale = 1;
  float soft_cap = 0;      // cap(x) = soft_cap · tanh(x / soft_cap); 0: none
  std::size_t window = 0;  // 0: none
  RopeTable rope = {};     // used only where a page has a shift
  float* out = nullptr;    // [n_tokens, n_heads, head_dim]
  float* lse = nullptr;    // [n_tokens, n_heads], natural log of the sum of exp; or nullptr
};

// Which keys a query at position p sees.
enum class Sees {
  past,           // those at positions <= p
  all,            // every one
  here_and_next,  // those at p and p + 1: the band of a text that is told again, O(n)
};

// The queries of one lane's heads against the keys of that lane, for score() and log_sum().
struct LaneQueries {
  const float* q = nullptr;  // [n_tokens, n_heads, head_dim]; the lane's heads are first_head …
                             // first_head + n_group - 1
  Batch batch;               // positions rise
  std::size_t n_heads = 0, head_dim = 0;
  std::size_t first_head = 0, n_group = 1;
  LaneView keys;  // v unused, nor are log_counts
  float scale = 1, soft_cap = 0;
  std::size_t window = 0;  // with past and all: only keys at positions > p - window; 0: none
  Sees sees = Sees::past;
  RopeTable rope = {};  // used only where a page has a shift
};

// The score kernel of most selection methods, for one lane:
//   scores[j] = HRED over the lane's query heads of QRED over queries i that see j of
//               weight[i] · exp(cap(q_i·k_j·scale) − lse_i)
// reduced into what stands there already (sum: added, max: the larger), so that a prompt may be
// scored chunk by chunk. Slots that no query sees keep what they had. Never holds the T×T matrix.
//   below   Of::below_mean puts in the exp's place 1 where it is less than 1 / t_i and 0 elsewhere,
//           t_i = position of i + 1 + n_beside being how many entries i's attention is spread over. A
//           probability counts as less only below (1 - kBelowSlack) / t_i, so that rounding does not
//           decide where all are alike. With Queries::sum, Sees::past and no window only.
//   order   of scores: the runs' tokens one after the other, then each page's n_tokens slots, live
//           or not (dead ones are left alone)
//   source  arXiv:2411.18077 (MiniKV) section 3.3: column sums without the matrix; below_mean:
//           arXiv:2305.17118 (Scissorhands) algorithm 2
struct ScoreArgs {
  enum class Heads { mean, max };
  enum class Queries { sum, max };
  enum class Of { probability, below_mean };
  LaneQueries lane;
  const float* lse = nullptr;      // [n_tokens, n_heads], of attend() or log_sum() over what counts
  const float* weights = nullptr;  // [n_tokens], or null: 1
  Queries queries = Queries::sum;
  Heads heads = Heads::mean;  // max goes with Queries::max only
  float* scores = nullptr;
  Of of = Of::probability;
  std::int64_t n_beside = 0;  // below_mean: entries that are seen, less positions up to the query's
};
inline constexpr double kBelowSlack = 1e-4;

// The normaliser of a softmax over the keys of a lane, without V and without the matrix:
//   lse[i, h] = log(exp(lse[i, h]) + Σ over keys j that query i sees of exp(cap(q_ih·k_j·scale)))
// for the lane's heads h; the other heads' are left alone. What stands there already counts, so that
// keys may be added part by part; -infinity: nothing yet. What sees nothing keeps what it had.
struct LogSumArgs {
  LaneQueries lane;
  float* lse = nullptr;  // [n_tokens, n_heads]; items of one call write different heads or tokens
};

// What keys are worth by themselves, without any query:
//   scores[t] = exp(w[0] + Σ_c k[t, c] · (w[1 + c] + w[1 + head_dim + c] · k[t, c]))
// with the exponent held to ±kKeyWorthMost, NaN counting as the least. Over queries whose components
// are normal and independent the mean of exp(q·k) has this form, the first weights being their means,
// the second half their variances (arXiv:2510.00636, Expected Attention, has the full covariance);
// here weights are learned (kvcache::KeyWorth). Items of one call write different scores.
struct KeyWorthArgs {
  const float* k = nullptr;  // n_tokens rows of head_dim, stride floats apart
  std::size_t n_tokens = 0, head_dim = 0, stride = 0;
  std::span<const float> weights;  // [1 + 2 · head_dim]
  float* scores = nullptr;         // [n_tokens], written over
};
inline constexpr double kKeyWorthMost = 80;  // exp of it is finite in fp32, and so is its inverse

// fp32 rows to fp16 rows, clamped to ±65504, NaN to 0: K and V on their way into a cache.
struct StoreArgs {
  const float* from = nullptr;  // n_rows rows of n_values, from_stride floats apart
  std::size_t n_rows = 0, n_values = 0, from_stride = 0;
  Half* to = nullptr;  // [n_rows, n_values]
};

// The `keep` largest scores as rising indices: larger first, then the lower index; NaN counts as
// -infinity.
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

// Exact tokens into a page: exact.n_tokens <= layout->capacity. Writes layout->bytes bytes, the
// same on every backend and machine.
struct EncodeArgs {
  const PageLayout* layout = nullptr;
  ExactRun exact;
  const float* log_counts = nullptr;  // [n_tokens], where the layout has them; null: all 0
  std::byte* page = nullptr;
};

// A page back to fp32, turned back, all n_tokens slots.
struct DecodeArgs {
  const PageLayout* layout = nullptr;
  const std::byte* page = nullptr;
  std::size_t n_tokens = 0;
  float *k = nullptr, *v = nullptr;  // [n_tokens, head_dim]; null: not wanted
};

// What the quantisers met and mended since the last finish(): NaN became 0, infinities the largest
// value that a page holds.
struct Health {
  std::size_t n_nan = 0, n_infinite = 0;
};

// How much one call should hold: so little that a stop asked for meanwhile is answered soon (some
// 20 ms on a usual machine of the kind, 200 ms on a slow one), so much that weights are not read
// more often than needed. Constants of a backend, so that a prompt is cut alike on every run.
struct CallSize {
  std::size_t n_tokens = 0;       // 0: unset
  std::size_t multiply_adds = 0;  // of all its tokens
};

// What caches may take of a backend's memory now, in bytes.
struct CacheRoom {
  std::size_t most = 0;     // that they may be given: beside it the kernels have what they need
  std::size_t usually = 0;  // of it, what they take where nobody says how much
  // allocate() takes all of a Buffer at once, as a card does; else bytes are taken as they are
  // written.
  bool taken_at_once = false;
};
// Of main memory: all that is free, usually a quarter.
CacheRoom main_memory_room();

enum class Activation { silu, gelu_tanh };

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;  // "reference", "cpu", "cuda"
  virtual std::string device() const = 0;     // for people: "AVX-512 VNNI, 2 threads"
  // Measured on 2026-11-21, SmolLM2-135M, two threads of AVX-512 VNNI: 2^31 multiply-adds of
  // matrix work take at most 24 ms.
  virtual CallSize call_size() const {
    return {.n_tokens = 256, .multiply_adds = std::size_t{2} << 30};
  }
  // Memory kept for its own work, beside what allocate() and load_weight() gave. Grows to what the
  // largest call so far needed.
  virtual std::size_t scratch_bytes() const { return 0; }
  virtual CacheRoom cache_room() const { return main_memory_room(); }

  // Memory.
  virtual Result<Buffer> allocate(std::size_t bytes) = 0;
  virtual Result<void> upload(std::byte* to, std::span<const std::byte> from) = 0;
  virtual Result<void> download(std::span<std::byte> to, const std::byte* from) = 0;
  virtual Result<void> copy(std::byte* to, const std::byte* from,
                            std::size_t bytes) = 0;  // may overlap
  virtual Result<std::unique_ptr<Weight>> load_weight(const WeightSource& source) = 0;

  // The barrier: all work that was queued is done. Errors of queued work come out here at the latest,
  // and the counters since the last finish().
  virtual Result<Health> finish() = 0;

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
  // gate[i] = activation(gate[i]) * up[i]
  virtual Result<void> gated(Activation activation, float* gate, const float* up,
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

  // Fused operations: a backend that can do them in one pass overrides them, the default is what
  // they mean.
  // outs[i] = x · weights[i]ᵀ + biases[i]
  struct Projection {
    const Weight* weight = nullptr;
    float* out = nullptr;
    const float* bias = nullptr;  // [n_out]; null: none
  };
  virtual Result<void> project(const float* x, std::size_t n_tokens,
                               std::span<const Projection> projections);
  // The same of normed = rms_norm(x).
  virtual Result<void> norm_project(const float* x, const float* gain, std::size_t n_tokens,
                                    float epsilon, float* normed,
                                    std::span<const Projection> projections);
  // x += down · (activation(gate · n) * (up · n)), n = rms_norm(x). The contents of the three work
  // arrays are undefined afterwards.
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
  // x += factor · Σ over the token's experts e of weight_e · feed_forward_e(n), n = rms_norm(x). A
  // token's experts are the n_used of the largest router · n (as top_k), their weights the softmax of
  // these alone; they are added in the order of their numbers, so that a token's result does not
  // depend on which tokens are beside it. A NaN among router · n is `internal`, "LOGITS_NAN".
  struct Expert {
    const Weight *gate = nullptr, *up = nullptr, *down = nullptr;
  };
  struct Experts {
    const float* gain = nullptr;
    const Weight* router = nullptr;  // [n_experts, width]
    std::span<const Expert> experts;
    std::size_t n_used = 0;
    float factor = 1;
    Activation activation = Activation::silu;
    float epsilon = 0;
    float *normed = nullptr, *taken = nullptr;     // work [n_tokens, width]
    float *gate_out = nullptr, *up_out = nullptr;  // work [n_tokens, width of an expert]
    float* routed = nullptr;                       // work [n_tokens, n_experts]
    std::span<Ranked> chosen;                      // work [n_tokens · n_used], main memory
  };
  virtual Result<void> feed_experts(const Experts& args, float* x, std::size_t n_tokens);

  // Cache. The items of one call are independent; a call does all lanes of a layer.
  virtual Result<std::unique_ptr<LaneTable>> make_lane_table(std::size_t n_lanes) = 0;
  virtual Result<void> store(std::span<const StoreArgs> items) = 0;
  virtual Result<void> attend(const AttendArgs& args) = 0;
  virtual Result<void> score(std::span<const ScoreArgs> items) = 0;
  virtual Result<void> log_sum(std::span<const LogSumArgs> items) = 0;
  virtual Result<void> key_worth(std::span<const KeyWorthArgs> items) = 0;
  virtual Result<void> select(std::span<const SelectArgs> items) = 0;
  virtual Result<void> gather(std::span<const GatherArgs> items) = 0;
  virtual Result<void> encode_pages(std::span<const EncodeArgs> items) = 0;
  virtual Result<void> decode_pages(std::span<const DecodeArgs> items) = 0;

  // Choice. Ties go to the lower index; a NaN among the logits is `internal`, "LOGITS_NAN".
  virtual Result<std::int32_t> argmax(const float* logits, std::size_t n) = 0;
  // The k largest, largest first, into main memory.
  virtual Result<void> top_k(const float* logits, std::size_t n, std::span<Ranked> out) = 0;
};

}  // namespace satchel::kernels
