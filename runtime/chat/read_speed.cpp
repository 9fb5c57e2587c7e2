#include "runtime/chat/read_speed.h"

#include <algorithm>
#include <charconv>

namespace satchel::runtime {
namespace {

std::string key_of(const std::string& fingerprint) {
  return "read_ms_per_token." + fingerprint;
}

// As "%g": six digits, whatever the locale.
std::string text_of(double value) {
  char text[32];
  const auto end =
      std::to_chars(text, text + sizeof text, value, std::chars_format::general, 6).ptr;
  return std::string(text, end);
}

}  // namespace

Result<void> ReadSpeed::keep(const std::string& fingerprint, const ReadReport& report) {
  if (store_ == nullptr || report.n_tokens < kSpeedTokensMin || report.ms <= 0) return {};
  return store_->library().set_setting(key_of(fingerprint),
                                       text_of(report.ms / static_cast<double>(report.n_tokens)));
}

double ReadSpeed::ms_per_token(const std::string& fingerprint) {
  if (store_ == nullptr) return 0;
  const auto text = store_->library().setting(key_of(fingerprint));
  if (!text.ok() || !text->has_value()) return 0;
  double value = 0;
  std::from_chars((*text)->data(), (*text)->data() + (*text)->size(), value);
  return std::max(0.0, value);
}

}  // namespace satchel::runtime
