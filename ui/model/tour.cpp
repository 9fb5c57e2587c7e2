#include "ui/model/tour.h"

#include <QStringList>
#include <utility>

#include "ui/model/engine_values.h"

namespace satchel::ui {
namespace {

constexpr int kTourTexts = 5;

QString fullPreset() {
  return QStringLiteral("full");
}

// Those that say something, one below the other.
QString stacked(QStringList texts) {
  texts.removeAll(QString());
  return texts.join(u'\n');
}

}  // namespace

Tour::Tour(AppState* state, TourNotes notes, QObject* parent)
    : QObject(parent), m_state(state), m_notes(std::move(notes)) {
  m_due.setSingleShot(true);
  m_due.setInterval(0);
  connect(&m_due, &QTimer::timeout, this, &Tour::look);
  const auto lookSoon = [this] {
    if (isOn()) m_due.start();
  };
  connect(state, &AppState::phaseChanged, this, lookSoon);
  connect(state, &AppState::chatChanged, this, lookSoon);
  connect(state, &AppState::resumeChanged, this, lookSoon);
  connect(state, &AppState::heldLookChanged, this, lookSoon);
  connect(state->conversation(), &ConversationModel::heldChanged, this, lookSoon);
  connect(state->memory(), &MemoryPanelState::changed, this, lookSoon);
  connect(state, &AppState::errorShown, this, &Tour::end);
}

bool Tour::canBegin() const {
  return !m_notes.text.isEmpty() && (!m_notes.model.isEmpty() || !m_state->model().path.empty());
}

void Tour::begin() {
  if (!canBegin()) return;
  if (!isOn()) m_presetBefore = m_state->memory()->presetIndex();
  m_chat = 0;
  go(Step::Reading);
  m_state->setHeldLook(HeldLook::Off);
  takePreset(fullPreset());
  if (m_notes.model.isEmpty() || m_notes.model == textOf(m_state->model().path))
    m_state->newChat();
  else
    m_state->openModel(m_notes.model);
  // It waits until the chat is open.
  m_state->attachDocument(m_notes.title, m_notes.text);
}

void Tour::end() {
  if (isOn()) go(Step::Off);
}

// The preset is that of later chats too: it goes back, unless something else was chosen meanwhile.
void Tour::go(Step step) {
  m_step = step;
  if (step == Step::Off && hasPreset(m_presetTaken))
    m_state->memory()->setPresetIndex(m_presetBefore);
  Q_EMIT changed();
}

void Tour::next() {
  if (!canGoOn()) return;
  switch (m_step) {
    case Step::Read:
      takePreset(QStringLiteral("compact"));
      Q_EMIT memoryWanted();
      return go(Step::Preview);
    case Step::Preview:
      m_isApplied = m_state->memory()->plan()->canApply();
      return m_isApplied ? m_state->memory()->plan()->apply() : go(Step::Compressed);
    case Step::Compressed:
      return ask(Step::AskingAgain);
    case Step::Again:
      m_state->setHeldLook(HeldLook::Fade);
      return go(Step::Held);
    case Step::Held:
      m_state->setHeldLook(HeldLook::Off);
      m_state->newChat();
      return go(Step::Closing);
    default:
      return end();
  }
}

void Tour::ask(Step step) {
  m_rows = m_state->conversation()->rowCount();
  m_state->send(m_notes.question);
  go(step);
}

void Tour::takePreset(const QString& preset) {
  MemoryPanelState* const memory = m_state->memory();
  m_presetTaken = preset;
  for (int i = 0; i < memory->presetCount(); ++i)
    if (memory->presetLine(i).preset == preset) memory->setPresetIndex(i);
}

bool Tour::hasPreset(const QString& preset) const {
  return m_state->memory()->nextSettings().preset == preset;
}

bool Tour::isNewPresetApplied() const {
  const MemoryPanelState* const memory = m_state->memory();
  return memory->hasPreviews() && !memory->differsFromChat() && !hasPreset(fullPreset());
}

bool Tour::isOurChat() const {
  const ConversationModel* const messages = m_state->conversation();
  return (m_chat == 0 || m_chat == m_state->chat().id) && messages->rowCount() > 0 &&
         messages->message(0).documentTitle == m_notes.title;
}

bool Tour::isAnswered() const {
  const ConversationModel* const messages = m_state->conversation();
  if (!isOurChat() || messages->rowCount() < m_rows + 2) return false;
  const Message& last = messages->message(messages->rowCount() - 1);
  return last.role == runtime::Role::assistant && last.state == runtime::MessageState::complete;
}

// What the state is now, and what follows from that.
void Tour::look() {
  if (!isOn()) return;
  const AppState::Phase phase = m_state->phase();
  const bool isOpening =
      m_step == Step::Reading || m_step == Step::Closing || m_step == Step::Reopening;
  if (phase == AppState::Phase::NoModel || (!isOpening && !isOurChat())) return end();
  if (phase == AppState::Phase::Ready) lookWhenReady();
  if (isOn()) Q_EMIT changed();
}

void Tour::lookWhenReady() {
  const ConversationModel* const messages = m_state->conversation();
  switch (m_step) {
    case Step::Reading:
      return isOurChat() && messages->rowCount() >= 2 ? ask(Step::Asking) : end();
    case Step::Asking:
      if (!isAnswered()) return end();
      m_chat = m_state->chat().id;
      m_answer = messages->message(messages->rowCount() - 1).text;
      return go(Step::Read);
    case Step::Read:
      if (!hasPreset(fullPreset())) go(Step::Preview);
      return;
    case Step::Preview:
      if (!isNewPresetApplied()) return;
      m_isApplied = true;  // also where that was done by hand
      return go(Step::Compressed);
    case Step::AskingAgain:
      if (!isAnswered()) return end();
      m_isSame = messages->message(messages->rowCount() - 1).text == m_answer;
      return go(Step::Again);
    case Step::Again:
      if (m_state->heldLook() != HeldLook::Off) go(Step::Held);
      return;
    case Step::Closing:
    case Step::Reopening:
      return reopen();
    default:
      return;
  }
}

void Tour::reopen() {
  if (m_step == Step::Closing && m_state->chats()->rowOf(m_chat) >= 0) {
    m_state->openChat(m_chat);
    return go(Step::Reopening);
  }
  if (!isOurChat() || m_state->resume().kind == ResumeState::Hidden) return end();
  m_resumed = m_state->resume().text;
  go(Step::Resumed);
}

bool Tour::canGoOn() const {
  if (texts().next.isEmpty()) return false;
  if (m_step == Step::Resumed) return true;
  const ChatPlan* const plan = m_state->memory()->plan();
  return m_state->phase() == AppState::Phase::Ready &&
         (m_step != Step::Preview || plan->canApply() || plan->isRefused());
}

// With the same settings it would say nothing about them.
QString Tour::samenessText() const {
  if (!m_isApplied) return {};
  return m_isSame ? tr("The answer is the same, word for word.")
                  : tr("The answer differs from the first one.");
}

Tour::Texts Tour::texts() const {
  const MemoryPanelState* const memory = m_state->memory();
  const QString taken = stacked({memory->bytesText(), memory->bodyText()});
  switch (m_step) {
    case Step::Off:
      return {};
    case Step::Reading:
    case Step::Asking:
      return {1,
              tr("The notes are read once"),
              tr("Then this question is asked: %1").arg(m_notes.question),
              {}};
    case Step::Read:
      return {1, tr("The notes were read, and this is the answer"), taken, tr("Next: less memory")};
    case Step::Preview:
      return {2, tr("The same chat in less memory"),
              stacked({tr("The memory panel (Ctrl+M) says beforehand what a setting does to the "
                          "open chat."),
                       memory->plan()->text()}),
              memory->plan()->isRefused() ? tr("Go on without it") : tr("Apply")};
    case Step::Compressed:
      return {3, tr("The same question again"), taken, tr("Ask it again")};
    case Step::AskingAgain:
      return {3, tr("The same question again"), m_notes.question, {}};
    case Step::Again:
      return {
          3, tr("The same question again"),
          stacked({samenessText(), memory->fidelityAge().isEmpty()
                                       ? memory->recallText()
                                       : stacked({memory->fidelityText(), memory->fidelityAge()})}),
          tr("Next: what is held")};
    case Step::Held:
      return {4, tr("What the model still holds of each word (Ctrl+H)"), m_state->heldSummary(),
              tr("Close and open this chat")};
    case Step::Closing:
    case Step::Reopening:
      return {5, tr("The chat is closed and opened again"), {}, {}};
    case Step::Resumed:
      return {5, tr("The chat was closed and opened again"), m_resumed, tr("Done")};
  }
  return {};
}

QString Tour::title() const {
  const Texts now = texts();
  return tr("Tour, %1 of %2: %3").arg(now.number).arg(kTourTexts).arg(now.heading);
}

QString Tour::text() const {
  return texts().text;
}

QString Tour::nextLabel() const {
  return texts().next;
}

}  // namespace satchel::ui
