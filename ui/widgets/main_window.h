// MainWindow: places the three columns and leads keys, menus and drops to AppState.
#pragma once

#include <QMainWindow>
#include <QPointer>
#include <functional>

#include "ui/model/app_state.h"
#include "ui/model/language.h"
#include "ui/model/model_library.h"
#include "ui/widgets/theme.h"

class QAction;
class QLabel;
class QMenu;
class QPushButton;
class QSplitter;
class QStackedWidget;

namespace satchel::ui {

class Banner;
class ChatFinder;
class ChatListPanel;
class ChatSettingsDialog;
class Composer;
class ConversationView;
class EmptyState;
class FindBar;
class HeldBar;
class HeldStrip;
class IconButton;
class LedgerDialog;
class MemoryPanel;
class ModelsDialog;
class ProgressStrip;
class PromptsDialog;
class QuestionCard;
class QuoteDialog;
class ServerDialog;
class ServerSwitch;
class Tour;

struct WindowOptions {
  std::function<QList<ModelChoice>()> models;  // looked up when the picker opens
  ModelTools modelTools;                       // of the model library; its list is `models`
  QString serverProgram;                       // satchel; empty: there is none
  QString modelFolder;                         // where a user puts own models; for a text
  QString sampleTitle, sampleText;             // a document to try; empty: there is none
  QString sampleQuestion;                      // what it answers
  QString tourModel;  // that the tour reads it with; empty: the one that is open
  Appearance appearance = Appearance::System;
  Language language = Language::System;  // as chosen; shown: applyLanguage()
};

class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  // state: not owned
  MainWindow(AppState* state, const WindowOptions& options, QWidget* parent = nullptr);

  void openAnything(const QStringList& paths);  // models and documents, as dropped
  Composer* composer() { return m_composer; }
  ConversationView* conversation() { return m_conversation; }
  Banner* banner() { return m_banner; }
  Banner* resumeChip() { return m_resume; }
  Banner* deviceNote() { return m_deviceNote; }
  Banner* namedChip() { return m_named; }
  Banner* editingChip() { return m_editing; }
  Banner* placedChip() { return m_placed; }
  HeldBar* heldBar() { return m_heldBar; }
  FindBar* findBar() { return m_findBar; }
  QuestionCard* question() { return m_question; }
  QuestionCard* tourCard() { return m_tourCard; }
  ProgressStrip* progress() { return m_progress; }
  EmptyState* emptyState() { return m_empty; }

 Q_SIGNALS:
  void appearanceChosen(satchel::ui::Appearance appearance);
  void languageChosen(satchel::ui::Language language);

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void closeEvent(QCloseEvent* event) override;

 private:
  QWidget* makeCentre();
  QWidget* makeHeader();
  void connectState();
  void connectBeyond();
  void connectVersions();
  void connectQuotes();
  void connectHeld();
  void connectPacked();
  void showPinMenu(const QPoint& global);
  void connectServer();
  void refreshServer();
  void showServer();
  void connectModels();
  void showLibrary();
  void connectSettings();
  void showChatSettings();
  void showPrompts();
  void connectFind();
  void findInChat();
  void exportChat(ChatKey chat, const QString& title);
  void refreshHeld();
  void showQuote(int row, int quote);  // row -1: there is none
  void replace(int row);
  void refreshEditing();
  void refreshPlaced();
  void addShortcuts();
  void addMoreActions(QMenu& menu);
  void showMore();
  void showModels();
  void showDevice();
  void addAppearances(QMenu& menu);
  void addLanguages(QMenu& menu);
  void chooseModelFile();
  void chooseDocument();
  void attachSample();
  void connectShelf();
  void connectOffers();
  void connectTour();
  void refreshTour();
  void showMemoryIfItFits();
  // Beside what the banner says; done when it is chosen there.
  void offer(const QString& label, std::function<void()> action);
  void showShelf(const runtime::ShelfListed& shelf);
  void showLedger();
  void refreshPhase();
  void refreshChat();
  void refreshPacking();
  void refreshResume();
  void addPartsActions();
  void refreshSending();
  void showParts(const runtime::OlderParts& parts);
  void askAllParts(const QString& question);
  void escape();

  AppState* m_state;
  WindowOptions m_options;
  QSplitter* m_columns;
  ChatListPanel* m_chats;
  MemoryPanel* m_memory;
  QLabel* m_title = nullptr;
  QLabel* m_packing = nullptr;
  QPushButton* m_model = nullptr;
  QPushButton* m_device = nullptr;
  QPushButton* m_serving = nullptr;  // while the server runs
  IconButton* m_foldChats = nullptr;
  IconButton* m_foldMemory = nullptr;
  IconButton* m_held = nullptr;
  IconButton* m_more = nullptr;
  HeldBar* m_heldBar = nullptr;
  FindBar* m_findBar = nullptr;
  HeldStrip* m_heldStrip = nullptr;
  Banner* m_banner = nullptr;
  std::function<void()> m_offered;
  Banner* m_resume = nullptr;
  Banner* m_deviceNote = nullptr;
  QStackedWidget* m_stack = nullptr;
  EmptyState* m_empty = nullptr;
  ConversationView* m_conversation = nullptr;
  ProgressStrip* m_progress = nullptr;
  Composer* m_composer = nullptr;
  QuestionCard* m_question = nullptr;
  Tour* m_tour = nullptr;
  QuestionCard* m_tourCard = nullptr;
  Banner* m_named = nullptr;
  Banner* m_editing = nullptr;
  Banner* m_placed = nullptr;
  std::size_t m_placedShown = 0;  // tokens
  QAction* m_showParts = nullptr;
  QAction* m_askAllParts = nullptr;
  bool m_isShelfAsked = false;
  // The answer whose parts were asked for, and where they are shown; -1: none.
  int m_partsRow = -1;
  QPoint m_partsPlace;
  QPointer<LedgerDialog> m_ledger;  // null: it is not open
  QPointer<QuoteDialog> m_quotes;   // likewise
  ServerSwitch* m_server = nullptr;
  QPointer<ServerDialog> m_serverDialog;
  ModelLibrary* m_library = nullptr;
  QPointer<ModelsDialog> m_models;
  QPointer<ChatSettingsDialog> m_settings;
  QPointer<PromptsDialog> m_prompts;
};

}  // namespace satchel::ui
