// A chat at the end of the model's context, and the parts that are seen beyond it.
#include <QPushButton>

#include "ui/widgets/banner.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/conversation/conversation_view.h"
#include "ui/widgets/main_window.h"
#include "ui/widgets/parts_popup.h"
#include "ui/widgets/question_card.h"

namespace satchel::ui {

void MainWindow::connectBeyond() {
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

void MainWindow::showParts(const runtime::OlderParts& parts) {
  const int row = std::exchange(m_partsRow, -1);
  if (row < 0 || row >= m_state->conversation()->rowCount() || parts.parts.empty()) return;
  auto* popup = new PartsPopup(parts, m_state->conversation()->message(row).partsSeen,
                               m_state->canSend(), this);
  connect(popup, &PartsPopup::askedAgain, this,
          [this, row](const QList<int>& chosen) { m_state->askAgain(row, chosen); });
  connect(popup, &PartsPopup::chosenForNext, this, [this](const QList<int>& chosen) {
    m_state->nameParts(chosen);
    m_composer->setFocus();
  });
  popup->showAt(m_partsPlace);
}

}  // namespace satchel::ui
