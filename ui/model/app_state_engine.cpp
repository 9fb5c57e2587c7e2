// What the engine says, led into the models.
#include <algorithm>
#include <functional>
#include <utility>

#include "ui/model/app_state.h"
#include "ui/model/engine_values.h"
#include "ui/model/format.h"
#include "ui/model/memory_change_text.h"
#include "ui/model/parts_text.h"
#include "ui/model/shelf_text.h"

namespace satchel::ui {
namespace {

using runtime::ChatTask;

QString footnoteOf(const runtime::GenerateReport& report) {
  const QString reread = textOf(kvcache::describe(report.read.reread));
  if (report.n_tokens == 0) return reread;
  QString text = AppState::tr("%1 tokens").arg(formatCount(qint64(report.n_tokens)));
  const double ms = report.ms - report.thoughts.ms;
  if (ms > 0)
    text +=
        AppState::tr(" · %1 tokens/s").arg(formatDecimal(double(report.n_tokens) * 1000 / ms, 1));
  text += answerPartsText(report.episodes);
  if (report.finish == runtime::Finish::n_tokens_max)
    text += AppState::tr(" · stopped at the length limit; type \"continue\" to go on");
  if (report.finish == runtime::Finish::repeats)
    text += AppState::tr(" · stopped because it was repeating itself");
  return reread.isEmpty() ? text : text + QStringLiteral(" · ") + reread;
}

QString noteOf(const runtime::Thoughts& thoughts) {
  return AppState::tr("Thought for %1 · %2 tokens")
      .arg(formatSeconds(thoughts.ms / 1000), formatCount(qint64(thoughts.n_tokens)));
}

bool isOfOpening(ChatTask task) {
  return task == ChatTask::open_model || task == ChatTask::use_cpu ||
         task == ChatTask::begin_chat || task == ChatTask::open_chat;
}

// Saving, renaming, previews … are done beside: their failure ends no answer and refuses no text.
bool isWaitedFor(ChatTask task) {
  return isOfOpening(task) || task == ChatTask::send || task == ChatTask::attach_document ||
         task == ChatTask::change_memory || task == ChatTask::go_on || task == ChatTask::correct;
}

}  // namespace

void AppState::see(const runtime::ChatEvent& event) {
  seeModelsAndChats(event);
  seeAnswers(event);
  seeMemory(event);
  seeQuotes(event);
  seeHeld(event);
  seeAnswerSettings(event);
}

void AppState::seeModelsAndChats(const runtime::ChatEvent& event) {
  std::visit(
      runtime::Overloaded{
          [this](const runtime::ModelOpened& opened) { onModelOpened(opened.model); },
          [this](const runtime::ModelSwitched& switched) {
            m_model = switched.model;
            m_modelAsked = textOf(m_model.path);
            m_memory.setModel(m_model);
            Q_EMIT phaseChanged();
          },
          [this](const runtime::ModelClosed&) {
            m_model = {};
            m_memory.setModel({});
            m_waiting.clear();
          },
          [this](const runtime::ChatsListed& listed) { onChatsListed(listed); },
          [this](const runtime::PassagesFound& found) { onFound(found); },
          [this](const runtime::ShelfListed& listed) { Q_EMIT shelfListed(listed); },
          [this](const runtime::ChatOpened& opened) { onChatOpened(opened); },
          [this](const runtime::ChatShown& shown) { onChatShown(shown); },
          [this](const runtime::ChatEntered& entered) {
            const ChatEntry chat = entryOf(entered.chat);
            m_chats.put(chat);
            takeChat(chat);
          },
          [this](const runtime::ChatChanged& changed) {
            const ChatEntry chat = entryOf(changed.chat);
            m_chats.put(chat);
            if (chat.id == m_chat.id) takeChat(chat);
          },
          [this](const runtime::ChatRemoved& removed) { onChatRemoved(entryOf(removed.chat)); },
          [this](const runtime::ResumeReport& report) { onResumed(report); },
          [this](const runtime::Noticed& notice) { Q_EMIT noticeShown(textOf(notice.text)); },
          [this](const runtime::Failed& failed) { onFailed(failed); }, [](const auto&) {}},
      event);
}

void AppState::seeAnswers(const runtime::ChatEvent& event) {
  std::visit(
      runtime::Overloaded{
          [this](const runtime::StoredMessage& added) { onAdded(added); },
          [this](const runtime::MessagesReplaced& replaced) { onReplaced(replaced); },
          [this](const runtime::CorrectReport& report) { onCorrected(report); },
          [this](const runtime::ExactReport& report) { onReadExactly(report); },
          [this](const runtime::VersionsChanged& changed) {
            m_conversation.setVersions(changed.messages);
          },
          [this](const runtime::MarksChanged& changed) { m_conversation.setMarks(changed); },
          [this](const runtime::Progress& progress) {
            if (!isBusy()) return;
            m_reading.update(progress, m_clock->steady_ms() / 1000);
            Q_EMIT progressChanged();
          },
          [this](const runtime::AnswerStarted& started) {
            Message answer;
            answer.id = started.answer.value;
            answer.role = runtime::Role::assistant;
            m_conversation.beginAnswer(answer);
            setPhase(Phase::Answering);
          },
          [this](const runtime::AnswerDelta& delta) {
            if (!m_conversation.isStreaming()) return;
            delta.is_thought ? m_conversation.appendThought(textOf(delta.text))
                             : m_conversation.appendDelta(textOf(delta.text));
          },
          [this](const runtime::MessageThoughts& found) { m_conversation.setThoughts(found); },
          [this](const runtime::GenerateReport& report) { onAnswerFinished(report); },
          [this](const runtime::ReadReport& report) { onDocumentRead(report); },
          [this](const runtime::DocumentParts& parts) {
            m_conversation.setParts(parts);
            if (m_phase == Phase::Reading) m_partsReading = {.document = parts.document};
          },
          [this](const runtime::OlderParts& parts) { onPartsListed(parts); },
          [this](const runtime::ContextEnded&) { onContextEnded(); },
          [this](const runtime::WentOn&) { onWentOn(); }, [](const auto&) {}},
      event);
}

void AppState::seeMemory(const runtime::ChatEvent& event) {
  std::visit(
      runtime::Overloaded{
          [this](const runtime::ChatMemory& memory) { onMemory(memory); },
          [this](const runtime::LedgerChanged& changed) {
            m_memory.setLedger(changed);
            m_packed.measure(changed.entries);
          },
          [this](const runtime::PresetEstimates& estimates) { m_memory.setPreviews(estimates); },
          [this](const runtime::MemoryPreviewed& previewed) {
            m_memory.plan()->setPreview(previewed);
          },
          [this](const runtime::MemoryChanged& changed) { onApplied(changed); },
          [](const auto&) {}},
      event);
}

void AppState::onChatsListed(const runtime::ChatsListed& listed) {
  QList<ChatEntry> chats;
  for (const runtime::Chat& chat : listed.chats) {
    chats.append(entryOf(chat));
    if (chat.removed_ms) chats.back().changed = QDateTime::fromMSecsSinceEpoch(*chat.removed_ms);
  }
  if (listed.filter == runtime::ChatFilter::present) return m_chats.load(std::move(chats));
  std::ranges::sort(chats, std::greater(), &ChatEntry::changed);
  DeletedList deleted{std::move(chats), {}, m_clock->wall_ms()};
  for (const runtime::LibraryCopy& copy : listed.copies)
    deleted.copies.append({textOf(copy.name), static_cast<qint64>(copy.bytes), copy.written_ms});
  Q_EMIT deletedListed(deleted);
}

void AppState::onChatRemoved(const ChatEntry& chat) {
  m_chats.remove(chat.id);
  m_deleted = chat;
  Q_EMIT deletedChanged();
  if (chat.id != m_chat.id) return;
  m_phase == Phase::NoModel ? showNoChat() : newChat();
}

void AppState::onResumed(const runtime::ResumeReport& report) {
  m_resume = report.too_long && m_question.isAsked() ? ResumeState() : ResumeState::of(report);
  setPhase(Phase::Ready);
  Q_EMIT resumeChanged();
  offerAnswer();
  attachNext();
}

void AppState::onModelOpened(const runtime::ModelFacts& model) {
  m_model = model;
  m_memory.setModel(model);
  const bool isChatAsked = m_phase == Phase::Opening;  // while the model was loaded
  // Ready when the new chat is open: it must not end what is asked before.
  setPhase(Phase::Opening);
  m_engine->listChats();
  if (!isChatAsked) m_engine->newChat(m_memory.nextSettings(), {});
}

void AppState::load(const std::vector<runtime::StoredMessage>& messages) {
  m_conversation.load(shownOf(messages));
  m_packed.load(messages);
  dropQuestion();
  setNamed({});
  dismissResume();
}

// Why it could not be opened is told next, and ends the phase.
void AppState::onChatShown(const runtime::ChatShown& shown) {
  load(shown.messages);
  m_isOnlyShown = true;
  takeChat(entryOf(shown.chat));
  showWanted();
}

void AppState::onChatOpened(const runtime::ChatOpened& opened) {
  if (opened.chat.id.value == m_chatAsked) m_chatAsked = 0;
  load(opened.messages);
  m_memory.setChat(opened.memory);
  // A saved chat is ready when it has been resumed.
  setPhase(m_conversation.rowCount() == 0 ? Phase::Ready : Phase::Opening);
  takeChat(entryOf(opened.chat));
  showWanted();
  attachNext();
}

// What was sent is in the library. A document's own answer says nothing of a message behind it.
void AppState::onAdded(const runtime::StoredMessage& added) {
  m_conversation.append(messageOf(added));
  if (added.role != runtime::Role::user) return;
  m_sentDocument = {};
  if (added.kind == runtime::MessageKind::document) return;
  m_sentText.clear();
  setNamed({});
}

void AppState::onAnswerFinished(const runtime::GenerateReport& report) {
  const auto state = runtime::is_whole(report.finish) ? runtime::MessageState::complete
                                                      : runtime::MessageState::interrupted;
  m_conversation.setSeen(report.episodes);
  m_conversation.finishAnswer(state, footnoteOf(report), noteOf(report.thoughts));
  m_endsInARow = 0;
  const bool wasAsked = std::exchange(m_isStopAsked, false);
  const bool byUser = report.finish == runtime::Finish::stopped && wasAsked;
  if (byUser && report.answer.value != 0) m_engine->keepStopped(m_chat.id, report.answer.value);
  finishWork();
  if (report.finish == runtime::Finish::context_full && !m_question.isAsked())
    showError(QStringLiteral("CONTEXT_FULL"), QString::fromStdString(report.message));
  if (report.finish == runtime::Finish::cache_full)
    showError(QStringLiteral("CACHE_FULL"), QString::fromStdString(report.message));
  attachNext();
}

void AppState::onDocumentRead(const runtime::ReadReport& report) {
  m_endsInARow = 0;
  endDocument();
  QString read = readText(report);
  if (!report.reread.empty()) read += u' ' + textOf(kvcache::describe(report.reread));
  const QString unread = unreadNotice(m_memory.documents());
  Q_EMIT noticeShown(unread.isEmpty() ? read : read + u' ' + unread);
  attachNext();
}

// What it made way for goes on.
void AppState::endDocument() {
  if (!std::exchange(m_partsReading, {}).makesWay) finishWork();
}

void AppState::onApplied(const runtime::MemoryChanged& changed) {
  m_memory.setApplied(changed.memory);
  finishWork();
  if (!changed.is_whole || !isNothingRead(changed.change)) Q_EMIT noticeShown(appliedText(changed));
  attachNext();
}

// An empty chat has no place for a card.
void AppState::onReclaimed(const std::vector<runtime::LedgerEntry>& steps, quint64 limitBytes) {
  const auto laneCount = int(m_model.n_lanes);
  if (m_conversation.rowCount() > 0) return m_packed.add(steps, laneCount, limitBytes);
  const PackedNote note = packedNote(steps, laneCount, limitBytes);
  Q_EMIT noticeShown(QStringLiteral("%1. %2").arg(note.title, note.text));
}

// What the user waits for is the newer one.
bool AppState::isReplaced(const runtime::Failed& failed) const {
  const bool isNewerOpening = m_phase == Phase::Opening || m_phase == Phase::Loading;
  return isNewerOpening && m_openingCut == Cut::Newer && isOfOpening(failed.task) &&
         failed.error.kind == ErrorKind::cancelled;
}

void AppState::onFailed(const runtime::Failed& failed) {
  if (isReplaced(failed)) return;
  const Error& error = failed.error;
  if (failed.task == ChatTask::preview_memory) {
    m_memory.plan()->fail(error);  // the panel says it
    return;
  }
  const bool isOfHeat = failed.task == ChatTask::show_held && m_heldLook == HeldLook::Heat;
  if (isOfHeat && !failed.cpu_would_help) return;  // the bar says it
  if (failed.task == ChatTask::search) {
    m_found.load({});
    Q_EMIT foundChanged();
    if (error.kind == ErrorKind::cancelled || error.code == "SEARCH_WORDS") return;
  }
  QString notAttached;  // the title of what was sent, but is not in the library
  if (isWaitedFor(failed.task)) {
    m_conversation.finishAnswer(runtime::MessageState::interrupted, {});
    const bool isAsked = failed.task == ChatTask::send || failed.task == ChatTask::correct;
    if (isAsked && !m_sentText.isEmpty()) refuseText();
    m_waiting.clear();
    notAttached = std::exchange(m_sentDocument, {}).first;
  }
  // What was asked for while the model was lost: why it was lost has been said.
  const bool isKnown = m_phase == Phase::NoModel && error.code == "NO_MODEL";
  endFailed(failed.task);
  if (error.kind == ErrorKind::cancelled) {
    showStopped(failed.task, notAttached);
  } else if (!isKnown) {
    showFailed(failed);
  }
  const bool isCpus = failed.task == ChatTask::use_cpu && m_phase == Phase::NoModel;
  if ((failed.cpu_would_help || isCpus) && !canTryAgain()) Q_EMIT cpuOffered();
  if (failed.task != ChatTask::go_on) return;
  ContextQuestion asked = std::exchange(m_goingOn, {});
  if (m_phase == Phase::Ready) ask(std::move(asked));  // again: what was refused is not lost
}

void AppState::refuseText() {
  const QString text = std::exchange(m_sentText, {});
  if (const qint64 message = std::exchange(m_replacedMessage, 0); message != 0)
    Q_EMIT editRefused(message, text);
  else
    Q_EMIT textRefused(text);
}

void AppState::endFailed(ChatTask task) {
  // Words need no model.
  if (task == ChatTask::open_model && m_chats.rowCount() == 0) m_engine->listChats();
  switch (task) {
    case ChatTask::open_model:
    case ChatTask::use_cpu:
    case ChatTask::begin_chat:
    case ChatTask::open_chat:
      setIdle();
      break;
    case ChatTask::attach_document:
      endDocument();
      break;
    case ChatTask::send:
    case ChatTask::correct:
    case ChatTask::change_memory:
    case ChatTask::go_on:
      finishWork();
      break;
    case ChatTask::list_chats:
      Q_EMIT listingFailed();
      break;
    case ChatTask::idle:
      m_hasIdleFailed = true;
      m_memory.endPacking();
      break;
    default:
      break;  // done beside what the user waits for
  }
}

void AppState::showStopped(ChatTask task, const QString& notAttached) {
  if (task == ChatTask::open_chat && m_openingCut == Cut::ByUser) {
    const bool isOpen = m_chatAsked == 0;  // with its words: it can go on
    Q_EMIT noticeShown(
        isOpen ? tr("Opening was stopped. The rest of this chat is read with your next message.")
               : tr("Opening was stopped. Choose the chat again to open it."));
    // The chat on the screen has no model yet, as after the engine's end.
    if (!isOpen && m_model.path.empty() && canTryAgain() && !m_modelAsked.isEmpty()) {
      m_isEngineLost = true;
      offerRetry();
    }
  }
  if (task != ChatTask::attach_document) return;
  const QString text = notAttached.isEmpty()
                           ? unreadNotice(m_memory.documents())
                           : tr("\"%1\" was stopped and not attached.").arg(notAttached);
  if (!text.isEmpty()) Q_EMIT noticeShown(text);
}

void AppState::showFailed(const runtime::Failed& failed) {
  const Error& error = failed.error;
  if (m_question.isAsked() && error.code == "CONTEXT_FULL") return;
  QString message = textOf(error.message);
  if (failed.task == ChatTask::keep_settings)
    message = tr("The settings are not saved.") + u' ' + message;
  showError(textOf(error.code), message);
}

}  // namespace satchel::ui
