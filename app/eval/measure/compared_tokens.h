// ComparedTokens: next-token distributions beside reading's, added up over tokens and texts.
#pragma once

#include <cstddef>

#include "runtime/fidelity/fidelity.h"

namespace satchel::eval {

struct ComparedTokens {
  std::size_t n = 0;
  double n_same = 0;  // with reading's likeliest token
  double kl_sum = 0;  // from reading, nats

  void add(const runtime::Fidelity& more) {
    const auto n_more = static_cast<double>(more.n_tokens);
    add(ComparedTokens{more.n_tokens, more.agreement * n_more, more.kl * n_more});
  }
  void add(const ComparedTokens& more) {
    n += more.n;
    n_same += more.n_same;
    kl_sum += more.kl_sum;
  }
  // Means; of none 0.
  double same() const { return mean(n_same); }
  double kl() const { return mean(kl_sum); }

 private:
  double mean(double sum) const { return n == 0 ? 0 : sum / static_cast<double>(n); }
};

}  // namespace satchel::eval
