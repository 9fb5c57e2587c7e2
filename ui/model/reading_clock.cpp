#include "ui/model/reading_clock.h"

#include <algorithm>
#include <cmath>

#include "ui/model/format.h"

namespace satchel::ui {
namespace {

constexpr double kMemorySeconds = 3;    // how long a measured speed counts; chosen, not measured
constexpr double kWarmUpSeconds = 0.4;  // no forecast before

}  // namespace

void ReadingClock::begin(double nowSeconds) {
  *this = ReadingClock();
  m_begin = m_last = nowSeconds;
}

void ReadingClock::update(const runtime::Progress& progress, double nowSeconds) {
  if (progress.phase != m_progress.phase || progress.total != m_progress.total ||
      progress.done < m_lastDone)
    begin(nowSeconds);
  m_progress = progress;
  const double passed = nowSeconds - m_last;
  if (passed <= 0 || progress.done == m_lastDone) return;
  const double speed = double(progress.done - m_lastDone) / passed;
  const double weight = m_perSecond > 0 ? 1 - std::exp(-passed / kMemorySeconds) : 1;
  m_perSecond += weight * (speed - m_perSecond);
  m_last = nowSeconds;
  m_lastDone = progress.done;
}

double ReadingClock::share() const {
  return m_progress.total > 0
             ? std::clamp(double(m_progress.done) / double(m_progress.total), 0.0, 1.0)
             : 0;
}

double ReadingClock::secondsLeft() const {
  if (m_perSecond <= 0 || m_last - m_begin < kWarmUpSeconds) return -1;
  return (double(m_progress.total) - double(m_progress.done)) / m_perSecond;
}

QString ReadingClock::text() const {
  const QString done = formatCount(qint64(m_progress.done)),
                total = formatCount(qint64(m_progress.total));
  QString what;
  switch (m_progress.phase) {
    case runtime::Phase::load_model:
      what = tr("Loading model");
      break;
    case runtime::Phase::read_prompt:
      what = tr("Reading %1 of %2 tokens").arg(done, total);
      break;
    case runtime::Phase::measure_fidelity:
      what = tr("Measuring accuracy");
      break;
    case runtime::Phase::generate:
      what = tr("Answering");
      break;
    case runtime::Phase::pack:
      what = tr("Compressing");
      break;
    case runtime::Phase::profile:
      what = tr("Profiling the model");
      break;
    case runtime::Phase::ask_parts:
      what = tr("Asking part %1 of %2")
                 .arg(formatCount(qint64(std::min(m_progress.done + 1, m_progress.total))), total);
      break;
  }
  const double left = secondsLeft();
  if (left < 0) return what;
  return tr("%1 · %2 left")
      .arg(what, left < 59.5 ? tr("%1\u00a0s").arg(std::max(1, int(std::lround(left))))
                             : formatSeconds(left));
}

}  // namespace satchel::ui
