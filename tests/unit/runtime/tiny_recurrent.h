// Small models of random weights with a vocabulary of bytes, for sessions and whole engines.
// DeepSeek-V2: two layers of latent attention, experts in the second. And with recurrent layers:
// LFM2, three convolutions and two layers of attention; Qwen 3.5, three layers of Gated DeltaNet
// and one of attention, and one behind them that drafts tokens; Granite 4 H, three layers of
// Mamba-2 and two of attention.
#pragma once

#include <cstddef>

#include "support/gguf_writer.h"

namespace satchel::runtime {

tests::GgufWriter tiny_deepseek2_gguf(std::size_t context);
tests::GgufWriter tiny_lfm2_gguf(std::size_t context);
tests::GgufWriter tiny_qwen35_gguf(std::size_t context);
tests::GgufWriter tiny_granite_gguf(std::size_t context);

struct RecurrentKind {
  const char* name;
  std::size_t tight_bytes;  // a limit at which episodes of a long chat rest
  tests::GgufWriter (*gguf)(std::size_t context);
};
inline constexpr RecurrentKind kRecurrentKinds[] = {{"lfm2", 1100u << 10, tiny_lfm2_gguf},
                                                    {"qwen35", 1340u << 10, tiny_qwen35_gguf},
                                                    {"granite", 1445u << 10, tiny_granite_gguf}};

}  // namespace satchel::runtime
