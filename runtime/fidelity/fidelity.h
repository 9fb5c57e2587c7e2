// Fidelity: what compression did to this very conversation, measured.
//   how      after a prompt was read, its last tokens (up to 128) run again against the compressed
//            cache, positions masked; each next-token distribution is compared with the exact one
//            of the first reading
//   when     a prompt that is to be answered is measured when its answer has been given: nobody waits
//            for it. What was compressed while answering then counts too
//   attention kept  16 of these tokens ask again, with the very queries of the first reading, in
//            every layer, what is held now: how much of the attention they paid then still finds
//            something (attention_left), as the mean over all heads of all layers. What is exact
//            counts beside what is coarse: that the answer changed is what agreement and KL say
//   precise  weights exp(...) in float, relative error 3e-7; sums in float64, in an order that
//            depends on nothing
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
  double attention_kept = 1;     // share of the exact attention that is still there
  std::size_t measured_at = 0;   // tokens in the context then
  std::int64_t measured_ms = 0;  // since 1970, UTC
};

// exact, compressed [n_tokens, n_vocabulary]
Fidelity compare_logits(std::span<const float> exact, std::span<const float> compressed,
                        std::size_t n_vocabulary);

// What share of each head's attention is left: the mean over tokens of exp(lse_now - lse_exact), at
// most 1. The two are of the same queries: lse_exact over all keys they saw while the text was read,
// lse_now over those held now. Of keys held exactly that is the attention on them; a coarse key moves
// its own share up or down a little, which the mean over tokens evens out.
//   lse  [n_tokens, n_heads]; -infinity: nothing is seen
std::vector<double> attention_left(std::span<const float> lse_exact, std::span<const float> lse_now,
                                   std::size_t n_heads);

}  // namespace satchel::runtime
