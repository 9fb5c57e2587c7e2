#include "kernels/cpu/rows/recurrent.h"

namespace satchel::kernels::cpu {
namespace {

// Chosen: fewer products take less time than waking a second thread.
constexpr std::size_t kShareProducts = 16384;

// Channels first … first + n - 1 of one sequence. A row of the state is written after it was last
// read: only older ones go to its place.
void convolve_some(const VectorOpsTable& table, const SiluConv& conv, const StateSequence& sequence,
                   std::size_t first, std::size_t n) {
  const std::size_t width = conv.width, at = sequence.first_token * width;
  const float* const rows = conv.rows + at;
  table.conv_silu({.before = sequence.before,
                   .rows = rows,
                   .taps = conv.taps,
                   .bias = conv.bias,
                   .n_tokens = sequence.n_tokens,
                   .width = width,
                   .n_taps = conv.n_taps,
                   .first = first,
                   .n = n,
                   .out = conv.out + at});
  for (std::size_t j = 0; j + 1 < conv.n_taps; ++j) {
    const std::size_t row = sequence.n_tokens + j;
    float* const to = sequence.behind + j * width + first;
    if (row + 1 >= conv.n_taps)
      std::copy_n(rows + (row + 1 - conv.n_taps) * width + first, n, to);
    else if (sequence.before != nullptr)
      std::copy_n(sequence.before + row * width + first, n, to);
    else
      std::fill_n(to, n, 0.0f);
  }
}

}  // namespace

std::size_t items_of_a_share(std::size_t products_of_item) {
  return std::max<std::size_t>(1, kShareProducts / std::max<std::size_t>(1, products_of_item));
}

void convolve(const CpuContext& context, const SiluConv& conv,
              std::span<const StateSequence> sequences) {
  const VectorOpsTable& table = context.kernels.vector_ops;
  context.pool.parallel_for((conv.width + kConvChannels - 1) / kConvChannels,
                            items_of_a_share(tokens_of(sequences) * conv.n_taps * kConvChannels),
                            [&](std::size_t begin, std::size_t end, std::size_t) {
                              for (std::size_t first = begin * kConvChannels; begin < end;
                                   ++begin, first += kConvChannels)
                                for (const StateSequence& sequence : sequences)
                                  convolve_some(table, conv, sequence, first,
                                                std::min(kConvChannels, conv.width - first));
                            });
}

}  // namespace satchel::kernels::cpu
