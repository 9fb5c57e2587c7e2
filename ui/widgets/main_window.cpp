#include "ui/widgets/main_window.h"

#include <QCloseEvent>
#include <QDesktopServices>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QMimeData>
#include <QPushButton>
#include <QShortcut>
#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "ui/model/chat_finder.h"
#include "ui/model/document_file.h"
#include "ui/model/engine_values.h"
#include "ui/model/format.h"
#include "ui/model/tour.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/chat_list_panel.h"
#include "ui/widgets/chat_settings_dialog.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/conversation/conversation_view.h"
#include "ui/widgets/conversation/held_strip.h"
#include "ui/widgets/empty_state.h"
#include "ui/widgets/find_bar.h"
#include "ui/widgets/held_bar.h"
#include "ui/widgets/logo.h"
#include "ui/widgets/memory/ledger_dialog.h"
#include "ui/widgets/memory/memory_panel.h"
#include "ui/widgets/models_dialog.h"
#include "ui/widgets/notice_column.h"
#include "ui/widgets/progress_strip.h"
#include "ui/widgets/prompts_dialog.h"
#include "ui/widgets/question_card.h"
#include "ui/widgets/quote_dialog.h"
#include "ui/widgets/server_dialog.h"
#include "ui/widgets/shortcuts_dialog.h"

namespace satchel::ui {
namespace {

constexpr int kColumnMax = 740;  // the input box is as wide as the messages

bool isModelFile(const QString& path) {
  return path.endsWith(QStringLiteral(".gguf"), Qt::CaseInsensitive);
}

// Keeps its child in the middle, no wider than a line that is easy to read.
QHBoxLayout* centred(QWidget* child) {
  auto* row = new QHBoxLayout;
  row->setContentsMargins(kGapHuge, 0, kGapHuge, 0);
  child->setMaximumWidth(kColumnMax);
  row->addWidget(child, 1);
  return row;
}

}  // namespace

MainWindow::MainWindow(AppState* state, const WindowOptions& options, QWidget* parent)
    : QMainWindow(parent),
      m_state(state),
      m_options(options),
      m_columns(new QSplitter(Qt::Horizontal, this)),
      m_chats(new ChatListPanel(state, this)),
      m_memory(new MemoryPanel(state->memory(), this)) {
  setWindowTitle(QStringLiteral("Satchel"));
  setWindowIcon(logoIcon());
  setAcceptDrops(true);
  m_columns->setHandleWidth(1);
  m_columns->addWidget(m_chats);
  m_columns->addWidget(makeCentre());
  m_columns->addWidget(m_memory);
  m_columns->setStretchFactor(1, 1);
  m_columns->setCollapsible(1, false);
  m_columns->setSizes({236, 690, 338});
  setCentralWidget(m_columns);
  resize(1280, 860);
  connectState();
  addShortcuts();
  refreshPhase();
  refreshChat();
  m_composer->setFocus();
}

QWidget* MainWindow::makeCentre() {
  auto* centre = new QWidget(this);
  centre->setAutoFillBackground(true);
  centre->setBackgroundRole(QPalette::Base);
  m_empty = new EmptyState(centre);
  m_conversation = new ConversationView(centre);
  m_conversation->setConversation(m_state->conversation());
  m_heldBar = new HeldBar(centre);
  m_findBar = new FindBar(new ChatFinder(m_state->conversation(), this), centre);
  m_heldStrip = new HeldStrip(m_conversation);
  m_stack = new QStackedWidget(centre);
  m_stack->addWidget(m_empty);
  m_stack->addWidget(m_conversation);
  auto* notices = new NoticeColumn(m_stack, centre);
  m_banner = new Banner(notices);
  m_resume = new Banner(notices);
  m_deviceNote = new Banner(notices);
  for (Banner* notice : {m_deviceNote, m_banner, m_resume}) notices->add(notice);
  notices->setRoom([this] {
    return m_stack->currentWidget() == m_conversation ? m_conversation->roomBelow() : 0;
  });
  connect(notices, &NoticeColumn::topCovered, m_conversation, &ConversationView::setHead);
  connect(m_conversation, &ConversationView::roomChanged, notices, &NoticeColumn::place);
  connect(m_stack, &QStackedWidget::currentChanged, notices, &NoticeColumn::place);
  m_progress = new ProgressStrip(centre);
  m_progress->hide();
  m_question = new QuestionCard(tr("Go on"), tr("Stop here"), centre);
  m_tourCard = new QuestionCard(QString(), tr("End the tour"), centre);
  m_named = new Banner(centre);
  m_editing = new Banner(centre);
  m_placed = new Banner(centre);
  m_composer = new Composer(centre);
  auto* column = new QVBoxLayout(centre);
  column->setContentsMargins(0, 0, 0, kGapLarge);
  column->setSpacing(kGap);
  column->addWidget(makeHeader());
  column->addLayout(centred(m_heldBar));
  column->addLayout(centred(m_findBar));
  column->addWidget(m_stack, 1);
  column->addLayout(centred(m_progress));
  column->addLayout(centred(m_question));
  column->addLayout(centred(m_tourCard));
  column->addLayout(centred(m_named));
  column->addLayout(centred(m_placed));
  column->addLayout(centred(m_editing));
  column->addLayout(centred(m_composer));
  connect(m_empty, &EmptyState::sampleAsked, this, &MainWindow::attachSample);
  connect(m_empty, &EmptyState::attachAsked, this, &MainWindow::chooseDocument);
  connect(m_empty, &EmptyState::modelAsked, this, &MainWindow::chooseModelFile);
  connect(m_state, &AppState::messageWanted, m_conversation, &ConversationView::showRow);
  connect(m_composer, &Composer::attachAsked, this, &MainWindow::chooseDocument);
  connect(m_composer, &Composer::sent, m_state, &AppState::send);
  connect(m_composer, &Composer::edited, m_state, &AppState::noteTyping);
  connect(m_composer, &Composer::stopAsked, m_state, &AppState::stop);
  connect(m_composer, &Composer::thinkingSwitched, m_state, &AppState::setThinking);
  connect(m_conversation, &ConversationView::linkOpened, this,
          [](const QUrl& address) { QDesktopServices::openUrl(address); });
  return centre;
}

void MainWindow::connectState() {
  connect(m_state, &AppState::phaseChanged, this, &MainWindow::refreshPhase);
  connect(m_state, &AppState::chatChanged, this, &MainWindow::refreshChat);
  connect(m_state, &AppState::progressChanged, this, [this] {
    m_progress->setProgress(m_state->reading().share(), m_state->reading().text());
  });
  connect(m_state, &AppState::resumeChanged, this, &MainWindow::refreshResume);
  connect(m_state, &AppState::errorShown, m_banner, &Banner::showError);
  connect(m_state, &AppState::workBegun, m_banner, &Banner::dropError);
  connect(m_state, &AppState::noticeShown, m_banner, &Banner::showNotice);
  connect(m_state, &AppState::textRefused, m_composer, &Composer::giveBack);
  connect(m_state->memory(), &MemoryPanelState::changed, this, &MainWindow::refreshPacking);
  connect(m_resume, &Banner::closed, m_state, &AppState::dismissResume);
  connect(m_memory, &MemoryPanel::newChatAsked, this, [this] {
    m_state->newChat();
    m_composer->setFocus();
  });
  connect(m_memory, &MemoryPanel::ledgerAsked, this, &MainWindow::showLedger);
  connect(m_state->conversation(), &QAbstractItemModel::rowsInserted, this,
          &MainWindow::refreshChat);
  connectBeyond();
  connectVersions();
  connectQuotes();
  connectHeld();
  connectPacked();
  connectFind();
  connectSettings();
  connectModels();
  connectServer();
  connectShelf();
  connectOffers();
  connectTour();
}

void MainWindow::addShortcuts() {
  const auto add = [this](const QKeySequence& keys, auto&& action) {
    auto* shortcut = new QShortcut(keys, this);
    connect(shortcut, &QShortcut::activated, this, action);
  };
  add(QKeySequence(Qt::CTRL | Qt::Key_N), [this] {
    m_state->newChat();
    m_composer->setFocus();
  });
  add(QKeySequence(Qt::CTRL | Qt::Key_T), [this] { m_conversation->toggleLastThoughts(); });
  add(QKeySequence(Qt::CTRL | Qt::Key_K), [this] {
    m_chats->show();
    m_chats->focusFilter();
  });
  add(QKeySequence(Qt::CTRL | Qt::Key_B), [this] { m_chats->setVisible(m_chats->isHidden()); });
  add(QKeySequence(Qt::CTRL | Qt::Key_M), [this] { m_memory->setVisible(m_memory->isHidden()); });
  add(QKeySequence(Qt::CTRL | Qt::Key_O), [this] { chooseDocument(); });
  add(QKeySequence(Qt::CTRL | Qt::Key_L), [this] { showLedger(); });
  add(QKeySequence(Qt::Key_F1), [this] { showShortcuts(this); });
  add(QKeySequence(Qt::Key_Escape), [this] { escape(); });
}

void MainWindow::escape() {
  if (m_state->canStop()) {
    m_tour->end();
    m_state->stop();
  } else if (m_findBar->isVisible()) {
    m_findBar->close();
  } else if (m_composer->isEditing()) {
    m_composer->endEdit();
  } else if (m_tour->isOn()) {
    m_tour->end();
  } else if (m_deviceNote->isVisible()) {
    m_deviceNote->hide();
  } else if (!m_banner->hasAction()) {  // what is offered there may not come again
    m_banner->hide();
  }
}

void MainWindow::chooseModelFile() {
  const QString path = QFileDialog::getOpenFileName(this, tr("Open a model"), {},
                                                    tr("GGUF models (*.gguf);;All files (*)"));
  if (!path.isEmpty()) m_state->openModel(path);
}

void MainWindow::chooseDocument() {
  if (!m_state->canSend()) return;
  const QString endings =
      QStringLiteral("*.") + m_state->documentEndings().join(QStringLiteral(" *."));
  const QStringList paths = QFileDialog::getOpenFileNames(this, tr("Attach documents"), {},
                                                          tr("Documents (%1)").arg(endings));
  for (const QString& path : paths) m_state->attachFile(path);
}

void MainWindow::attachSample() {
  m_composer->edit()->setPlaceholderText(tr("For example: %1").arg(m_options.sampleQuestion));
  m_state->attachDocument(m_options.sampleTitle, m_options.sampleText);
  m_composer->setFocus();
}

void MainWindow::showLedger() {
  if (!m_ledger) m_ledger = new LedgerDialog(m_state->memory(), this);
  m_ledger->show();
  m_ledger->raise();
  m_ledger->activateWindow();
}

void MainWindow::refreshPhase() {
  using Phase = AppState::Phase;
  const Phase phase = m_state->phase();
  refreshSending();
  m_composer->setThinkingSwitch(m_state->model().has_thinking_switch);
  m_composer->setAnswers(m_state->model().has_chat_template);
  const bool shows = phase == Phase::Reading || phase == Phase::Opening ||
                     phase == Phase::Applying || phase == Phase::Loading;
  m_progress->setVisible(shows);
  const QString text = phase == Phase::Reading    ? tr("Reading…")
                       : phase == Phase::Opening  ? tr("Opening chat…")
                       : phase == Phase::Applying ? tr("Applying the memory settings…")
                                                  : tr("Loading model…");
  m_progress->setProgress(-1, text);
  const QString model = textOf(m_state->model().title);
  m_model->setText((model.isEmpty() ? tr("No model") : model) + QStringLiteral("  ▾"));
  m_model->setToolTip(m_state->modelNote());
  m_device->setText(m_state->deviceName());
  m_device->setVisible(!m_state->deviceName().isEmpty());
  m_device->setToolTip(tipText(m_state->deviceNote()));
  m_device->setAccessibleName(m_state->deviceNote());
  if (m_deviceNote->text() != m_state->deviceNote()) m_deviceNote->hide();
  m_empty->setModel(model, phase == Phase::Loading, !m_options.sampleText.isEmpty());
  m_empty->setTour(m_tour->canBegin() && phase != Phase::Loading);
  m_empty->setNote(phase == Phase::Loading ? QString() : m_state->modelNote());
}

void MainWindow::refreshChat() {
  const bool hasMessages = m_state->conversation()->rowCount() > 0;
  m_stack->setCurrentWidget(hasMessages ? static_cast<QWidget*>(m_conversation) : m_empty);
  const QString title = m_state->chat().title;
  m_title->setText(title.isEmpty() ? tr("New chat") : title);
  setWindowTitle(title.isEmpty() ? QStringLiteral("Satchel") : title + tr(" – Satchel"));
}

void MainWindow::refreshPacking() {
  m_packing->setVisible(m_state->memory()->isPacking() || m_state->memory()->isLearning());
  m_packing->setText(m_state->memory()->packingText());
}

void MainWindow::refreshResume() {
  const ResumeState& resume = m_state->resume();
  switch (resume.kind) {
    case ResumeState::Hidden:
      m_resume->hide();
      break;
    case ResumeState::Reused:
      m_resume->showGood(resume.text);
      break;
    case ResumeState::PartlyReread:
    case ResumeState::Reread:
    case ResumeState::TooLong:
      m_resume->showNotice(resume.text);
      break;
  }
}

void MainWindow::openAnything(const QStringList& paths) {
  for (const QString& path : paths) {
    if (isModelFile(path)) {
      m_state->openModel(path);
    } else {
      m_state->attachFile(path);
    }
  }
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  const auto urls = event->mimeData()->urls();
  const bool takes = std::any_of(urls.begin(), urls.end(), [this](const QUrl& url) {
    return url.isLocalFile() &&
           (isModelFile(url.toLocalFile()) || m_state->takesDocument(url.toLocalFile()));
  });
  if (takes) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  QStringList paths;
  for (const QUrl& url : event->mimeData()->urls())
    if (url.isLocalFile()) paths.append(url.toLocalFile());
  event->acceptProposedAction();
  openAnything(paths);
}

void MainWindow::closeEvent(QCloseEvent* event) {
  m_state->leave();
  event->accept();
}

}  // namespace satchel::ui
