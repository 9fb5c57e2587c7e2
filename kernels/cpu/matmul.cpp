#include "kernels/cpu/matmul.h"

#include <algorithm>

#include "kernels/base/assert.h"
#include "kernels/cpu/matmul_table.h"
#include "kernels/reference/dequant.h"
#include "kernels/reference/model_ops.h"

namespace satchel::kernels::cpu {
namespace {

// Chosen: activations of this size stay in the L2 cache (1 MiB here) while all weights pass.
constexpr std::size_t kActivationBytes = 512 * 1024;
// Chosen: a share of weights worth handing to a thread (at 20 GB/s: some 1.5 µs).
constexpr std::size_t kShareBytes = 32 * 1024;
constexpr std::size_t kFloatRowsMax = 64;  // rows that stay in L2 while all tokens pass

const MatmulTable& table_of(CpuLevel level) {
  switch (level) {
    case CpuLevel::avx2:
      return kMatmulAvx2;
    case CpuLevel::avx512:
      return kMatmulAvx512;
    case CpuLevel::avx512vnni:
      return kMatmulAvx512Vnni;
  }
  SATCHEL_ASSERT(false);
  return kMatmulAvx2;
}

std::size_t pair_words(std::size_t n_tokens, std::size_t n_blocks) {
  return n_tokens * n_blocks * kBlockPairs;
}
std::size_t block_words(std::size_t n_tokens, std::size_t n_blocks) {
  return n_tokens * n_blocks * kBlockWords;
}

// Activations from token `first` on, where `first` is a multiple of the level's tile.
Activations from_token(const Activations& all, std::size_t first, std::size_t n_blocks) {
  return {.pairs = all.pairs + pair_words(first, n_blocks),
          .words = all.words + block_words(first, n_blocks)};
}

struct Call {
  const CpuContext& context;
  const MatmulTable& table;
  const CpuWeight& weight;
};

// x [n_tokens, n_in] and out [n_tokens, n_out] are those of the chunk.
void packed_chunk(const Call& call, const Activations& room, const float* x, std::size_t n_tokens,
                  float* out) {
  const CpuWeight& weight = call.weight;
  const PackedWeight& packed = weight.packed();
  const std::size_t n_blocks = packed.n_blocks();
  const std::size_t tile = call.table.tile;
  call.context.pool.parallel_for(n_tokens, tile,
                                 [&](std::size_t begin, std::size_t end, std::size_t) {
                                   call.table.quantise({.shape = packed_shape(weight.type()),
                                                        .x = x + begin * weight.n_in(),
                                                        .n_tokens = end - begin,
                                                        .n_blocks = n_blocks,
                                                        .out = from_token(room, begin, n_blocks)});
                                 });
  const std::size_t work = packed.group_bytes() * std::min(n_tokens, tile);
  const std::size_t grain = std::max<std::size_t>(1, kShareBytes / std::max<std::size_t>(1, work));
  call.context.pool.parallel_for(
      packed.n_groups(), grain, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t g = begin; g < end; ++g)
          call.table.packed({.type = weight.type(),
                             .group = packed.group(g),
                             .n_blocks = n_blocks,
                             .n_rows = std::min(kGroupRows, weight.n_out() - g * kGroupRows),
                             .x = room,
                             .n_tokens = n_tokens,
                             .out = out + g * kGroupRows,
                             .out_stride = weight.n_out()});
      });
}

Result<void> packed_matmul(const Call& call, MatmulScratch& scratch, const float* x,
                           std::size_t n_tokens, float* out) {
  const CpuWeight& weight = call.weight;
  const std::size_t n_blocks = weight.packed().n_blocks();
  const std::size_t token_bytes =
      (pair_words(1, n_blocks) + block_words(1, n_blocks)) * sizeof(std::int32_t);
  const std::size_t fit =
      std::max<std::size_t>(kActivationBytes / std::max<std::size_t>(1, token_bytes), 32);
  const std::size_t n_chunks = (n_tokens + fit - 1) / fit;
  const std::size_t tile = call.table.tile;
  const std::size_t even = (n_tokens + n_chunks - 1) / n_chunks;
  const std::size_t chunk = (even + tile - 1) / tile * tile;
  SATCHEL_TRY_ASSIGN(std::byte * room, scratch.at_least(std::min(chunk, n_tokens) * token_bytes));
  for (std::size_t done = 0; done < n_tokens; done += chunk) {
    const std::size_t n = std::min(chunk, n_tokens - done);
    auto* words = reinterpret_cast<std::int32_t*>(room);
    packed_chunk(call, {.pairs = words, .words = words + pair_words(n, n_blocks)},
                 x + done * weight.n_in(), n, out + done * weight.n_out());
  }
  return {};
}

void float_matmul(const Call& call, const float* x, std::size_t n_tokens, float* out) {
  const CpuWeight& weight = call.weight;
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
                           .out_stride = weight.n_out()});
      });
}

}  // namespace

Result<std::byte*> MatmulScratch::at_least(std::size_t bytes) {
  if (memory_.size() < bytes) {
    SATCHEL_TRY_ASSIGN(memory_, AlignedBuffer::make(bytes));
  }
  return memory_.data();
}

Result<std::unique_ptr<Weight>> load_weight(const CpuContext& context, const WeightSource& source) {
  reference::check_source(source);
  PackedWeight packed;
  if (packed_shape(source.type).code_bits != 0) {
    SATCHEL_TRY_ASSIGN(packed, PackedWeight::make(context.pool, source));
  }
  return std::unique_ptr<Weight>(std::make_unique<CpuWeight>(source, std::move(packed)));
}

Result<void> embed(const CpuContext& context, const CpuWeight& table,
                   std::span<const std::int32_t> ids, float* out) {
  const WeightSource& source = table.source();
  const std::size_t row = *row_bytes(source.type, source.n_in);
  context.pool.parallel_for(ids.size(), 8, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto id = static_cast<std::size_t>(ids[i]);
      SATCHEL_ASSERT(ids[i] >= 0 && id < source.n_out);
      dequantise_row(source.type, source.bytes.data() + id * row, source.n_in,
                     out + i * source.n_in);
    }
  });
  return {};
}

Result<void> matmul(const CpuContext& context, MatmulScratch& scratch, const CpuWeight& weight,
                    const float* x, std::size_t n_tokens, float* out) {
  if (n_tokens == 0) return {};
  const Call call{context, table_of(context.level), weight};
  if (packed_shape(weight.type()).code_bits != 0)
    return packed_matmul(call, scratch, x, n_tokens, out);
  float_matmul(call, x, n_tokens, out);
  return {};
}

}  // namespace satchel::kernels::cpu
