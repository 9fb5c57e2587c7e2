#include "kernels/cpu/products/matmul.h"

#include <algorithm>

#include "kernels/base/assert.h"
#include "kernels/cpu/backend/backend_cpu.h"
#include "kernels/cpu/products/dequant_rows.h"
#include "kernels/reference/dequant.h"

namespace satchel::kernels::cpu {
namespace {

// Chosen: activations of this size stay in the L2 cache (1 MiB here) while all weights pass.
constexpr std::size_t kActivationBytes = 512 * 1024;
// Chosen: a share of weights worth handing to a thread (at 20 GB/s: some 1.5 µs).
constexpr std::size_t kShareBytes = 32 * 1024;
// Chosen: a touched row brings 64 KiB of a mapped file along, so this is 4 MiB at most.
constexpr std::size_t kEmbedAtOnce = 64;
constexpr std::size_t kFloatRowsMax = 64;  // rows that stay in L2 while all tokens pass
// Chosen: rows that a thread decodes to fp32 at a time, four times what the kernel takes.
constexpr std::size_t kPlainRows = 16;

const CpuWeight& ours(const Weight& weight) {
  return static_cast<const CpuWeight&>(weight);
}
const CpuWeight& ours(const Backend::Projection& projection) {
  return ours(*projection.weight);
}

Result<std::byte*> at_least(std::size_t bytes, AlignedBuffer& memory) {
  if (memory.size() < bytes) {
    SATCHEL_TRY_ASSIGN(memory, AlignedBuffer::make(bytes));
  }
  return memory.data();
}

// Products of weights of one type with the same activations.
struct Call {
  const CpuContext& context;
  const MatmulTable& table;
  std::span<const Backend::Projection> projections;

  const CpuWeight& first() const { return ours(projections[0]); }
  AskedAhead ahead() const {
    const int bits = quant_format(first().type()).code_bits;
    return bits == 0 || bits == 8 ? context.ahead.wide : context.ahead.codes;
  }
  bool in_8_bits() const { return context.activation_bits == 8; }
  // If a level has no byte product for a type, 8-bit codes are stored in words like 16-bit ones:
  // the same sums, at the speed of 16 bits.
  bool as_bytes() const {
    return in_8_bits() &&
           (table.dots_bytes || quant_format(first().type()).pairs_in_16_bits() != 0);
  }
  std::size_t code_words(std::size_t n_tokens) const {
    return n_tokens * first().repacked().n_blocks() * (as_bytes() ? kBlockPairs / 2 : kBlockPairs);
  }
  std::size_t block_words(std::size_t n_tokens) const {
    return n_tokens * first().repacked().n_blocks() * kBlockWords;
  }
  // Activations from token `at` on, where `at` is a multiple of the level's tile.
  Activations from_token(const Activations& all, std::size_t at) const {
    return {.codes = all.codes + code_words(at), .words = all.words + block_words(at)};
  }
  std::size_t n_groups() const {
    std::size_t n = 0;
    for (const Backend::Projection& each : projections) n += ours(each).repacked().n_groups();
    return n;
  }
};

// Multiplies group g, counted over all weights, and the next one of the same weight if both are
// full and n_left > 1. `at` is the chunk's first token. Returns how many groups it did.
std::size_t repacked_groups(const Call& call, std::size_t g, std::size_t n_left,
                            const Activations& x, std::size_t at, std::size_t n_tokens) {
  const Backend::Projection* projection = call.projections.data();
  for (; g >= ours(*projection).repacked().n_groups(); ++projection)
    g -= ours(*projection).repacked().n_groups();
  const CpuWeight& weight = ours(*projection);
  const std::size_t n = n_left > 1 && (g + 2) * kGroupRows <= weight.n_out() ? 2 : 1;
  const auto product = call.as_bytes() ? call.context.kernels.matmul_bytes : call.table.repacked;
  product({.type = weight.type(),
           .group = weight.repacked().group(g),
           .n_blocks = weight.repacked().n_blocks(),
           .n_rows = std::min(kGroupRows, weight.n_out() - g * kGroupRows),
           .next_group = n == 2 ? weight.repacked().group_bytes() : 0,
           .x = x,
           .n_tokens = n_tokens,
           .out = projection->out + at * weight.n_out() + g * kGroupRows,
           .out_stride = weight.n_out(),
           .ahead = call.ahead()});
  return n;
}

// x [n_tokens, n_in] are those of the chunk, which begins at token `at`.
void repacked_chunk(const Call& call, const Activations& workspace, const float* x, std::size_t at,
                    std::size_t n_tokens) {
  const CpuWeight& weight = call.first();
  const std::size_t n_blocks = weight.repacked().n_blocks(), tile = call.table.tile;
  call.context.pool.parallel_for(n_tokens, tile,
                                 [&](std::size_t begin, std::size_t end, std::size_t) {
                                   call.table.quantise({.shape = quant_format(weight.type()),
                                                        .most = call.in_8_bits() ? 127 : 32767,
                                                        .as_bytes = call.as_bytes(),
                                                        .x = x + begin * weight.n_in(),
                                                        .n_tokens = end - begin,
                                                        .n_blocks = n_blocks,
                                                        .out = call.from_token(workspace, begin)});
                                 });
  const std::size_t work = weight.repacked().group_bytes() * std::min(n_tokens, tile);
  const std::size_t share = kShareBytes / std::max<std::size_t>(1, work);
  const std::size_t grain = std::max<std::size_t>(2, (share + 1) / 2 * 2);
  call.context.pool.parallel_for(
      call.n_groups(), grain, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t g = begin; g < end;)
          g += repacked_groups(call, g, end - g, workspace, at, n_tokens);
      });
}

Result<void> repacked_matmul(const Call& call, AlignedBuffer& memory, const float* x,
                             std::size_t n_tokens) {
  const std::size_t token_bytes = (call.code_words(1) + call.block_words(1)) * sizeof(std::int32_t);
  const std::size_t fit =
      std::max<std::size_t>(kActivationBytes / std::max<std::size_t>(1, token_bytes), 32);
  const std::size_t n_chunks = (n_tokens + fit - 1) / fit;
  const std::size_t tile = call.table.tile;
  const std::size_t even = (n_tokens + n_chunks - 1) / n_chunks;
  const std::size_t chunk = (even + tile - 1) / tile * tile;
  SATCHEL_TRY_ASSIGN(std::byte * workspace,
                     at_least(std::min(chunk, n_tokens) * token_bytes, memory));
  for (std::size_t done = 0; done < n_tokens; done += chunk) {
    const std::size_t n = std::min(chunk, n_tokens - done);
    auto* words = reinterpret_cast<std::int32_t*>(workspace);
    repacked_chunk(call, {.codes = words, .words = words + call.code_words(n)},
                   x + done * call.first().n_in(), done, n);
  }
  return {};
}

void float_matmul(const Call& call, const float* x, std::size_t n_tokens) {
  const CpuWeight& weight = call.first();
  float* out = call.projections[0].out;
  const std::size_t row = *row_bytes(weight.type(), weight.n_in());
  const std::size_t share =
      kShareBytes / std::max<std::size_t>(1, row * std::min<std::size_t>(n_tokens, 8));
  const std::size_t grain = std::clamp<std::size_t>(share / 4 * 4, 4, kFloatRowsMax);
  call.context.pool.parallel_for(
      weight.n_out(), grain, [&](std::size_t begin, std::size_t end, std::size_t) {
        call.table.floats({.type = weight.type(),
                           .rows = weight.source().bytes.data() + begin * row,
                           .n_rows = end - begin,
                           .n_in = weight.n_in(),
                           .x = x,
                           .n_tokens = n_tokens,
                           .out = out + begin,
                           .out_stride = weight.n_out(),
                           .ahead = call.ahead()});
      });
}

// Rows that are neither repacked nor floats are decoded to fp32, some at a time.
Result<void> plain_matmul(const Call& call, AlignedBuffer& memory, const float* x,
                          std::size_t n_tokens) {
  const CpuWeight& weight = call.first();
  const std::size_t n_in = weight.n_in(), row = *row_bytes(weight.type(), n_in);
  const std::size_t workspace_bytes = kPlainRows * n_in * sizeof(float);
  SATCHEL_TRY_ASSIGN(std::byte * workspace,
                     at_least(call.context.pool.n_threads() * workspace_bytes, memory));
  const auto few_rows = [&](std::size_t begin, std::size_t end, std::size_t thread) {
    auto* values = reinterpret_cast<float*>(workspace + thread * workspace_bytes);
    for (std::size_t r = begin; r < end; ++r)
      read_plain_row(weight.type(), weight.source().bytes.data() + r * row, n_in,
                     call.ahead().bytes, values + (r - begin) * n_in);
    call.table.floats({.type = WeightType::f32,
                       .rows = reinterpret_cast<const std::byte*>(values),
                       .n_rows = end - begin,
                       .n_in = n_in,
                       .x = x,
                       .n_tokens = n_tokens,
                       .out = call.projections[0].out + begin,
                       .out_stride = weight.n_out()});  // just decoded: nothing to ask for
  };
  call.context.pool.parallel_for(weight.n_out(), kPlainRows, few_rows);
  return {};
}

bool is_float(WeightType type) {
  return weight_type_traits(type).block_values == 1;
}

}  // namespace

Result<std::unique_ptr<Weight>> CpuBackend::load_weight(const WeightSource& source) {
  source.check();
  RepackedWeight repacked;
  if (!source.is_table && quant_format(source.type).code_bits != 0) {
    SATCHEL_TRY_ASSIGN(repacked, RepackedWeight::make(*pool_, source));
  }
  return std::unique_ptr<Weight>(std::make_unique<CpuWeight>(source, std::move(repacked)));
}

Result<void> CpuBackend::embed(const Weight& table, std::span<const std::int32_t> ids, float* out) {
  const WeightSource& source = ours(table).source();
  const std::size_t row = *row_bytes(source.type, source.n_in);
  const bool lets_go = table.owned_bytes() != 0 && source.done_with;
  for (std::size_t first = 0; first < ids.size(); first += kEmbedAtOnce) {
    const std::size_t n = std::min(kEmbedAtOnce, ids.size() - first);
    pool_->parallel_for(n, 8, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t i = first + begin; i < first + end; ++i) {
        const auto id = static_cast<std::size_t>(ids[i]);
        SATCHEL_ASSERT(ids[i] >= 0 && id < source.n_out);
        dequantise_row(source.type, source.bytes.data() + id * row, source.n_in,
                       out + i * source.n_in);
      }
    });
    if (lets_go) source.done_with(source.bytes);
  }
  return {};
}

Result<void> CpuBackend::matmul(const Weight& weight, const float* x, std::size_t n_tokens,
                                float* out) {
  const Projection projection{.weight = &weight, .out = out};
  return project(x, n_tokens, {&projection, 1});
}

// Neighbours of one type share their quantised activations and one loop over the threads.
Result<void> CpuBackend::project(const float* x, std::size_t n_tokens,
                                 std::span<const Projection> projections) {
  if (n_tokens == 0) return {};
  for (auto left = projections; !left.empty();) {
    const CpuWeight& first = ours(left[0]);
    std::size_t n = 1;
    const bool is_repacked = quant_format(first.type()).code_bits != 0;
    while (is_repacked && n < left.size() && ours(left[n]).type() == first.type()) {
      SATCHEL_ASSERT(ours(left[n]).n_in() == first.n_in());
      ++n;
    }
    const Call call{context_, context_.kernels.matmul, left.first(n)};
    if (is_repacked)
      SATCHEL_TRY(repacked_matmul(call, product_memory_, x, n_tokens));
    else if (is_float(first.type()))
      float_matmul(call, x, n_tokens);
    else
      SATCHEL_TRY(plain_matmul(call, product_memory_, x, n_tokens));
    left = left.subspan(n);
  }
  for (const Projection& each : projections)
    if (each.bias != nullptr)
      SATCHEL_TRY(add_row(each.out, each.bias, n_tokens, each.weight->n_out()));
  return {};
}

}  // namespace satchel::kernels::cpu
