// Fidelity: the measured effect of compression on this conversation.
//   how      after prefill, the last tokens of the prompt (up to 128) run again against the
//            compressed cache, masked by position. Each next-token distribution is compared with
//            the exact one from prefill.
//   when     after the answer, so that nobody waits. Compression during the answer counts too.
//   attention kept  16 of these tokens repeat their queries from prefill in every layer. It is the
//            share of their attention that still falls on retained tokens (attention_left), as the
//            mean over all heads of all layers. Quantised tokens count like exact ones; agreement
//            and KL show whether the answer changed.
//   precise  weights exp(...) in float, relative error 3e-7; sums in float64, in a fixed order
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace satchel::runtime {

inline constexpr std::size_t kFidelityTokens = 128;

struct Fidelity {
  std::size_t n_tokens = 0;      // compared; 0: nothing measured yet
  double agreement = 1;          // share with the same top-1
  double kl = 0;                 // mean KL(exact || compressed), nats
  double attention_kept = 1;     // share of the exact attention that falls on retained tokens
  std::size_t measured_at = 0;   // tokens in the context then
  std::int64_t measured_ms = 0;  // since 1970, UTC
};

// exact, compressed [n_tokens, n_vocabulary]
Fidelity compare_logits(std::span<const float> exact, std::span<const float> compressed,
                        std::size_t n_vocabulary);

// The share of each head's attention that is left: the mean over tokens of
// exp(lse_now - lse_exact), at most 1. Both are of the same queries: lse_exact over all keys
// visible in prefill, lse_now over the retained keys. For exact keys this is the attention on them.
// A quantised key shifts its own share slightly, which the mean evens out. A sink logit's share is
// in both, and counts as left.
//   lse  [n_tokens, n_heads]; -infinity: no key is visible
std::vector<double> attention_left(std::span<const float> lse_exact, std::span<const float> lse_now,
                                   std::size_t n_heads);

}  // namespace satchel::runtime
