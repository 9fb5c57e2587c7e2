#include "ui/model/context_question.h"

#include <QCoreApplication>

#include "ui/model/format.h"

namespace satchel::ui {
namespace {

QString trQuestion(const char* text) {
  return QCoreApplication::translate("ContextQuestion", text);
}

}  // namespace

QString ContextQuestion::title() const {
  if (cause == Opened) return trQuestion("This chat is longer than the model's context");
  if (cause == Document) return trQuestion("The document does not fit into the model's context");
  return trQuestion("The model's context is full");
}

QString ContextQuestion::text(std::size_t contextTokens) const {
  QString what;
  switch (cause) {
    case None:
      return {};
    case Message:
      what = trQuestion("Your message was not sent.");
      break;
    case Document:
      what = trQuestion("\"%1\" was not read.").arg(documents.front().first);
      break;
    case Answer:
      what = trQuestion("The answer ended early.");
      break;
    case Opened:
      what = trQuestion("You can read it here.");
      break;
  }
  const QString parts =
      cause == Document
          ? trQuestion(
                "This model sees at most %1 tokens at once. If the chat goes on, the "
                "document is read in parts, and the model sees those that a question "
                "needs.")
          : trQuestion(
                "This model sees at most %1 tokens at once. If the chat goes on, its older "
                "turns stay as parts, and the model sees those that a question needs. "
                "Nothing is deleted.");
  return what + u' ' + parts.arg(formatCount(qint64(contextTokens)));
}

}  // namespace satchel::ui
