// Renders the main states of the window to PNG files, to be looked at.
//   render_states FOLDER [light|dark] [en|de|fr]
//   exit code  1 if a text is cut off or meets another one, 2 without a folder
#include <QApplication>
#include <QDialog>
#include <QDir>
#include <QFontDatabase>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QTest>
#include <cstdio>
#include <functional>

#include "dialog_scenes.h"
#include "scenes.h"
#include "shown_text.h"
#include "ui/model/language.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/chat_list_panel.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/empty_state.h"
#include "ui/widgets/memory/memory_panel.h"
#include "ui/widgets/popup.h"
#include "ui/widgets/theme.h"

namespace {

using namespace satchel::ui;
using namespace Qt::StringLiterals;
using satchel::ErrorKind;
using satchel::runtime::ChatTask;

constexpr auto kReading = satchel::runtime::Phase::read_prompt;

void showEmpty(Scene& scene) {
  addChats(scene);
  scene.openModel();
}

// A base model: it has no chat template.
void showBase(Scene& scene) {
  scene.engine.script.model.title = "gemma-3-270m-q4_k_m";
  scene.engine.script.model.has_chat_template = false;
  showEmpty(scene);
}

void showReading(Scene& scene) {
  addChats(scene);
  scene.openModel();
  for (const std::size_t done : {0u, 512u, 1204u})
    scene.engine.script.progress.append({satchel::runtime::Phase::read_prompt, done, 3912});
  scene.state.attachDocument(u"field-notes-week-14.md"_s, sampleDocument());
  for (int i = 0; i < 5; ++i) {
    scene.clock.steady += 900;
    scene.engine.play();
  }
}

void showSearch(Scene& scene) {
  openSample(scene, u"balanced"_s);
  scene.state.dismissResume();
  auto* panel = scene.window->findChild<ChatListPanel*>();
  panel->filter()->setText(u"key"_s);
  scene.state.search(u"key"_s);
  const auto found = [](const char* chat, const std::string& passage) {
    satchel::runtime::Found one;
    one.chat = {1};
    one.chat_name = chat;
    one.message = {1};
    one.passage = passage;
    const std::size_t at = passage.find("key");
    one.hits = {{at, at + 3}};
    return one;
  };
  scene.engine.tell(satchel::runtime::PassagesFound{
      "key",
      {found("Field notes, week 14", "Mara asked for the spare key on Tuesday"),
       found("Letter to the archive", "the key to the map room hangs behind the door"),
       found("What the harbour office wrote about the new moorings", "no key is needed")}});
}

// Of a chat with two versions of a question and three of its answer; the first one is edited.
void showVersions(Scene& scene) {
  openSample(scene, u"balanced"_s);
  scene.state.dismissResume();
  scene.engine.tell(satchel::runtime::MessagesReplaced{{0}, {}});
  const auto said = [&](qint64 id, satchel::runtime::Role role, const char* text) {
    satchel::runtime::StoredMessage message;
    message.id = {id};
    message.role = role;
    message.text = text;
    scene.engine.tell(message);
  };
  using satchel::runtime::Role;
  said(1, Role::user, "Where is the spare key?");
  said(2, Role::assistant, "In the **blue tin** behind the stove, since Tuesday.");
  said(5, Role::user, "And who has the other one? Say where the notes have it from.");
  said(9, Role::assistant,
       "Estelle Ibarra has it. The notes of 14 March say that she took it along to the harbour "
       "office, and nobody wrote that it came back.");
  scene.engine.tell(satchel::runtime::VersionsChanged{{{{5}, {{3}, {5}}}, {{9}, {{6}, {8}, {9}}}}});
  Scene::settle();
  scene.window->composer()->beginEdit(1, u"Where are the spare keys?"_s);
}

void showConversation(Scene& scene) {
  openSample(scene, u"compact"_s);
  scene.state.dismissResume();
}

void showStreaming(Scene& scene) {
  openSample(scene, u"balanced"_s);
  scene.engine.script.progress.clear();
  scene.engine.script.deltas = {u"Yes. "_s, u"The archive room's code was changed on "_s,
                                u"**Tuesday** and is now `4417`. "_s, u"Bring "_s, u"the "_s};
  scene.state.send(u"Was the code of the archive room changed?"_s);
  scene.engine.play(6);
}

// One answer's thoughts are open, those of the last one folded.
void showThoughts(Scene& scene) {
  scene.engine.script.model.has_thinking_switch = true;
  openSample(scene, u"compact"_s);
  scene.state.dismissResume();
  scene.engine.script.thoughts = {
      u"The user asks about the archive room. The notes of week 14 say that the code was changed "
      u"on "
      "Tuesday, and that it is 4417 now.\n\nThere is no other mention of the room, so that is the "
      "newest I know. I should say when it was changed as well."_s};
  scene.engine.script.answer.thoughts.n_tokens = 61;
  scene.engine.script.answer.thoughts.ms = 1480;
  scene.engine.script.answer.ms = 2010;
  scene.engine.script.deltas = {u"Yes, "_s, u"on **Tuesday**. "_s, u"It is `4417` now."_s};
  scene.state.send(u"Was the code of the archive room changed?"_s);
  scene.engine.playAll();
  ConversationModel* conversation = scene.state.conversation();
  conversation->setThoughtsOpen(conversation->rowCount() - 1, true);
  scene.engine.script.thoughts = {u"The spare key again: blue tin, behind the stove."_s};
  scene.engine.script.answer.thoughts.n_tokens = 14;
  scene.engine.script.answer.thoughts.ms = 360;
  scene.engine.script.answer.ms = 800;
  scene.engine.script.deltas = {u"In the "_s, u"blue tin "_s, u"behind the stove."_s};
  scene.state.send(u"And the key?"_s);
  scene.engine.playAll();
}

// In the middle of it.
void showThinking(Scene& scene) {
  scene.engine.script.model.has_thinking_switch = true;
  openSample(scene, u"compact"_s);
  scene.state.dismissResume();
  scene.engine.script.thoughts = {u"The user asks about the archive room. "_s, u"The notes "_s};
  scene.state.send(u"Was the code of the archive room changed?"_s);
  scene.engine.play(4);
}

void showExtreme(Scene& scene) {
  openSample(scene, u"extreme"_s);
  scene.state.dismissResume();
  scene.state.memory()->setPresetIndex(1);
}

void showPacking(Scene& scene) {
  openSample(scene, u"compact"_s);
  scene.state.dismissResume();
  scene.engine.script.packing = {samplePacking(40, 4218), samplePacking(60, 4218)};
  scene.engine.play();
}

// Lets the sliders rest, and what they would do be answered.
void plan(Scene& scene, const satchel::runtime::MemoryChange& change, int preset, quint64 limit) {
  scene.engine.script.change = change;
  scene.engine.script.ledger = sampleLedger(scene.clock.wall);
  scene.state.memory()->plan()->setRest(std::chrono::milliseconds(0));
  scene.state.memory()->setPresetIndex(preset);
  if (limit > 0) scene.state.memory()->setBudgetBytes(limit);
  Scene::settle();
  scene.engine.playAll();
}

void showPlan(Scene& scene) {
  openSample(scene, u"full"_s);
  scene.state.dismissResume();
  plan(scene, sampleLoss(), 2, 0);
}

void showReread(Scene& scene) {
  openSample(scene, u"compact"_s);
  scene.state.dismissResume();
  plan(scene, sampleReread(4218), 0, 0);
}

void showTooSmall(Scene& scene) {
  openSample(scene, u"compact"_s);
  scene.state.dismissResume();
  satchel::runtime::MemoryChange change;
  change.fits = false;
  change.limit_least = 21'300'000;
  plan(scene, change, 2, 15'000'000);
}

void showApplying(Scene& scene) {
  showReread(scene);
  scene.engine.script.progress = {{satchel::runtime::Phase::read_prompt, 0, 4218},
                                  {satchel::runtime::Phase::read_prompt, 1204, 4218}};
  scene.state.memory()->plan()->apply();
  for (int i = 0; i < 2; ++i) {
    scene.clock.steady += 9'000;
    scene.engine.play();
  }
}

// Memory was reclaimed while it answered; the panel is scrolled to the figures.
void showReclaimed(Scene& scene) {
  showPackedCard(scene);
  auto* panel = scene.window->findChild<MemoryPanel*>();
  panel->verticalScrollBar()->setValue(panel->verticalScrollBar()->maximum());
}

void showLedger(Scene& scene) {
  openSample(scene, u"compact"_s);
  scene.engine.script.ledger = sampleLedger(scene.clock.wall);
  satchel::runtime::LedgerEntry moved = scene.engine.script.ledger.entries.back();
  moved.cause = satchel::runtime::LedgerCause::corrected;
  moved.n_lowered = moved.n_evicted = 0;
  moved.reuse = {.n_tokens = 3812, .n_read = 168, .ms = 900, .reading_ms = 14'000};
  scene.engine.script.ledger.entries.push_back(moved);
  scene.engine.tellLedger();
  QTest::keyClick(scene.window.get(), Qt::Key_L, Qt::ControlModifier);
}

void showError(Scene& scene) {
  openSample(scene, u"full"_s);
  scene.state.dismissResume();
  scene.state.showError(
      u"CACHE_FULL"_s,
      u"The memory limit of 210 MB is reached after 8,112 tokens. The message is saved and was not "
      "read. Begin a new chat with a smaller preset or a higher limit."_s);
  scene.window->composer()->edit()->setPlainText(
      u"A long message that I had begun to write,\nwhich has more than one line\nand stays."_s);
}

// The model of a saved chat is not there any more.
void showUnopened(Scene& scene) {
  addChats(scene);
  const ChatKey chat = addSample(scene, u"compact"_s);
  scene.openModel();
  scene.engine.script.errors.append(
      {ChatTask::open_chat,
       {ErrorKind::not_found, "MODEL_MISSING",
        "This chat uses the model \"/models/field-7b-q4_k_m.gguf\", which is no longer there. The "
        "chat is kept. Put the file back to continue it."}});
  scene.state.openChat(chat);
  scene.engine.playAll();
}

void showGpuLost(Scene& scene) {
  scene.engine.script.model.device = "NVIDIA GeForce RTX 4090";
  scene.engine.script.model.on_gpu = true;
  openSample(scene, u"compact"_s);
  scene.state.dismissResume();
  scene.engine.script.errors.append(
      {ChatTask::send,
       {ErrorKind::invalid, "GPU_LOST",
        "The GPU stopped (cudaErrorIllegalAddress: an illegal memory access was encountered). "
        "Saved chats are whole. Restart the program to use the GPU again, or go on with the cpu "
        "backend."},
       true});
  scene.state.send(u"Was the code of the archive room changed?"_s);
  scene.engine.playAll();
}

// After a click on "CPU": why it is not the GPU, in full.
void showDevice(Scene& scene) {
  scene.engine.script.model.gpu_fallback_reason =
      "NVIDIA's driver is too old: it is for CUDA 11.8, this build needs 13.0. Install driver 580 "
      "or newer; until then the cpu backend does the work. [GPU_DRIVER]";
  addChats(scene);
  scene.openModel();
  for (QPushButton* button : scene.window->findChildren<QPushButton*>())
    if (button->text() == u"CPU"_s) button->click();
}

// After a click on "GPU" there: what the error offers stays.
void showDeviceOfLost(Scene& scene) {
  showGpuLost(scene);
  for (QPushButton* button : scene.window->findChildren<QPushButton*>())
    if (button->text() == u"GPU"_s) button->click();
}

void showCpuFailed(Scene& scene) {
  openSample(scene, u"compact"_s);
  scene.state.dismissResume();
  scene.engine.script.errors.append(
      {ChatTask::use_cpu,
       {ErrorKind::invalid, "MODEL_NOT_FOUND",
        "There is no model file \"/home/me/models/SmolLM2-135M-Instruct.gguf\"."}});
  scene.state.useCpu();
  scene.engine.playAll();
}

// The chat that was open when the model was lost is deleted.
void showDeletedOfLost(Scene& scene) {
  showCpuFailed(scene);
  scene.state.deleteChat(scene.state.chat().id);
  scene.engine.playAll();
}

void showDeleted(Scene& scene) {
  openSample(scene, u"compact"_s);
  scene.state.deleteChat(2);
}

void showDeletedChats(Scene& scene) {
  openSample(scene, u"compact"_s);
  for (const ChatKey chat : {2, 3, 5}) scene.state.deleteChat(chat);
  scene.state.forgetDeleted();
  scene.engine.script.copies = {{"library-before-2.db", 48'300'000, scene.clock.wall - 86'400'000}};
  Scene::settle();
  scene.window->findChild<ChatListPanel*>()->deletedButton()->click();
}

void showShelf(Scene& scene) {
  showEmpty(scene);
  scene.window->emptyState()->shelfButton()->click();
}

// Full, at the end of the context.
void showContextEnd(Scene& scene) {
  openSample(scene, u"full"_s);
  scene.state.dismissResume();
  scene.engine.script.cache = sampleCache(u"full"_s, 8170, scene.clock.wall);
  scene.engine.tell(scene.engine.script.cache);
  scene.engine.script.endsContext = true;
  scene.engine.script.errors.append(
      {ChatTask::send, {ErrorKind::out_of_memory, "CONTEXT_FULL", "This needs more tokens."}});
  scene.state.send(u"And when does Jonas play next? I would like to come."_s);
  scene.engine.playAll();
}

void showDocumentRefused(Scene& scene) {
  addChats(scene);
  scene.openModel();
  scene.engine.script.endsContext = true;
  scene.engine.script.errors.append(
      {ChatTask::attach_document, {ErrorKind::out_of_memory, "CONTEXT_FULL", "Too long."}});
  scene.state.attachDocument(u"the-harbour-a-history.txt"_s, sampleDocument());
  scene.engine.playAll();
}

// A chat of 29,160 tokens, and an answer from two of its parts.
void showBeyond(Scene& scene) {
  openSample(scene, u"compact"_s);
  scene.state.dismissResume();
  scene.engine.script.cache = sampleBeyond(u"compact"_s, 29'160, scene.clock.wall);
  scene.engine.script.parts = sampleParts(12);
  scene.engine.script.answer.episodes.n_all = 12;
  scene.engine.script.answer.episodes.seen = {2, 6};
  scene.engine.script.answer.ms = 410;
  scene.engine.script.deltas = {u"Mara"_s, u" comes on "_s, u"Sunday at 15:30"_s,
                                u" and brings the blue tin."_s};
  scene.state.send(u"When does Mara come, and what does she bring?"_s);
  scene.engine.playAll();
}

void showParts(Scene& scene) {
  showBeyond(scene);
  Scene::settle();
  QTest::keyClick(scene.window.get(), Qt::Key_P, Qt::ControlModifier);
}

void showNamed(Scene& scene) {
  showBeyond(scene);
  scene.state.nameParts({2, 3, 6});
}

void showReadingParts(Scene& scene) {
  addChats(scene);
  scene.openModel();
  scene.state.memory()->setPresetIndex(2);
  scene.state.newChat();
  scene.engine.playAll();
  scene.engine.script.n_document_parts = 12;
  scene.engine.script.cache = sampleBeyond(u"compact"_s, 41'310, scene.clock.wall);
  scene.state.attachDocument(u"the-harbour-a-history.txt"_s, sampleDocument().repeated(40));
  scene.engine.play(4 + 3);
  for (const std::size_t done : {0u, 2048u, 6120u, 9804u}) {
    scene.clock.steady += 21'000;
    scene.engine.tell(satchel::runtime::Progress{kReading, done, 41'310});
  }
}

// It can be asked already.
void showReadingAsked(Scene& scene) {
  showReadingParts(scene);
  scene.window->composer()->edit()->setPlainText(u"Who built the first harbour wall?"_s);
}

// The question made it end; the rest is read while the chat is idle.
void showReadingIdle(Scene& scene) {
  showReadingParts(scene);
  scene.engine.script.answer.episodes = {
      .n_all = 11, .seen = {0, 2}, .by_words = true, .quoted = {2}, .n_unread = 8};
  scene.engine.script.answer.ms = 320;
  scene.engine.script.document.n_tokens = 9'804;
  scene.engine.script.document.ms = 84'000;
  scene.engine.script.deltas = {u"The "_s, u"monks "_s, u"of the island "_s, u"built it, "_s,
                                u"in 1214."_s};
  scene.state.send(u"Who built the first harbour wall?"_s);
  scene.engine.playAll();
  satchel::runtime::ChatMemory idle = scene.engine.script.cache;
  idle.is_packing = true;
  idle.documents[0].n_read = 5;
  scene.engine.tell(idle);
}

void showPartsUnread(Scene& scene) {
  showReadingIdle(scene);
  for (std::size_t part = 0; part < 11; ++part) {
    satchel::runtime::OlderPart older;
    older.beginning = "the-harbour-a-history.txt (part " + std::to_string(part + 1) + " of 12)";
    older.n_tokens = 3'440;
    older.is_unread = part > 4;
    scene.engine.script.parts.parts.push_back(older);
  }
  Scene::settle();
  QTest::keyClick(scene.window.get(), Qt::Key_P, Qt::ControlModifier);
}

void askAll(Scene& scene) {
  showBeyond(scene);
  scene.engine.script.notes =
      "Part 3 of 12: Odile comes on Friday at ten.\nPart 7 of 12: Mara comes on Sunday at 15:30 "
      "and "
      "brings the blue tin.\nPart 12 of 12: Jonas plays on the 12th.\n";
  scene.engine.script.answer.episodes.seen = {6};
  scene.engine.script.answer.episodes.quoted = {6};
  scene.engine.script.deltas = {u"Odile comes "_s, u"on Friday, "_s, u"Mara on Sunday, "_s,
                                u"and Jonas plays "_s, u"on the 12th."_s};
  scene.window->composer()->edit()->setPlainText(u"Who comes this month, and when?"_s);
  QTest::keyClick(scene.window.get(), Qt::Key_A, Qt::ControlModifier | Qt::ShiftModifier);
}

void showAskingAll(Scene& scene) {
  askAll(scene);
  for (int part = 0; part < 5; ++part) {
    scene.engine.play();
    scene.clock.steady += 1'400;
  }
}

void showAskedAll(Scene& scene) {
  askAll(scene);
  scene.engine.playAll();
}

void showGoOnFailed(Scene& scene) {
  showContextEnd(scene);
  scene.engine.script.errors.append(
      {ChatTask::go_on,
       {ErrorKind::storage, "DISK_FULL", "The disk is full. The chat is kept as it was."}});
  scene.state.goOn();
  scene.engine.playAll();
}
void showMarks(Scene& scene) {
  showVersions(scene);
  scene.engine.tell(satchel::runtime::MarksChanged{{{1}, {9}}, {{2}}});
}

struct State {
  const char* name;
  std::function<void(Scene&)> build;
  int width = 1280, height = 860;
  bool chats = true, memory = true;
};

const State kStates[] = {
    {"1-empty", showEmpty},
    {"2-reading", showReading},
    {"3-conversation", showConversation},
    {"4-streaming", showStreaming},
    {"5-resumed", [](Scene& scene) { openSample(scene, u"compact"_s); }},
    {"6-extreme", showExtreme, 1280, 1000},
    {"7-error", showError},
    {"8-deleted", showDeleted, 1100, 640},
    {"9-narrow", showConversation, 760, 640, false, false},
    {"10-packing", showPacking},
    {"11-no-model", [](Scene&) {}, 1100, 700},
    {"12-plan", showPlan},
    {"13-read-again", showReread},
    {"14-too-small", showTooSmall},
    {"15-applying", showApplying},
    {"16-room-made", showReclaimed},
    {"17-ledger", showLedger},
    {"18-thoughts", showThoughts},
    {"19-thinking", showThinking},
    {"20-base-model", showBase},
    {"21-gpu-lost", showGpuLost},
    {"22-cpu-failed", showCpuFailed},
    {"22-engine-ended", showEngineEnded, 1100, 700},
    {"22-engine-retried", showAnswerOffered, 1100, 700},
    {"23-device", showDevice},
    {"24-device-of-lost", showDeviceOfLost},
    {"25-deleted-of-lost", showDeletedOfLost, 1100, 700},
    {"26-context-end", showContextEnd, 1280, 980},
    {"27-document-refused", showDocumentRefused, 1100, 700},
    {"28-beyond", showBeyond, 1280, 980},
    {"29-parts", showParts, 1280, 980},
    {"30-parts-named", showNamed, 1280, 980},
    {"31-reading-parts", showReadingParts},
    {"32-beyond-narrow", showBeyond, 760, 640, false, false},
    {"33-reading-asked", showReadingAsked},
    {"34-reading-idle", showReadingIdle, 1280, 980},
    {"35-parts-unread", showPartsUnread, 1280, 980},
    {"36-asking-all", showAskingAll, 1280, 980},
    {"37-asked-all", showAskedAll, 1280, 980},
    {"38-too-long", showTooLong, 1280, 980},
    {"39-go-on-failed", showGoOnFailed, 1280, 980},
    {"40-reading-narrow", showReadingAsked, 760, 640, false, false},
    {"41-unopened", showUnopened},
    {"42-deleted-chats", showDeletedChats, 1100, 640},
    {"43-versions", showVersions, 1280, 820},
    {"45-search", showSearch, 1280, 820},
    {"46-shelf", showShelf, 1100, 700},
    {"44-versions-narrow", showVersions, 760, 640, false, false},
    {"46-marks", showMarks, 1280, 820},
    {"47-quotes", showQuotes, 1280, 820},
    {"48-quoted-passage", showQuotedPassage, 1280, 820},
    {"51-find", showFind},
    {"52-code", showCode, 1280, 1000},
    {"53-folders", showFolders},
    {"54-settings", showSettings, 1400, 860},
    {"55-settings-narrow", showSettings, 720, 760, false, false},
    {"56-settings-of-old", showSettingsOfOld},
    {"57-prompts", showPrompts, 1400, 860},
    {"58-prompts-narrow", showPrompts, 720, 640, false, false},
    {"59-models", showModels, 1400, 860},
    {"60-models-narrow", showModels, 720, 640, false, false},
    {"61-server", showServer, 1400, 860},
    {"62-server-narrow", showServer, 720, 640, false, false},
    {"63-find-narrow", showFind, 720, 640, false, false},
    {"64-tour", showTour},
    {"65-tour-narrow", showTour, 720, 760, false, false},
    {"49-fade", [](Scene& scene) { showHeld(scene, HeldLook::Fade); }},
    {"50-precision", [](Scene& scene) { showHeld(scene, HeldLook::Precision); }},
    {"51-heat", [](Scene& scene) { showHeld(scene, HeldLook::Heat); }},
    {"52-card-narrow", showPackedCard, 560, 640, false, false},
};

}  // namespace

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication app(argc, argv);
  if (argc < 2) {
    std::fprintf(stderr, "usage: render_states FOLDER [light|dark] [en|de|fr]\n");
    return 2;
  }
  const QStringList arguments = QApplication::arguments();
  const bool dark = arguments.contains(u"dark"_s);
  applyLanguage(app, arguments.contains(u"de"_s)   ? Language::German
                     : arguments.contains(u"fr"_s) ? Language::French
                                                   : Language::English);
  if (QFontDatabase::families().contains(u"Inter"_s)) QApplication::setFont(QFont(u"Inter"_s, 10));
  applyAppearance(app, dark ? Appearance::Dark : Appearance::Light);
  const QDir folder(QString::fromLocal8Bit(argv[1]));
  if (!folder.mkpath(u"."_s)) return 1;
  bool isAllRead = true;
  for (const State& state : kStates) {
    Scene scene;
    scene.window->findChild<ChatListPanel*>()->setVisible(state.chats);
    scene.window->findChild<MemoryPanel*>()->setVisible(state.memory);
    scene.show(state.width, state.height);
    state.build(scene);
    Scene::settle();
    const QString file = folder.filePath(
        QLatin1String(state.name) + (dark ? QStringLiteral("-dark.png") : QStringLiteral(".png")));
    QWidget* shown = scene.window.get();  // or the dialog over it
    for (QDialog* dialog : scene.window->findChildren<QDialog*>())
      if (dialog->isVisible()) shown = dialog;
    QPixmap picture = shown->grab();
    if (auto* popup = scene.window->findChild<Popup*>())
      popup->render(&picture, scene.window->mapFromGlobal(popup->pos()));
    for (const QString& text : clippedTexts(shown)) {
      std::fprintf(stderr, "%s: cut off: %s\n", state.name, qPrintable(text));
      isAllRead = false;
    }
    if (!picture.save(file)) {
      std::fprintf(stderr, "cannot write %s\n", qPrintable(file));
      return 1;
    }
    std::printf("%s\n", qPrintable(file));
  }
  return isAllRead ? 0 : 1;
}
