#include "ui/model/resume_state.h"

#include "runtime/chat/correct_text.h"
#include "ui/model/format.h"

namespace satchel::ui {
namespace {

QString reusedText(const runtime::ResumeReport& report) {
  QString text = ResumeState::tr("Resumed %1 tokens in %2.")
                     .arg(formatCount(qint64(report.n_reused)), formatSeconds(report.ms / 1000));
  if (report.reread_ms_estimate > 0)
    text += u' ' + ResumeState::tr("Rereading them would take about %1.")
                       .arg(formatSeconds(report.reread_ms_estimate / 1000));
  const bool isLoss = runtime::is_loss({.ms = report.ms, .reading_ms = report.reread_ms_estimate});
  return isLoss ? text + u' ' + ResumeState::tr("Resuming saved no time.") : text;
}

}  // namespace

ResumeState ResumeState::of(const runtime::ResumeReport& report) {
  const auto withReason = [&report](const QString& sentence) {
    return report.message.empty() ? sentence
                                  : sentence + u' ' + QString::fromStdString(report.message);
  };
  if (report.too_long) return {TooLong, QString::fromStdString(report.message)};
  if (report.n_reused == 0 && report.n_reread == 0) return {};
  if (report.n_reread == 0) return {Reused, withReason(reusedText(report))};
  const QString reread = formatCount(qint64(report.n_reread));
  if (report.n_reused == 0)
    return {Reread,
            withReason(tr("Reread %1 tokens in %2.").arg(reread, formatSeconds(report.ms / 1000)))};
  return {PartlyReread, withReason(tr("Reused %1 tokens and reread %2 in %3.")
                                       .arg(formatCount(qint64(report.n_reused)), reread,
                                            formatSeconds(report.ms / 1000)))};
}

}  // namespace satchel::ui
