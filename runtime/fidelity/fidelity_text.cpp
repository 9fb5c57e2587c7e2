#include "runtime/fidelity/fidelity_text.h"

#include <charconv>
#include <cmath>

namespace satchel::runtime {
namespace {

template <class Number>
void add(std::string& text, Number number) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  if (!text.empty()) text += ' ';
  text.append(digits, end);
}

// Takes a number, and the space behind it, off the front.
template <class Number>
bool take(std::string_view& text, Number& number) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.empty()) return true;
  if (text.front() != ' ') return false;
  text.remove_prefix(1);
  return !text.empty();
}

}  // namespace

std::string to_text(const Fidelity& fidelity) {
  std::string text;
  add(text, fidelity.n_tokens);
  add(text, fidelity.agreement);
  add(text, fidelity.kl);
  add(text, fidelity.measured_at);
  add(text, fidelity.measured_ms);
  return text;
}

std::optional<Fidelity> fidelity_from(std::string_view text) {
  Fidelity out;
  const bool taken = take(text, out.n_tokens) && take(text, out.agreement) && take(text, out.kl) &&
                     take(text, out.measured_at) && take(text, out.measured_ms) && text.empty();
  const bool sound =
      out.agreement >= 0 && out.agreement <= 1 && out.kl >= 0 && std::isfinite(out.kl);
  if (!taken || !sound) return std::nullopt;
  return out;
}

}  // namespace satchel::runtime
