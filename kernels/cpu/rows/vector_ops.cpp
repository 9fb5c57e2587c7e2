
#include <algorithm>
#include <cmath>

#include "kernels/base/assert.h"
#include "kernels/cpu/backend/backend_cpu.h"

namespace satchel::kernels::cpu {
namespace {

// Chosen: fewer values take less time than waking a second thread.
constexpr std::size_t kShareValues = 8192;

std::size_t rows_of_a_share(std::size_t row_values) {
  return std::max<std::size_t>(1, kShareValues / std::max<std::size_t>(1, row_values));
}

// Larger first, then the lower index.
bool ranks_before(const Backend::Ranked& a, const Backend::Ranked& b) {
  return a.value > b.value || (a.value == b.value && a.index < b.index);
}

}  // namespace

Result<void> CpuBackend::rms_norm(const float* x, const float* gain, std::size_t n_tokens,
                                  std::size_t width, float epsilon, float* out) {
  const VectorOpsTable& table = context_.kernels.vector_ops;
  context_.pool.parallel_for(
      n_tokens, rows_of_a_share(width), [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t t = begin; t < end; ++t)
          table.rms_norm(x + t * width, gain, width, epsilon, out + t * width);
      });
  return {};
}

Result<void> CpuBackend::make_rotation(const Batch& batch, const RopeTable& table,
                                       float* rotation) {
  const VectorOpsTable& kernels = context_.kernels.vector_ops;
  const std::size_t n_pairs = table.inverse_frequency.size();
  context_.pool.parallel_for(batch.n_tokens, rows_of_a_share(16 * n_pairs),
                             [&](std::size_t begin, std::size_t end, std::size_t) {
                               for (std::size_t t = begin; t < end; ++t)
                                 kernels.rotation(batch.positions[t],
                                                  table.inverse_frequency.data(), n_pairs,
                                                  rotation + t * 2 * n_pairs);
                             });
  return {};
}

Result<void> CpuBackend::rope(const RopeArgs& args) {
  const std::size_t n_pairs = args.n_rotated / 2;
  SATCHEL_ASSERT(2 * n_pairs <= args.head_dim);
  const VectorOpsTable& table = context_.kernels.vector_ops;
  const std::size_t n_kv_heads = args.k == nullptr ? 0 : args.n_kv_heads;
  const std::size_t token_values = (args.n_heads + n_kv_heads) * args.head_dim;
  const auto rotate = [&](float* x, std::size_t n_heads, std::size_t begin, std::size_t end) {
    table.rope({.x = x + begin * n_heads * args.head_dim,
                .n_tokens = end - begin,
                .n_heads = n_heads,
                .head_dim = args.head_dim,
                .rotation = args.rotation + begin * 2 * n_pairs,
                .n_pairs = n_pairs,
                .adjacent = args.pairs == RopePairs::adjacent});
  };
  context_.pool.parallel_for(args.n_tokens, rows_of_a_share(token_values),
                             [&](std::size_t begin, std::size_t end, std::size_t) {
                               rotate(args.q, args.n_heads, begin, end);
                               if (n_kv_heads > 0) rotate(args.k, n_kv_heads, begin, end);
                             });
  return {};
}

Result<void> CpuBackend::glu(Activation activation, float* gate, const float* up, std::size_t n) {
  const VectorOpsTable& table = context_.kernels.vector_ops;
  const auto kernel = activation == Activation::silu        ? table.glu_silu
                      : activation == Activation::gelu_tanh ? table.glu_gelu
                      : activation == Activation::sigmoid   ? table.glu_sigmoid
                      : activation == Activation::relu      ? table.glu_relu
                                                            : table.glu_clamped;
  context_.pool.parallel_for(n, kShareValues, [&](std::size_t begin, std::size_t end, std::size_t) {
    kernel(gate + begin, up + begin, end - begin);
  });
  return {};
}

Result<void> CpuBackend::add(float* x, const float* y, std::size_t n) {
  const VectorOpsTable& table = context_.kernels.vector_ops;
  context_.pool.parallel_for(n, 2 * kShareValues,
                             [&](std::size_t begin, std::size_t end, std::size_t) {
                               table.add(x + begin, y + begin, end - begin);
                             });
  return {};
}

Result<void> CpuBackend::scale(float* x, float factor, std::size_t n) {
  const VectorOpsTable& table = context_.kernels.vector_ops;
  context_.pool.parallel_for(n, 2 * kShareValues,
                             [&](std::size_t begin, std::size_t end, std::size_t) {
                               table.scale(x + begin, factor, end - begin);
                             });
  return {};
}

Result<void> CpuBackend::soft_cap(float* x, float cap, std::size_t n) {
  const VectorOpsTable& table = context_.kernels.vector_ops;
  context_.pool.parallel_for(n, kShareValues, [&](std::size_t begin, std::size_t end, std::size_t) {
    table.soft_cap(x + begin, cap, end - begin);
  });
  return {};
}

Result<void> CpuBackend::add_row(float* x, const float* row, std::size_t n_rows,
                                 std::size_t width) {
  const VectorOpsTable& table = context_.kernels.vector_ops;
  context_.pool.parallel_for(n_rows, rows_of_a_share(width),
                             [&](std::size_t begin, std::size_t end, std::size_t) {
                               for (std::size_t r = begin; r < end; ++r)
                                 table.add(x + r * width, row, width);
                             });
  return {};
}

Result<void> CpuBackend::scale_first(float* x, float factor, std::size_t n_rows, std::size_t width,
                                     std::size_t n_first) {
  SATCHEL_ASSERT(n_first <= width);
  const VectorOpsTable& table = context_.kernels.vector_ops;
  context_.pool.parallel_for(n_rows, rows_of_a_share(n_first),
                             [&](std::size_t begin, std::size_t end, std::size_t) {
                               for (std::size_t r = begin; r < end; ++r)
                                 table.scale(x + r * width, factor, n_first);
                             });
  return {};
}

Result<void> CpuBackend::gate_rows(float* x, const float* gate, std::size_t n_rows,
                                   std::size_t width) {
  const VectorOpsTable& table = context_.kernels.vector_ops;
  context_.pool.parallel_for(n_rows, rows_of_a_share(width),
                             [&](std::size_t begin, std::size_t end, std::size_t) {
                               for (std::size_t r = begin; r < end; ++r)
                                 table.scale(x + r * width, 1 / (1 + std::exp(-gate[r])), width);
                             });
  return {};
}

// Each hit is a new record; among n values in random order there are about ln n.
Result<std::int32_t> CpuBackend::argmax(const float* logits, std::size_t n) {
  SATCHEL_ASSERT(n > 0);
  const VectorOpsTable& table = context_.kernels.vector_ops;
  std::size_t best = 0;
  for (std::size_t i = 0; i < n; i = table.find_above(logits, i + 1, n, logits[best])) {
    if (std::isnan(logits[i])) return nan_among_logits(i);
    best = i;
  }
  return static_cast<std::int32_t>(best);
}

// Keeps the best so far in a heap whose front ranks last; only values above it are touched.
Result<void> CpuBackend::top_k(const float* logits, std::size_t n, std::span<Ranked> out) {
  SATCHEL_ASSERT(out.size() <= n);
  const VectorOpsTable& table = context_.kernels.vector_ops;
  const std::size_t k = out.size();
  for (std::size_t i = 0; i < k; ++i) {
    if (std::isnan(logits[i])) return nan_among_logits(i);
    out[i] = {static_cast<std::int32_t>(i), logits[i]};
  }
  std::make_heap(out.begin(), out.end(), ranks_before);
  const auto next = [&](std::size_t from) {
    return table.find_above(logits, from, n, k == 0 ? INFINITY : out.front().value);
  };
  for (std::size_t i = next(k); i < n; i = next(i + 1)) {
    if (std::isnan(logits[i])) return nan_among_logits(i);
    std::pop_heap(out.begin(), out.end(), ranks_before);
    out.back() = {static_cast<std::int32_t>(i), logits[i]};
    std::push_heap(out.begin(), out.end(), ranks_before);
  }
  std::sort_heap(out.begin(), out.end(), ranks_before);
  return {};
}

}  // namespace satchel::kernels::cpu
