#include "runtime/fidelity/fidelity.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/assert.h"

namespace satchel::runtime {
namespace {

struct Row {
  std::span<const float> logits;
  std::size_t top = 0;  // lowest index of the largest
  double log_sum = 0;   // log of the sum of exp(logit)
};

Row judge(std::span<const float> logits) {
  Row row{.logits = logits};
  row.top =
      static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  const auto largest = static_cast<double>(logits[row.top]);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  row.log_sum = largest + std::log(sum);
  return row;
}

// KL(p || q) in nats. A token p gives no chance adds nothing.
double divergence(const Row& p, const Row& q) {
  double sum = 0;
  for (std::size_t i = 0; i < p.logits.size(); ++i) {
    const double log_p = static_cast<double>(p.logits[i]) - p.log_sum;
    const double log_q = static_cast<double>(q.logits[i]) - q.log_sum;
    const double chance = std::exp(log_p);
    if (chance > 0) sum += chance * (log_p - log_q);
  }
  return std::max(sum, 0.0);  // rounding may leave -1e-17 for equal rows
}

}  // namespace

Fidelity compare_logits(std::span<const float> exact, std::span<const float> compressed,
                        std::size_t n_vocabulary) {
  SATCHEL_ASSERT(n_vocabulary > 0 && exact.size() == compressed.size());
  SATCHEL_ASSERT(exact.size() % n_vocabulary == 0);
  Fidelity out{.n_tokens = exact.size() / n_vocabulary};
  if (out.n_tokens == 0) return out;
  std::size_t n_agreed = 0;
  for (std::size_t t = 0; t < out.n_tokens; ++t) {
    const Row p = judge(exact.subspan(t * n_vocabulary, n_vocabulary));
    const Row q = judge(compressed.subspan(t * n_vocabulary, n_vocabulary));
    n_agreed += p.top == q.top ? 1 : 0;
    out.kl += divergence(p, q);
  }
  out.agreement = static_cast<double>(n_agreed) / static_cast<double>(out.n_tokens);
  out.kl /= static_cast<double>(out.n_tokens);
  return out;
}

}  // namespace satchel::runtime
