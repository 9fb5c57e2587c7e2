// The metadata and tensors that a model's configuration and vocabulary are read from: right most of
// the time, so that what reads them gets far, and forged at others.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "mutate.h"
#include "runtime/model/graph.h"
#include "support/gguf_writer.h"

namespace satchel::fuzz {

struct ModelKey {
  const char* name;
  double usual;  // whole: a u32, else an f32
};
// Of "<architecture>."; a model of width 8 and two heads.
constexpr ModelKey kModelKeys[] = {{"block_count", 2},
                                   {"embedding_length", 8},
                                   {"feed_forward_length", 8},
                                   {"context_length", 64},
                                   {"attention.head_count", 2},
                                   {"attention.head_count_kv", 1},
                                   {"attention.key_length", 4},
                                   {"attention.value_length", 4},
                                   {"attention.sliding_window", 16},
                                   {"attention.layer_norm_rms_epsilon", 0.5},
                                   {"attention.scale", 0.5},
                                   {"rope.dimension_count", 4},
                                   {"rope.freq_base", 10000.5},
                                   {"rope.scale_linear", 2.5},
                                   {"rope.scaling.factor", 2.5},
                                   {"rope.scaling.attn_factor", 1.5},
                                   {"rope.scaling.original_context_length", 16},
                                   {"rope.scaling.yarn_ext_factor", 0.5},
                                   {"rope.scaling.yarn_attn_factor", 1.5},
                                   {"rope.scaling.yarn_beta_fast", 32.5},
                                   {"rope.scaling.yarn_beta_slow", 1.5},
                                   {"rope.scaling.yarn_log_multiplier", 0.5},
                                   {"expert_count", 4},
                                   {"expert_used_count", 2},
                                   {"expert_feed_forward_length", 8},
                                   {"expert_gating_func", 1},
                                   {"expert_weights_scale", 0.5},
                                   {"logit_scale", 1.5},
                                   {"final_logit_softcapping", 30.5}};
constexpr std::size_t kNeededKeys = 10;  // the first ones are hardly ever left out

inline float extreme_float(Rng& rng) {
  constexpr float kExtreme[] = {0.0f, -1.0f, 1e-38f, 3e38f, INFINITY, -INFINITY, NAN};
  return kExtreme[below(rng, std::size(kExtreme))];
}

inline void add_number(Rng& rng, tests::GgufWriter& out, const std::string& key, double usual) {
  const bool is_forged = below(rng, 50) == 0;
  if (usual == std::floor(usual))
    out.add_u32(key, static_cast<std::uint32_t>(is_forged ? extreme_number(rng)
                                                          : static_cast<std::uint64_t>(usual)));
  else
    out.add_f32(key, is_forged ? extreme_float(rng) : static_cast<float>(usual));
}

inline void add_config(Rng& rng, tests::GgufWriter& out) {
  const auto known = runtime::all_architectures();
  const std::string name(known[below(rng, known.size())]->name);
  out.add_string("general.architecture", name);
  for (std::size_t i = 0; i < std::size(kModelKeys); ++i)
    if (below(rng, i < kNeededKeys ? 80 : 3) != 0)
      add_number(rng, out, name + "." + kModelKeys[i].name, kModelKeys[i].usual);
  const char* types[] = {"none", "linear", "yarn", "longrope", "dynamic"};
  if (below(rng, 2) == 0) out.add_string(name + ".rope.scaling.type", types[below(rng, 5)]);
  if (below(rng, 4) == 0) out.add_bool(name + ".expert_weights_norm", below(rng, 4) != 0);
  std::vector<float> numbers(8 * 8, 1.5f);
  if (below(rng, 8) == 0) numbers[below(rng, 2)] = extreme_float(rng);
  const std::uint64_t rows = below(rng, 8) == 0 ? 1 : 8;
  out.add_tensor("token_embd.weight", {8, rows}, std::span(numbers).first(8 * rows));
  for (const char* factors :
       {"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"})
    if (below(rng, 8) == 0) out.add_tensor(factors, {2}, std::span(numbers).first(2));
}

// Eight pieces, of which neither kind of tokenizer needs more.
inline void add_vocabulary(Rng& rng, tests::GgufWriter& out) {
  const auto forged = [&] { return below(rng, 16) == 0; };
  const bool is_bpe = below(rng, 2) == 0;
  std::vector<std::string> pieces = {"<unk>", "<s>", "</s>", "a", "b", "ab", "ba", "▁a"};
  if (is_bpe) pieces[7] = "Ġa";
  if (forged()) pieces[6] = "<0x41>";
  if (forged()) pieces[below(rng, 8)] = std::string(below(rng, 3) * 600, '\xff');
  std::vector<std::int32_t> types = {2, 3, 3, 1, 1, 1, 1, 1};
  if (forged()) types[below(rng, 8)] = static_cast<std::int32_t>(extreme_number(rng));
  std::vector<float> scores(forged() ? 7 : 8, -1.0f);
  std::vector<std::string> merges = {"a b", "Ġ a"};
  if (forged()) merges[below(rng, 2)] = below(rng, 2) == 0 ? " " : "b a";
  const char* pre[] = {"gpt-2", "llama-bpe", "qwen2", "nobody's"};
  out.add_string("tokenizer.ggml.model", forged() ? "bert"
                                         : is_bpe ? "gpt2"
                                                  : "llama")
      .add_string("tokenizer.ggml.pre", pre[below(rng, 4)])
      .add_string_array("tokenizer.ggml.tokens", pieces)
      .add_i32_array("tokenizer.ggml.token_type", types)
      .add_f32_array("tokenizer.ggml.scores", scores)
      .add_string_array("tokenizer.ggml.merges", merges);
  for (const char* key : {"unknown", "bos", "eos", "eot"})
    if (below(rng, 3) != 0)
      add_number(rng, out, std::string("tokenizer.ggml.") + key + "_token_id",
                 static_cast<double>(below(rng, 3)));
}

inline tests::GgufWriter forged_model(Rng& rng) {
  tests::GgufWriter out;
  if (below(rng, 8) != 0) add_vocabulary(rng, out);
  add_config(rng, out);
  return out;
}

}  // namespace satchel::fuzz
