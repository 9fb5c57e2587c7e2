// How the open chat is answered, and the texts that are kept for that.
#include <QPlainTextEdit>
#include <QShortcut>

#include "ui/model/answer_settings_text.h"
#include "ui/widgets/chat_settings_dialog.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/main_window.h"
#include "ui/widgets/prompts_dialog.h"

namespace satchel::ui {

void MainWindow::connectSettings() {
  const auto add = [this](const QKeySequence& keys, void (MainWindow::*act)()) {
    connect(new QShortcut(keys, this), &QShortcut::activated, this, act);
  };
  add(QKeySequence(Qt::CTRL | Qt::Key_Comma), &MainWindow::showChatSettings);
  add(QKeySequence(Qt::Key_F10), &MainWindow::showMore);
  add(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_P), &MainWindow::showPrompts);
  connect(m_state, &AppState::promptsListed, this, [this](const runtime::PromptsListed& listed) {
    if (m_settings) m_settings->setPrompts(listed.prompts);
    if (m_prompts) m_prompts->setPrompts(listed.prompts);
  });
  // Of another chat they would be wrong.
  connect(m_state->conversation(), &QAbstractItemModel::modelReset, this, [this] {
    if (m_settings) m_settings->close();
  });
}

void MainWindow::showChatSettings() {
  if (m_state->model().path.empty()) return;
  if (m_settings) return m_settings->activateWindow();
  m_settings =
      new ChatSettingsDialog(m_state->answers(), m_state->conversation()->rowCount() > 0, this);
  connect(m_settings, &ChatSettingsDialog::applied, m_state, &AppState::setAnswers);
  connect(m_settings, &ChatSettingsDialog::newChatAsked, this,
          [this](const runtime::AnswerSettings& answers) {
            m_state->newChatWith(answers);
            m_composer->setFocus();
          });
  m_settings->open();
  m_state->listPrompts();
}

void MainWindow::showPrompts() {
  if (m_prompts) return m_prompts->activateWindow();
  m_prompts = new PromptsDialog(this);
  connect(m_prompts, &PromptsDialog::keepAsked, m_state, &AppState::keepPrompt);
  connect(m_prompts, &PromptsDialog::removeAsked, m_state, &AppState::removePrompt);
  connect(m_prompts, &PromptsDialog::chosen, this, [this](const QString& text) {
    m_composer->edit()->insertPlainText(text);
    m_composer->setFocus();
  });
  m_prompts->open();
  m_state->listPrompts();
}

}  // namespace satchel::ui
