#include "runtime/fidelity/fidelity_text.h"

#include <cmath>

#include "runtime/fidelity/number_text.h"

namespace satchel::runtime {

std::string to_text(const Fidelity& fidelity) {
  return line_of(fidelity.n_tokens, fidelity.agreement, fidelity.kl, fidelity.attention_kept,
                 fidelity.measured_at, fidelity.measured_ms);
}

std::optional<Fidelity> fidelity_from(std::string_view text) {
  Fidelity out;
  const bool taken = take_line(text, out.n_tokens, out.agreement, out.kl, out.attention_kept,
                               out.measured_at, out.measured_ms);
  const auto is_share = [](double share) { return share >= 0 && share <= 1; };
  const bool sound = is_share(out.agreement) && is_share(out.attention_kept) && out.kl >= 0 &&
                     std::isfinite(out.kl);
  if (!taken || !sound) return std::nullopt;
  return out;
}

}  // namespace satchel::runtime
