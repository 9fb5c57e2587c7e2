// ReadingClock: how much has been read, how fast, and how long the rest will take.
//   estimate  the speed of the last seconds, weighted by age: later tokens attend to more and are
//             slower
#pragma once

#include <QCoreApplication>
#include <QString>

#include "runtime/progress.h"

namespace satchel::ui {

class ReadingClock {
  Q_DECLARE_TR_FUNCTIONS(ReadingClock)

 public:
  void begin(double nowSeconds);
  void update(const runtime::Progress& progress, double nowSeconds);

  double share() const;        // 0 … 1
  double secondsLeft() const;  // -1: not known yet
  // "Reading 1,204 of 3,900 tokens · 12 s left"
  QString text() const;

 private:
  runtime::Progress m_progress;
  double m_begin = 0, m_last = 0;
  std::size_t m_lastDone = 0;
  double m_perSecond = 0;
};

}  // namespace satchel::ui
