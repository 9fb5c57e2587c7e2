// Find in the open chat, and take it out of the window: copies and files.
#include <QDir>
#include <QFileDialog>
#include <QShortcut>
#include <QStandardPaths>

#include "ui/model/chat_finder.h"
#include "ui/widgets/chat_list_panel.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/conversation/conversation_view.h"
#include "ui/widgets/find_bar.h"
#include "ui/widgets/main_window.h"

namespace satchel::ui {
namespace {

// A title as the name of a file: no folder, nothing hidden, not long.
QString fileNameOf(QString title) {
  for (QChar& character : title)
    if (character == u'/' || character == u'\\' || !character.isPrint()) character = u' ';
  title = title.simplified().left(80);
  while (title.startsWith(u'.')) title.remove(0, 1);
  return title.isEmpty() ? QStringLiteral("chat") : title;
}

}  // namespace

void MainWindow::connectFind() {
  ChatFinder* finder = m_findBar->finder();
  m_conversation->setFinder(finder);
  connect(m_findBar, &FindBar::lookedFor, this, [this, finder](const QString& words) {
    finder->look(words, m_conversation->firstVisibleRow());
  });
  connect(m_findBar, &FindBar::closed, this, [this] { m_composer->setFocus(); });
  const auto add = [this](const QKeySequence& keys, auto&& act) {
    connect(new QShortcut(keys, this), &QShortcut::activated, this, act);
  };
  add(QKeySequence::Find, [this] { findInChat(); });
  add(QKeySequence(Qt::Key_F3), [finder] { finder->step(1); });
  add(QKeySequence(Qt::SHIFT | Qt::Key_F3), [finder] { finder->step(-1); });
  add(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C), [this] { m_conversation->copyLastAnswer(); });
  add(QKeySequence(Qt::CTRL | Qt::Key_S),
      [this] { exportChat(m_state->chat().id, m_state->chat().title); });
  connect(m_chats, &ChatListPanel::exportAsked, this, &MainWindow::exportChat);
}

void MainWindow::findInChat() {
  if (m_state->conversation()->rowCount() > 0) m_findBar->open();
}

void MainWindow::exportChat(ChatKey chat, const QString& title) {
  if (chat == 0) return;
  const QString path = QFileDialog::getSaveFileName(
      this, tr("Export the chat"),
      QDir(QStandardPaths::writableLocation(QStandardPaths::DocumentsLocation))
          .filePath(fileNameOf(title) + QStringLiteral(".md")),
      tr("Markdown (*.md);;JSON (*.json)"));
  if (!path.isEmpty()) m_state->exportChat(chat, path);
}

}  // namespace satchel::ui
