// The head of the window: title, model, device and what their buttons open.
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QPainter>
#include <QPushButton>
#include <utility>

#include "ui/model/answer_settings_text.h"
#include "ui/model/engine_values.h"
#include "ui/model/format.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/chat_list_panel.h"
#include "ui/widgets/conversation/conversation_view.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/main_window.h"
#include "ui/widgets/memory/memory_panel.h"
#include "ui/widgets/shortcuts_dialog.h"

namespace satchel::ui {
namespace {

// A menu takes a single & for the key of an entry.
QString menuText(QString text) {
  return text.replace(u'&', QStringLiteral("&&"));
}

// A title that is too long ends in three dots.
class TitleLabel final : public QLabel {
 public:
  using QLabel::QLabel;

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(rect(), Qt::AlignLeft | Qt::AlignVCenter,
                     fontMetrics().elidedText(text(), Qt::ElideRight, width()));
  }
};

}  // namespace

QWidget* MainWindow::makeHeader() {
  auto* header = new QWidget(this);
  m_foldChats = new IconButton(Icon::Sidebar, tr("Show or hide the chat list (Ctrl+B)"), header);
  m_foldMemory = new IconButton(Icon::Panel, tr("Show or hide the memory panel (Ctrl+M)"), header);
  m_held = new IconButton(
      Icon::Held, tr("Show how the words are held and what the answer looked at (Ctrl+H)"), header);
  m_held->setCheckable(true);
  m_more = new IconButton(Icon::More, tr("More (F10)"), header);
  m_title = new TitleLabel(header);
  m_title->setTextFormat(Qt::PlainText);
  m_title->setFont(scaledFont(font(), 1.05, QFont::DemiBold));
  m_title->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  m_packing = new QLabel(header);
  m_packing->setObjectName(QStringLiteral("packing"));
  m_packing->setFont(scaledFont(font(), 0.92));
  m_packing->setToolTip(
      tr("Older text is read and compressed in the background. This pauses while you type."));
  m_packing->hide();
  m_device = new QPushButton(header);
  m_device->setObjectName(QStringLiteral("quiet"));
  m_device->setCursor(Qt::PointingHandCursor);
  m_device->setFont(scaledFont(font(), 0.92));
  m_serving = new QPushButton(tr("Server"), header);
  m_serving->setObjectName(QStringLiteral("quiet"));
  m_serving->setCursor(Qt::PointingHandCursor);
  m_serving->setFont(scaledFont(font(), 0.92));
  m_model = new QPushButton(header);
  m_model->setObjectName(QStringLiteral("quiet"));
  m_model->setCursor(Qt::PointingHandCursor);
  m_model->setAccessibleName(tr("Model"));
  auto* row = new QHBoxLayout(header);
  row->setContentsMargins(kGap + 2, kGap, kGap + 2, kGap);
  row->setSpacing(kGapSmall);
  row->addWidget(m_foldChats);
  row->addSpacing(kGapSmall);
  row->addWidget(m_title, 1);
  row->addWidget(m_packing);
  row->addSpacing(kGap);
  row->addWidget(m_model);
  row->addWidget(m_device);
  row->addWidget(m_serving);
  row->addSpacing(kGapSmall);
  row->addWidget(m_held);
  row->addWidget(m_more);
  row->addWidget(m_foldMemory);
  connect(m_foldChats, &QAbstractButton::clicked, this,
          [this] { m_chats->setVisible(m_chats->isHidden()); });
  connect(m_foldMemory, &QAbstractButton::clicked, this,
          [this] { m_memory->setVisible(m_memory->isHidden()); });
  connect(m_model, &QAbstractButton::clicked, this, &MainWindow::showModels);
  connect(m_device, &QAbstractButton::clicked, this, &MainWindow::showDevice);
  connect(m_more, &QAbstractButton::clicked, this, &MainWindow::showMore);
  return header;
}

// What keys do as well; what cannot be done now is grey.
void MainWindow::addMoreActions(QMenu& menu) {
  const bool hasMessages = m_state->conversation()->rowCount() > 0;
  const bool hasModel = !m_state->model().path.empty();
  const auto add = [&](const QString& name, const QKeySequence& keys, bool can, auto&& act) {
    QAction* action = menu.addAction(name, this, std::forward<decltype(act)>(act));
    action->setShortcut(keys);
    action->setEnabled(can);
  };
  add(tr("Find in this chat"), QKeySequence::Find, hasMessages, [this] { findInChat(); });
  add(tr("Copy the last answer"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C), hasMessages,
      [this] { m_conversation->copyLastAnswer(); });
  add(tr("Export this chat…"), QKeySequence(Qt::CTRL | Qt::Key_S), m_state->chat().id != 0,
      [this] { exportChat(m_state->chat().id, m_state->chat().title); });
  menu.addSeparator();
  add(tr("Chat settings…"), QKeySequence(Qt::CTRL | Qt::Key_Comma), hasModel,
      [this] { showChatSettings(); });
  if (const QString now = answersText(m_state->answers()); hasModel && !now.isEmpty())
    menu.addAction(now)->setEnabled(false);
  add(tr("Models…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_M), true,
      [this] { showLibrary(); });
  add(tr("Server…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S), true,
      [this] { showServer(); });
  add(tr("Saved prompts…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_P), true,
      [this] { showPrompts(); });
}

void MainWindow::showMore() {
  QMenu menu(this);
  addMoreActions(menu);
  menu.addSeparator();
  addAppearances(menu);
  addLanguages(menu);
  menu.addSeparator();
  QAction* keys = menu.addAction(tr("Keyboard shortcuts…"), this, [this] { showShortcuts(this); });
  keys->setShortcut(Qt::Key_F1);
  menu.exec(m_more->mapToGlobal(QPoint(0, m_more->height())));
}

void MainWindow::showModels() {
  QMenu menu(this);
  for (const ModelChoice& choice : m_options.models ? m_options.models() : QList<ModelChoice>()) {
    QAction* action =
        menu.addAction(tr("%1   %2").arg(menuText(choice.title), formatBytes(choice.bytes)), this,
                       [this, path = choice.path] { m_state->openModel(path); });
    action->setCheckable(true);
    action->setChecked(choice.path == textOf(m_state->model().path));
  }
  menu.addSeparator();
  menu.addAction(tr("Models…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_M), this,
                 &MainWindow::showLibrary);
  menu.addAction(tr("Open model file…"), this, &MainWindow::chooseModelFile);
  if (!m_options.modelFolder.isEmpty())
    menu.addAction(tr("Model folder: %1").arg(menuText(m_options.modelFolder)))->setEnabled(false);
  if (!m_state->deviceName().isEmpty())
    menu.addAction(tr("Runs on the %1…").arg(m_state->deviceName()), this, &MainWindow::showDevice);
  menu.exec(m_model->mapToGlobal(QPoint(0, m_model->height())));
}

// In full, where it wraps and can be copied: why it is not the GPU may take some lines. Beside an
// error, which may offer something.
void MainWindow::showDevice() {
  m_deviceNote->showNotice(m_state->deviceNote());
}

void MainWindow::addAppearances(QMenu& menu) {
  QMenu* looks = menu.addMenu(tr("Appearance"));
  const auto add = [this, looks](const QString& name, Appearance appearance) {
    QAction* action = looks->addAction(name, this, [this, appearance] {
      m_options.appearance = appearance;
      Q_EMIT appearanceChosen(appearance);
    });
    action->setCheckable(true);
    action->setChecked(m_options.appearance == appearance);
  };
  add(tr("System"), Appearance::System);
  add(tr("Light"), Appearance::Light);
  add(tr("Dark"), Appearance::Dark);
}

// Each language by its own name, for who does not read the one that is shown.
void MainWindow::addLanguages(QMenu& menu) {
  QMenu* languages = menu.addMenu(tr("Language"));
  const auto add = [this, languages](const QString& name, Language language) {
    QAction* action = languages->addAction(name, this, [this, language] {
      if (std::exchange(m_options.language, language) == language) return;
      Q_EMIT languageChosen(language);
      m_banner->showNotice(tr("The language changes when you start Satchel again."));
    });
    action->setCheckable(true);
    action->setChecked(m_options.language == language);
  };
  add(tr("System"), Language::System);
  add(QStringLiteral("English"), Language::English);
  add(QStringLiteral("Deutsch"), Language::German);
  add(QStringLiteral("Français"), Language::French);
}

}  // namespace satchel::ui
