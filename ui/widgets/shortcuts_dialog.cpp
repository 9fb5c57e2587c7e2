#include "ui/widgets/shortcuts_dialog.h"

#include <QDialog>
#include <QGridLayout>
#include <QLabel>
#include <array>

#include "ui/widgets/theme.h"

namespace satchel::ui {

void showShortcuts(QWidget* parent) {
  const auto tr = [](const char* text) { return QDialog::tr(text); };
  QDialog dialog(parent);
  dialog.setWindowTitle(tr("Keyboard shortcuts"));
  const std::array<std::pair<QString, QString>, 20> keys = {{
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
      {tr("Ctrl+O"), tr("Attach a document")},
      {tr("Ctrl+B"), tr("Show or hide the chat list")},
      {tr("Ctrl+M"), tr("Show or hide the memory panel")},
      {tr("Ctrl+L"), tr("Show the compression history of this chat")},
      {tr("Ctrl+H"), tr("Show how much of each word the model still holds")},
      {tr("Ctrl+T"), tr("Show or hide the thoughts before the last answer")},
      {tr("Ctrl+D"), tr("Show the passages of documents that the last answer quotes")},
      {tr("Ctrl+P"), tr("Show which older parts the last answer saw")},
      {tr("Ctrl+Shift+A"), tr("Ask what is written of all parts of a long chat")},
      {tr("F2"), tr("Rename the selected chat")},
      {tr("F1"), tr("Show this list")},
  }};
  auto* grid = new QGridLayout(&dialog);
  grid->setContentsMargins(kGapHuge, kGapHuge, kGapHuge, kGapHuge);
  grid->setHorizontalSpacing(kGapHuge);
  grid->setVerticalSpacing(kGap + 2);
  for (int row = 0; row < int(keys.size()); ++row) {
    auto* key = new QLabel(keys[std::size_t(row)].first, &dialog);
    key->setFont(scaledFont(dialog.font(), 1, QFont::DemiBold));
    grid->addWidget(key, row, 0);
    grid->addWidget(new QLabel(keys[std::size_t(row)].second, &dialog), row, 1);
  }
  dialog.exec();
}

}  // namespace satchel::ui
