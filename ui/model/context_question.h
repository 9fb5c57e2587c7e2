// ContextQuestion: what a chat asks at the end of the model's context: to go on beyond it, or to
// stop there.
#pragma once

#include <QList>
#include <QString>
#include <utility>

namespace satchel::ui {

struct ContextQuestion {
  enum Cause { None, Message, Document, Answer, Opened };
  Cause cause = None;
  // Title and text of those that were not read. They are, if the chat goes on.
  QList<std::pair<QString, QString>> documents = {};

  bool isAsked() const { return cause != None; }
  QString title() const;
  QString text(std::size_t contextTokens) const;
};

}  // namespace satchel::ui
