#include "ui/model/measured.h"

#include <QString>
#include <algorithm>

#include "runtime/fidelity/fidelity_text.h"

namespace satchel::ui {
namespace {

std::string fidelityKey(kvcache::ChatId chat) {
  return "fidelity." + std::to_string(chat.value);
}
std::string speedKey(const std::string& fingerprint) {
  return "read_ms_per_token." + fingerprint;
}

}  // namespace

Result<void> Measured::keep(const std::string& fingerprint, const runtime::ReadReport& report) {
  if (report.n_tokens < runtime::kSpeedTokensMin || report.ms <= 0) return {};
  const QString speed = QString::number(report.ms / double(report.n_tokens));
  return m_library.set_setting(speedKey(fingerprint), speed.toStdString());
}

Result<void> Measured::keep(kvcache::ChatId chat, const runtime::Fidelity& fidelity) {
  if (fidelity.n_tokens == 0) return {};
  return m_library.set_setting(fidelityKey(chat), runtime::to_text(fidelity));
}

Result<void> Measured::forget(kvcache::ChatId chat) {
  return m_library.unset_setting(fidelityKey(chat));
}

runtime::Fidelity Measured::fidelity(kvcache::ChatId chat) {
  const auto text = m_library.setting(fidelityKey(chat));
  if (!text.ok() || !text->has_value()) return {};
  return runtime::fidelity_from(**text).value_or(runtime::Fidelity{});
}

double Measured::readMsPerToken(const std::string& fingerprint) {
  const auto text = m_library.setting(speedKey(fingerprint));
  if (!text.ok() || !text->has_value()) return 0;
  return std::max(0.0, QString::fromStdString(**text).toDouble());
}

}  // namespace satchel::ui
