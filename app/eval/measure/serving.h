// What limits serving long chats, in four metrics: how many chats fit, how long a text takes to
// read, a token to make, and a chat to make way for another.
//   possible  the same from the size of model and cache and the machine's limits
//   source    arXiv:2405.08944 section 2: chats floor(memory / C), prefill FLOPs / F, decode
//             (W + C) / B, switch (C out + C in) / X
//   differs   memory is the limit of all caches, beside the weights. A chat makes way to the disk:
//             X is how fast its files can be read
#pragma once

#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>

#include "app/eval/measure/machine_limits.h"
#include "app/eval/measure/resume_speed.h"
#include "app/eval/measure/speed.h"

namespace satchel::eval {

struct ServingSpec {
  std::size_t n_tokens = 0;     // of each chat
  std::string text = {};        // of about as many, for the chat that is saved and resumed
  std::size_t n_answer = 64;    // tokens whose time is taken
  std::size_t limit_bytes = 0;  // of all chats; > 0
  std::size_t rounds = 1;
};

struct Serving {
  std::size_t n_chats = 0;               // of which each holds what this one holds
  double prefill_ms = 0, decode_ms = 0;  // of the text; of a token behind it
  kvcache::CacheStats stats;             // of the text and the tokens behind it
  ResumeSpeed switched;                  // a chat of about as many tokens, saved and resumed
};
//   needs, errors  as measure_speed() and measure_resume()
Result<Serving> measure_serving(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                const ServingSpec& spec, std::stop_token stop);

// What would take no longer than this, if nothing but these limits held it up. Nothing where the
// machine's limits are not known.
struct PossibleServing {
  std::size_t n_chats_fp16 = 0;  // with caches that are not compressed
  double prefill_flops = 0;
  std::optional<double> prefill_ms = {}, decode_ms = {};
  double switch_ms = 0;
};
PossibleServing possible_serving(const runtime::Engine& engine, const ServingSpec& spec,
                                 const Serving& measured, const MachineLimits& machine);

// Multiply-adds count twice. Products with weights, and attention of each token to those before
// it; of recurrent layers the feed-forward only. Logits are made of the last token alone.
double prefill_flops(const runtime::ModelConfig& config, std::size_t n_tokens);

}  // namespace satchel::eval
