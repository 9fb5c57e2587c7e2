#include "ui/widgets/shortcuts_dialog.h"

#include <QCoreApplication>
#include <QDialog>
#include <QGridLayout>
#include <QLabel>
#include <utility>

#include "ui/widgets/theme.h"

namespace satchel::ui {
namespace {

struct Shortcuts {
  Q_DECLARE_TR_FUNCTIONS(Shortcuts)

 public:
  static QList<std::pair<QString, QString>> all();  // keys, what they do
};

QList<std::pair<QString, QString>> Shortcuts::all() {
  return {
      {tr("Enter"), tr("Send the message")},
      {tr("Shift+Enter"), tr("New line")},
      {tr("Esc"), tr("Stop")},
      {tr("Ctrl+E"), tr("Edit your last message")},
      {tr("Ctrl+R"), tr("Answer it again")},
      {tr("Alt+Left, Alt+Right"),
       tr("Older or newer version of the last message that has several")},
      {tr("Shift+F10, in the messages"), tr("Pin, forget or copy the message in the middle")},
      {tr("Ctrl+N"), tr("New chat with the selected memory settings")},
      {tr("Ctrl+K"), tr("Search chats")},
      {tr("Ctrl+F, then F3 or Shift+F3"), tr("Find in this chat, next or previous place")},
      {tr("Ctrl+Shift+C"), tr("Copy the last answer")},
      {tr("Ctrl+S"), tr("Export this chat")},
      {tr("Ctrl+O"), tr("Attach documents")},
      {tr("Ctrl+B"), tr("Show or hide the chat list")},
      {tr("Ctrl+M"), tr("Show or hide the memory panel")},
      {tr("Ctrl+L"), tr("Show the memory history of this chat")},
      {tr("Ctrl+H"), tr("Show what the model still holds of each word, and what it looked at")},
      {tr("Ctrl+T"), tr("Show or hide the thoughts before the last answer")},
      {tr("Ctrl+D"), tr("Show the passages of documents that the last answer quotes")},
      {tr("Ctrl+P"), tr("Show which older parts the last answer saw")},
      {tr("Ctrl+Shift+A"), tr("Ask what is written of all parts of a long chat")},
      {tr("Ctrl+,"), tr("System prompt, creativity and stop texts of this chat")},
      {tr("Ctrl+Shift+P"), tr("Saved prompts")},
      {tr("Ctrl+Shift+M"), tr("Models: what each is, import, download")},
      {tr("Ctrl+Shift+S"), tr("Server for other programs")},
      {tr("F10"), tr("Menu of all these")},
      {tr("F2"), tr("Rename the selected chat")},
      {tr("F1"), tr("Show this list")},
  };
}

}  // namespace

void showShortcuts(QWidget* parent) {
  QDialog dialog(parent);
  dialog.setWindowTitle(Shortcuts::tr("Keyboard shortcuts"));
  const auto keys = Shortcuts::all();
  auto* grid = new QGridLayout(&dialog);
  grid->setContentsMargins(kGapHuge, kGapHuge, kGapHuge, kGapHuge);
  grid->setHorizontalSpacing(kGapHuge);
  grid->setVerticalSpacing(kGap + 2);
  for (int row = 0; row < int(keys.size()); ++row) {
    auto* key = new QLabel(keys[row].first, &dialog);
    key->setFont(scaledFont(dialog.font(), 1, QFont::DemiBold));
    grid->addWidget(key, row, 0);
    grid->addWidget(new QLabel(keys[row].second, &dialog), row, 1);
  }
  dialog.exec();
}

}  // namespace satchel::ui
