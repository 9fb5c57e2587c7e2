#include "ui/model/measured.h"

#include <QString>
#include <algorithm>

namespace satchel::ui {
namespace {

std::string speedKey(const std::string& fingerprint) {
  return "read_ms_per_token." + fingerprint;
}

}  // namespace

Result<void> Measured::keep(const std::string& fingerprint, const runtime::ReadReport& report) {
  if (report.n_tokens < runtime::kSpeedTokensMin || report.ms <= 0) return {};
  const QString speed = QString::number(report.ms / double(report.n_tokens));
  return m_library.set_setting(speedKey(fingerprint), speed.toStdString());
}

double Measured::readMsPerToken(const std::string& fingerprint) {
  const auto text = m_library.setting(speedKey(fingerprint));
  if (!text.ok() || !text->has_value()) return 0;
  return std::max(0.0, QString::fromStdString(**text).toDouble());
}

}  // namespace satchel::ui
