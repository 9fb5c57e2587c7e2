// RopeScaling: the frequencies of a rotary embedding whose reach was stretched after training, as a
// GGUF file's metadata and tensors say so.
//   none      base^(-2i / n_rotated) for pair i
//   linear    all divided by rope.scaling.factor
//   factors   each divided by its own: rope_freqs.weight (Llama 3)
//   longrope  likewise by rope_factors_long.weight where the model's context is longer than
//             rope.scaling.original_context_length, else by rope_factors_short.weight. Files with
//             such tensors need not name it. The choice is the model's, not the text's: cached keys
//             are rotated by one table, so they could not follow a text that grows past the border.
//             (transformers chooses by the length of what is read and llama.cpp by the context that
//             a session asks for: on short texts of such models they use the short factors.)
//   yarn      slow pairs divided by the factor, fast ones not, in between a ramp, which begins and
//             ends at whole pairs or, in some architectures, between them
//   amplitude queries and keys are longer by it: what yarn and longrope ask for, longrope only
//             where the file has no rope.scaling.attn_factor, times that factor. Here their
//             products are multiplied by its square (LayerConfig): cached keys are rotated only
//   source    arXiv:2309.00071 (YaRN, section 3), 2402.13753 (LongRoPE); names of keys: the package
//             gguf; where implementations differ (yarn_attn_factor), transformers is followed
//   errors    corrupt MODEL_METADATA naming key or tensor; unsupported MODEL_ARCH, also for a
//             tensor of factors that the scaling does not use
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/model/hyperparameters.h"

namespace satchel::runtime {

struct ScaledRope {
  std::vector<double> inverse_frequency;  // [n_rotated / 2]
  double amplitude = 1;
};

// base^(-2i / n_rotated), for each pair i.
std::vector<double> rope_frequencies(double base, std::size_t n_rotated);

enum class YarnRamp { whole_pairs, between_pairs };

// What the file says of them; config.context is known.
Result<ScaledRope> scaled_rope(const Hyperparameters& of, const ModelConfig& config, double base,
                               std::size_t n_rotated, YarnRamp ramp = YarnRamp::whole_pairs);

// Gives a layer its RoPE; attention_scale is set before.
void give_rope(LayerConfig& layer, const ScaledRope& rope, kernels::RopePairs pairs);

// rope.dimension_count, rope.freq_base and the scaling, for every layer alike.
Result<void> read_rope(const Hyperparameters& of, ModelConfig& config, kernels::RopePairs pairs,
                       YarnRamp ramp = YarnRamp::whole_pairs);

// Tensors that scaled_rope() reads for itself, or refuses.
inline constexpr const char* kRopeTensors[] = {"rope_freqs.weight", "rope_factors_long.weight",
                                               "rope_factors_short.weight"};

}  // namespace satchel::runtime
