// What is said otherwise: editing, answering again, and the way through the versions; and marks.
#include <QShortcut>
#include <utility>

#include "ui/model/format.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/conversation/conversation_view.h"
#include "ui/widgets/main_window.h"

namespace satchel::ui {
namespace {

bool isUsers(const Message& message) {
  return message.role == runtime::Role::user;
}

}  // namespace

void MainWindow::connectVersions() {
  connect(m_conversation, &ConversationView::replaceAsked, this, &MainWindow::replace);
  connect(m_conversation, &ConversationView::versionAsked, m_state, &AppState::switchVersion);
  m_conversation->setCanMark([this](int row) { return m_state->canMark(row); });
  connect(m_conversation, &ConversationView::markAsked, m_state, &AppState::setMark);
  connect(m_composer, &Composer::sentInstead, this, [this](qint64 message, const QString& text) {
    if (!m_state->sendInstead(message, text)) m_composer->beginEdit(message, text);
  });
  connect(m_state, &AppState::editRefused, m_composer, &Composer::beginEdit);
  connect(m_composer, &Composer::editingChanged, this, &MainWindow::refreshEditing);
  connect(m_editing, &Banner::actionChosen, this, [this] {  // what follows is kept
    if (m_state->correct(m_composer->editedMessage(), m_composer->edit()->toPlainText()))
      m_composer->endEdit();
  });
  connect(m_state->memory(), &MemoryPanelState::changed, this, &MainWindow::refreshPlaced);
  connect(m_placed, &Banner::actionChosen, m_state, &AppState::readExactly);
  connect(m_editing, &Banner::closed, m_composer, &Composer::endEdit);
  // A message that is gone cannot be edited.
  const auto endIfGone = [this] {
    const qint64 edited = m_composer->editedMessage();
    const auto isIt = [edited](const Message& message) { return message.id == edited; };
    if (m_state->conversation()->lastRow(isIt) < 0) m_composer->endEdit();
  };
  connect(m_state->conversation(), &QAbstractItemModel::modelReset, this, endIfGone);
  connect(m_state->conversation(), &QAbstractItemModel::rowsRemoved, this, endIfGone);
  const auto add = [this](const QKeySequence& keys, auto&& act) {
    connect(new QShortcut(keys, this), &QShortcut::activated, this, act);
  };
  const auto last = [this](bool isOfUser) {
    return m_state->conversation()->lastRow([isOfUser](const Message& message) {
      return message.canReplace && isUsers(message) == isOfUser;
    });
  };
  add(QKeySequence(Qt::CTRL | Qt::Key_E), [this, last] { replace(last(true)); });
  add(QKeySequence(Qt::CTRL | Qt::Key_R), [this, last] { replace(last(false)); });
  for (const int step : {-1, 1})
    add(QKeySequence(Qt::ALT | (step < 0 ? Qt::Key_Left : Qt::Key_Right)), [this, step] {
      const ConversationModel* conversation = m_state->conversation();
      const int row =
          conversation->lastRow([](const Message& message) { return !message.versions.isEmpty(); });
      m_state->switchVersion(row, step);
    });
}

// Where an answer was followed by more, that can stay.
void MainWindow::refreshEditing() {
  if (!m_composer->isEditing()) return m_editing->hide();
  const qint64 edited = m_composer->editedMessage();
  const ConversationModel* conversation = m_state->conversation();
  const int row =
      conversation->lastRow([edited](const Message& message) { return message.id == edited; });
  m_editing->showNotice(
      tr("You are editing an earlier message. Enter asks it anew: what came "
         "after it is kept as another version."));
  if (row >= 0 && row + 2 < conversation->rowCount()) m_editing->setAction(tr("Keep what follows"));
}

// Closed by hand it stays closed, until it says something else.
void MainWindow::refreshPlaced() {
  const std::size_t n = m_state->memory()->placed();
  if (n == std::exchange(m_placedShown, n)) return;
  if (n == 0) return m_placed->hide();
  m_placed->showNotice(tr("%1 tokens were moved without being read again. They do not reflect "
                          "the text before them.")
                           .arg(formatCount(qint64(n))));
  m_placed->setAction(tr("Read them again"));
}

void MainWindow::replace(int row) {
  if (!m_state->canReplace(row)) return;
  const Message& message = m_state->conversation()->message(row);
  if (isUsers(message))
    m_composer->beginEdit(message.id, message.text);
  else
    m_state->answerAgain(row);
}

}  // namespace satchel::ui
