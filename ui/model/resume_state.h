// ResumeState: what the chip above a reopened chat says. Every figure in it was measured, but for
// the time a reading would have taken, which says "about".
#pragma once

#include <QCoreApplication>
#include <QString>

#include "ui/model/engine_types.h"

namespace satchel::ui {

struct ResumeState {
  enum Kind { Hidden, Reused, PartlyReread, Reread, TooLong };
  Kind kind = Hidden;
  QString text;

  static ResumeState of(const runtime::ResumeReport& report);

  Q_DECLARE_TR_FUNCTIONS(ResumeState)
};

}  // namespace satchel::ui
