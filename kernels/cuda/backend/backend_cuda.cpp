#include "kernels/cuda/backend/backend_cuda.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/attention/lane_table.h"
#include "kernels/cuda/device/arguments.h"
#include "kernels/cuda/device/device.h"
#include "kernels/cuda/device/move.h"
#include "kernels/cuda/experts/mixture.h"
#include "kernels/cuda/pages/page_ops.h"
#include "kernels/cuda/products/cuda_weight.h"
#include "kernels/cuda/products/layer_products.h"
#include "kernels/cuda/products/matmul.h"
#include "kernels/cuda/rows/rope.h"
#include "kernels/cuda/rows/rows.h"
#include "kernels/cuda/scoring/key_importance.h"
#include "kernels/cuda/scoring/scoring.h"
#include "kernels/cuda/scoring/select.h"
#include "kernels/reference/refit.h"

namespace satchel::kernels::cuda {
namespace {

std::size_t longest(std::span<const StateSequence> sequences) {
  std::size_t n_tokens = 0;
  for (const StateSequence& sequence : sequences) n_tokens = std::max(n_tokens, sequence.n_tokens);
  return n_tokens;
}

class CudaBackend final : public Backend {
 public:
  CudaBackend(std::unique_ptr<Device> device, Arguments arguments, PageOps pages)
      : device_(std::move(device)),
        arguments_(std::move(arguments)),
        pages_(std::move(pages)),
        products_(*device_) {}
  // Queued work may read memory of members that go before the device, which waits too.
  ~CudaBackend() override { (void)device_->finish(); }

  std::string_view name() const override { return "cuda"; }
  std::string device() const override { return device_->name(); }
  // At 2^37 the largest operation of an 8B model takes 512 tokens; twice that fill a card of many
  // multiprocessors better, and take twice the workspace.
  WorkLimits work_limits() const override {
    const bool is_large = device_->n_multiprocessors() >= 96;
    return {.n_tokens = is_large ? 1024u : 512u,
            .multiply_adds = std::size_t{1} << (is_large ? 38 : 37)};
  }
  std::size_t scratch_bytes() const override {
    return work_.size() + arguments_.bytes() + pages_.bytes() + products_.bytes() +
           mixture_.bytes() + attention_.bytes() + scoring_.bytes();
  }

  AvailableMemory available_memory() const override {
    const std::size_t available = device_->memory().available_bytes();
    return {.most = available, .usually = available, .taken_at_once = true};
  }

  std::size_t head_dim_max() const override { return kCudaHeadDimMax; }
  bool takes_latent_lanes() const override { return false; }
  bool steps_are_exact() const override { return false; }  // splits follow the number of rows

  Result<Buffer> allocate(std::size_t bytes) override { return device_->allocate(bytes); }
  Result<void> upload(std::byte* to, std::span<const std::byte> from) override {
    return arguments_.send(to, from);
  }
  Result<void> download(std::span<std::byte> to, const std::byte* from) override {
    SATCHEL_TRY(device_->download(to, from));
    return mixture_.check();
  }
  Result<void> copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    return device_->copy(to, from, bytes);
  }
  Result<NumericWarnings> finish() override {
    SATCHEL_TRY_ASSIGN(const NumericWarnings warnings, pages_.take_warnings());
    SATCHEL_TRY(mixture_.check());
    return warnings;
  }

  Result<std::unique_ptr<Weight>> load_weight(const WeightSource& source) override {
    mixture_.forget_tables();
    SATCHEL_TRY_ASSIGN(CudaWeight weight, CudaWeight::make(*device_, source));
    return std::unique_ptr<Weight>(std::make_unique<CudaWeight>(std::move(weight)));
  }
  Result<void> embed(const Weight& table, std::span<const std::int32_t> ids, float* out) override;
  Result<void> matmul(const Weight& weight, const float* x, std::size_t n_tokens,
                      float* out) override {
    const Projection projection{.weight = &weight, .out = out};
    return project(x, n_tokens, {&projection, 1});
  }
  Result<void> project(const float* x, std::size_t n_tokens,
                       std::span<const Projection> projections) override {
    return products_.project(x, n_tokens, projections);
  }
  Result<void> norm_project(const float* x, const float* gain, std::size_t n_tokens, float epsilon,
                            float* normed, std::span<const Projection> projections) override {
    return products_.norm_project(x, gain, n_tokens, epsilon, normed, projections);
  }
  Result<void> add_projection(const float* from, std::size_t n_tokens, const Projection& projection,
                              float* x) override {
    return products_.add_projection(from, n_tokens, projection, x);
  }
  Result<void> feed_forward(const FeedForward& args, float* x, std::size_t n_tokens) override {
    return products_.feed_forward(args, x, n_tokens);
  }
  Result<void> moe(const MixtureOfExperts& args, float* x, std::size_t n_tokens) override {
    SATCHEL_TRY_ASSIGN(const bool is_done, mixture_.run(args, x, n_tokens));
    return is_done ? Result<void>() : Backend::moe(args, x, n_tokens);
  }

  Result<void> rms_norm(const float* x, const float* gain, std::size_t n_tokens, std::size_t width,
                        float epsilon, float* out) override {
    return check(cuda::rms_norm(queue(), x, gain, n_tokens, width, epsilon, out));
  }
  Result<void> make_rotation(const Batch& batch, const RopeTable& table, float* rotation) override {
    SATCHEL_TRY_ASSIGN(const auto [there], arguments_.put(table.inverse_frequency));
    return check(
        cuda::make_rotation(queue(), batch, there, table.inverse_frequency.size(), rotation));
  }
  Result<void> rope(const RopeArgs& args) override { return check(cuda::rope(queue(), args)); }
  Result<void> glu(Activation activation, float* gate, const float* up,
                   std::size_t n_values) override {
    return check(cuda::glu(queue(), activation, gate, up, n_values));
  }
  Result<void> add(float* x, const float* y, std::size_t n_values) override {
    return check(cuda::add(queue(), x, y, n_values));
  }
  Result<void> scale(float* x, float factor, std::size_t n_values) override {
    return check(cuda::scale(queue(), x, factor, n_values));
  }
  Result<void> soft_cap(float* x, float cap, std::size_t n_values) override {
    return check(cuda::soft_cap(queue(), x, cap, n_values));
  }
  Result<void> add_row(float* x, const float* row, std::size_t n_rows, std::size_t width) override {
    return check(cuda::add_row(queue(), x, row, n_rows, width));
  }
  Result<void> scale_first(float* x, float factor, std::size_t n_rows, std::size_t width,
                           std::size_t n_first) override {
    return check(cuda::scale_first(queue(), x, factor, n_rows, width, n_first));
  }
  Result<void> gate_rows(float* x, const float* gate, std::size_t n_rows,
                         std::size_t width) override {
    return check(cuda::gate_rows(queue(), x, gate, n_rows, width));
  }

  Result<void> short_conv(const ShortConvArgs& args) override {
    args.check();
    SATCHEL_TRY_ASSIGN(const auto [there], arguments_.put(args.sequences));
    return check(cuda::short_conv(queue(), args, there, longest(args.sequences)));
  }
  Result<void> gated_delta(const GatedDeltaArgs& args) override {
    args.check();
    SATCHEL_TRY_ASSIGN(const auto [there], arguments_.put(args.sequences));
    return check(cuda::gated_delta(queue(), args, there, longest(args.sequences)));
  }
  Result<void> pack_values(const float* x, std::size_t n_values, std::byte* packed) override {
    return check(cuda::pack_values(queue(), x, n_values, packed));
  }
  Result<void> unpack_values(const std::byte* packed, std::size_t n_values, float* x) override {
    return check(cuda::unpack_values(queue(), packed, n_values, x));
  }
  Result<void> mamba2(const Mamba2Args& args) override {
    args.check();
    SATCHEL_TRY_ASSIGN(const auto [there], arguments_.put(args.sequences));
    return check(cuda::mamba2(queue(), args, there, longest(args.sequences)));
  }

  Result<void> store(std::span<const StoreArgs> items) override {
    std::size_t n_values_max = 0;
    for (const StoreArgs& args : items)
      n_values_max = std::max(n_values_max, args.n_rows * args.n_values);
    SATCHEL_TRY_ASSIGN(const auto [there], arguments_.put(items));
    return check(cuda::store(queue(), there, items.size(), n_values_max));
  }
  Result<void> gather(std::span<const GatherArgs> items) override {
    std::size_t n_bytes_max = 0;
    for (const GatherArgs& args : items)
      n_bytes_max = std::max(n_bytes_max, args.n_rows * args.row_bytes);
    SATCHEL_TRY_ASSIGN(const auto [there], arguments_.put(items));
    return check(cuda::gather(queue(), there, items.size(), n_bytes_max));
  }
  Result<void> select(std::span<const SelectArgs> items) override {
    SATCHEL_TRY_ASSIGN(const auto [there], arguments_.put(items));
    return check(cuda::select(queue(), there, items.size()));
  }

  Result<void> key_importance(std::span<const KeyImportanceArgs> items) override;
  Result<bool> refit(const RefitArgs& args) override;
  Result<void> encode_pages(std::span<const EncodeArgs> items) override {
    return pages_.encode(items, arguments_);
  }
  Result<void> decode_pages(std::span<const DecodeArgs> items) override {
    return pages_.decode(items, arguments_);
  }

  Result<std::int32_t> argmax(const float* logits, std::size_t n) override {
    SATCHEL_TRY_ASSIGN(const Choice choice, choose(logits, n));
    return choice.largest;
  }
  Result<void> top_k(const float* logits, std::size_t n, std::span<Ranked> out) override;

  Result<std::unique_ptr<LaneTable>> make_lane_table(std::size_t n_lanes) override {
    return std::unique_ptr<LaneTable>(
        std::make_unique<CudaLaneTable>(*device_, n_lanes, pages_.bases(), &arguments_));
  }
  Result<void> attend(const AttendArgs& args) override { return attention_.attend(args, decode_); }
  Result<void> score(std::span<const ScoreArgs> items) override {
    return scoring_.score(op_context(), items);
  }
  Result<void> logsumexp(std::span<const LogSumExpArgs> items) override {
    return scoring_.logsumexp(op_context(), items);
  }

 private:
  Queue& queue() const { return device_->queue(); }
  Result<void> check(cudaError_t error) const { return device_->check(error); }
  Result<Choice> choose(const float* logits, std::size_t n);
  OpContext op_context() { return {*device_, arguments_, work_, decode_}; }
  Result<std::byte*> work(std::size_t bytes) { return op_context().take(bytes); }

  std::unique_ptr<Device> device_;  // outlives what follows
  Arguments arguments_;
  PageOps pages_;
  Buffer work_;
  LayerProducts products_;
  Mixture mixture_{*device_, products_};
  Scoring scoring_;
  Attention attention_{*device_, arguments_};
  const Attention::Decode decode_ = [this](auto items) { return decode_pages(items); };
};

Result<void> CudaBackend::embed(const Weight& table, std::span<const std::int32_t> ids,
                                float* out) {
  SATCHEL_TRY_ASSIGN(const auto [there], arguments_.put(ids));
  return check(read_rows(queue(), CudaWeight::of(table).matrix(), there, ids.size(), out));
}

Result<void> CudaBackend::key_importance(std::span<const KeyImportanceArgs> items) {
  std::vector<KeyImportanceItem> queued(items.size());
  std::vector<float> weights;
  std::size_t n_tokens_max = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const KeyImportanceArgs& args = items[i];
    n_tokens_max = std::max(n_tokens_max, args.n_tokens);
    queued[i] = {.k = args.k,
                 .scores = args.scores,
                 .n_tokens = args.n_tokens,
                 .stride = args.stride,
                 .weights_at = weights.size(),
                 .head_dim = static_cast<unsigned>(args.head_dim)};
    weights.insert(weights.end(), args.weights.begin(), args.weights.end());
  }
  SATCHEL_TRY_ASSIGN(const auto there, arguments_.put(std::span<const KeyImportanceItem>(queued),
                                                      std::span<const float>(weights)));
  return check(cuda::key_importance(queue(), std::get<0>(there), std::get<1>(there), items.size(),
                                    n_tokens_max));
}

// In main memory: it has no kernel yet.
Result<bool> CudaBackend::refit(const RefitArgs& args) {
  const std::size_t n = args.n_queries, d = args.head_dim;
  const auto rows = static_cast<std::size_t>(std::ranges::max(args.tokens) + 1);
  std::vector<float> q(n * d), out(n * d), lse(n), beside(n);
  std::vector<Half> k(rows * d), v(rows * d);
  const auto get = [this](auto& to, const auto* from) {
    return download(std::as_writable_bytes(std::span(to)),
                    reinterpret_cast<const std::byte*>(from));
  };
  SATCHEL_TRY(get(q, args.q));
  SATCHEL_TRY(get(out, args.out));
  SATCHEL_TRY(get(lse, args.lse));
  SATCHEL_TRY(get(beside, args.lse_beside));
  SATCHEL_TRY(get(k, args.k));
  SATCHEL_TRY(get(v, args.v));
  RefitArgs here = args;
  here.q = q.data();
  here.out = out.data();
  here.lse = lse.data();
  here.lse_beside = beside.data();
  here.k = k.data();
  here.v = v.data();
  if (!reference::refit_lane(here)) return false;
  SATCHEL_TRY(upload(reinterpret_cast<std::byte*>(args.v), std::as_bytes(std::span(v))));
  return true;
}

Result<Choice> CudaBackend::choose(const float* logits, std::size_t n) {
  SATCHEL_ASSERT(n > 0);
  SATCHEL_TRY_ASSIGN(std::byte * at, work(sizeof(Choice)));
  SATCHEL_TRY(check(cuda::choose(queue(), logits, n, reinterpret_cast<Choice*>(at))));
  Choice choice;
  SATCHEL_TRY(device_->download(std::as_writable_bytes(std::span(&choice, 1)), at));
  SATCHEL_TRY(mixture_.check());
  if (choice.first_nan >= 0) return nan_among_logits(static_cast<std::size_t>(choice.first_nan));
  return choice;
}

// The card selects the largest; they are few, so the host sorts them.
Result<void> CudaBackend::top_k(const float* logits, std::size_t n, std::span<Ranked> out) {
  SATCHEL_ASSERT(out.size() <= n);
  SATCHEL_TRY(choose(logits, n));
  SATCHEL_TRY_ASSIGN(std::byte * at, work(out.size() * (sizeof(Ranked) + sizeof(std::int32_t))));
  auto* ranked = reinterpret_cast<Ranked*>(at);
  auto* indices = reinterpret_cast<std::int32_t*>(ranked + out.size());
  const SelectArgs item{.scores = logits, .n_scores = n, .keep = out.size(), .indices = indices};
  SATCHEL_TRY(select({&item, 1}));
  SATCHEL_TRY(check(take_ranked(queue(), logits, indices, out.size(), ranked)));
  SATCHEL_TRY(device_->download(std::as_writable_bytes(out), at));
  std::ranges::stable_sort(out, std::greater(), &Ranked::value);
  return {};
}

}  // namespace

Result<std::unique_ptr<Backend>> make_backend() {
  SATCHEL_TRY_ASSIGN(std::unique_ptr<Device> device, Device::open());
  SATCHEL_TRY_ASSIGN(Arguments arguments, Arguments::make(*device));
  SATCHEL_TRY_ASSIGN(PageOps pages, PageOps::make(*device));
  return std::unique_ptr<Backend>(
      std::make_unique<CudaBackend>(std::move(device), std::move(arguments), std::move(pages)));
}

}  // namespace satchel::kernels::cuda
