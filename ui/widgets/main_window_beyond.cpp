// A chat at the end of the model's context, and the parts that are seen beyond it.
#include <QAction>
#include <QPushButton>
#include <utility>

#include "ui/widgets/banner.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/conversation/conversation_view.h"
#include "ui/widgets/main_window.h"
#include "ui/widgets/parts_popup.h"
#include "ui/widgets/question_card.h"

namespace satchel::ui {

void MainWindow::connectBeyond() {
  addPartsActions();
  connect(m_state, &AppState::canSendChanged, this, &MainWindow::refreshSending);
  connect(m_state, &AppState::questionChanged, this, [this] {
    const ContextQuestion& question = m_state->question();
    question.isAsked() ? m_question->ask(question.title(), m_state->questionText())
                       : m_question->hide();
  });
  connect(m_question->yes(), &QPushButton::clicked, m_state, &AppState::goOn);
  connect(m_question->no(), &QPushButton::clicked, m_state, &AppState::stopHere);
  connect(m_state, &AppState::sendAsked, m_composer, &Composer::send);
  connect(m_conversation, &ConversationView::partsAsked, this,
          [this](int row, const QPoint& global) {
            m_partsRow = row;
            m_partsPlace = global;
            m_state->listParts();
          });
  connect(m_state, &AppState::partsListed, this, &MainWindow::showParts);
  connect(m_state, &AppState::chatChanged, this, [this] { m_partsRow = -1; });
  connect(m_state, &AppState::namedChanged, this, [this] {
    const QString text = m_state->namedText();
    text.isEmpty() ? m_named->hide() : m_named->showGood(text);
  });
  connect(m_named, &Banner::closed, this, [this] { m_state->nameParts({}); });
}

// In the menu of the conversation, and as keys everywhere.
void MainWindow::addPartsActions() {
  m_showParts = new QAction(tr("Older parts…"), this);
  m_showParts->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_P));
  m_askAllParts = new QAction(tr("Ask all parts"), this);
  m_askAllParts->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_A));
  m_askAllParts->setToolTip(tr("Asks what is written of each part of a long chat by itself"));
  m_conversation->addActions({m_showParts, m_askAllParts});
  connect(m_showParts, &QAction::triggered, m_conversation, &ConversationView::askLastParts);
  connect(m_askAllParts, &QAction::triggered, this, [this] { askAllParts({}); });
}

void MainWindow::refreshSending() {
  m_composer->setState(m_state->canSend(), m_state->canStop());
}

// Without a question of its own: what is written.
void MainWindow::askAllParts(const QString& question) {
  const bool isDraft = question.isEmpty();
  const QString asked = isDraft ? m_composer->edit()->toPlainText() : question;
  if (m_state->askAll(asked) && isDraft) m_composer->edit()->clear();
}

void MainWindow::showParts(const runtime::OlderParts& parts) {
  const int row = std::exchange(m_partsRow, -1);
  const ConversationModel* conversation = m_state->conversation();
  if (row < 0 || row >= conversation->rowCount() || parts.parts.empty()) return;
  const Message& answer = conversation->message(row);
  PartsShown shown{.parts = parts,
                   .seen = answer.partsSeen,
                   .quoted = answer.partsQuoted,
                   .question = m_composer->edit()->toPlainText().trimmed(),
                   .canAsk = m_state->canSend(),
                   .canAskAgain = !m_state->questionOf(row).isEmpty()};
  if (answer.partsAll == 0) shown.seen = partsSeenLast(parts);
  const bool isDraft = !shown.question.isEmpty();
  if (!isDraft) shown.question = m_state->questionOf(row);
  auto* popup = new PartsPopup(shown, this);
  connect(popup, &PartsPopup::askedAgain, this,
          [this, row](const QList<int>& chosen) { m_state->askAgain(row, chosen); });
  connect(popup, &PartsPopup::chosenForNext, this, [this](const QList<int>& chosen) {
    m_state->nameParts(chosen);
    m_composer->setFocus();
  });
  connect(popup, &PartsPopup::askedOfAll, this, [this, isDraft, question = shown.question] {
    askAllParts(isDraft ? QString() : question);
  });
  popup->showAt(m_partsPlace);
}

}  // namespace satchel::ui
