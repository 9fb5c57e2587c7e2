#include "ui/model/context_question.h"

#include <QCoreApplication>

#include "ui/model/format.h"

namespace satchel::ui {
namespace {

class QuestionText {
  Q_DECLARE_TR_FUNCTIONS(ContextQuestion)
};

}  // namespace

QString ContextQuestion::title() const {
  if (cause == Opened) return QuestionText::tr("This chat is longer than the model's context");
  if (cause == Document)
    return QuestionText::tr("The document does not fit into the model's context");
  return QuestionText::tr("The model's context is full");
}

QString ContextQuestion::text(std::size_t contextTokens) const {
  QString what;
  switch (cause) {
    case None:
      return {};
    case Message:
      what = QuestionText::tr("Your message was not sent.");
      break;
    case Document:
      what = QuestionText::tr("\"%1\" was not read.").arg(documents.front().first);
      break;
    case Answer:
      what = QuestionText::tr("The answer ended early.");
      break;
    case Opened:
      what = QuestionText::tr("You can read it here.");
      break;
  }
  const QString parts =
      cause == Document
          ? QuestionText::tr(
                "This model sees at most %1 tokens at once. If the chat goes on, the "
                "document is read in parts, and the model sees those that a question "
                "needs.")
          : QuestionText::tr(
                "This model sees at most %1 tokens at once. If the chat goes on, its older "
                "turns stay as parts, and the model sees those that a question needs. "
                "Nothing is deleted.");
  return what + u' ' + parts.arg(formatCount(qint64(contextTokens)));
}

}  // namespace satchel::ui
