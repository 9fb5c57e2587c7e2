// What the engine says, led into the models.
#include <utility>

#include "ui/model/app_state.h"
#include "ui/model/format.h"
#include "ui/model/memory_change_text.h"

namespace satchel::ui {
namespace {

QString footnoteOf(const runtime::GenerateReport& report) {
  if (report.n_tokens == 0) return {};
  QString text = AppState::tr("%1 tokens").arg(formatCount(qint64(report.n_tokens)));
  const double ms = report.ms - report.thoughts.ms;
  if (ms > 0)
    text += AppState::tr(" · %1 tokens/s").arg(double(report.n_tokens) * 1000 / ms, 0, 'f', 1);
  if (report.finish == runtime::Finish::n_tokens_max)
    text += AppState::tr(" · ended at its longest; write \"go on\" for more");
  if (report.finish == runtime::Finish::repeats)
    text += AppState::tr(" · ended because it repeated itself");
  return text;
}

QString noteOf(const runtime::Thoughts& thoughts) {
  return AppState::tr("Thought for %1 · %2 tokens")
      .arg(formatSeconds(thoughts.ms / 1000), formatCount(qint64(thoughts.n_tokens)));
}

// Saving, renaming, previews … are done beside: their failure ends no answer and refuses no text.
bool isWaitedFor(Request request) {
  return request == Request::OpenModel || request == Request::NewChat ||
         request == Request::OpenChat || request == Request::Send ||
         request == Request::AttachDocument || request == Request::ApplyToChat ||
         request == Request::UseCpu;
}

}  // namespace

void AppState::connectEngine() {
  connect(m_engine, &EngineClient::modelOpened, this, &AppState::onModelOpened);
  connect(m_engine, &EngineClient::modelSwitched, this, [this](const ModelInfo& model) {
    m_model = model;
    m_memory.setModel(model);
    Q_EMIT phaseChanged();
  });
  connect(m_engine, &EngineClient::modelClosed, this, [this] {
    m_model = {};
    m_memory.setModel({});
    m_waiting.clear();
  });
  connect(m_engine, &EngineClient::noticed, this, &AppState::noticeShown);
  connect(m_engine, &EngineClient::chatsListed, this,
          [this](const QList<ChatEntry>& chats) { m_chats.load(chats); });
  connect(m_engine, &EngineClient::chatOpened, this, &AppState::onChatOpened);
  connect(m_engine, &EngineClient::chatChanged, this, [this](const ChatEntry& chat) {
    m_chats.put(chat);
    if (chat.id == m_chat.id) takeChat(chat);
  });
  connect(m_engine, &EngineClient::chatEntered, this, [this](const ChatEntry& chat) {
    m_chats.put(chat);
    takeChat(chat);
  });
  connect(m_engine, &EngineClient::chatDeleted, this, [this](const ChatEntry& chat) {
    m_chats.remove(chat.id);
    m_deleted = chat;
    Q_EMIT deletedChanged();
    if (chat.id != m_chat.id) return;
    m_phase == Phase::NoModel ? showNoChat() : newChat();
  });
  connect(m_engine, &EngineClient::resumed, this, [this](const runtime::ResumeReport& report) {
    m_resume = ResumeState::of(report);
    setPhase(Phase::Ready);
    Q_EMIT resumeChanged();
    attachNext();
  });
  connect(m_engine, &EngineClient::failed, this, &AppState::onFailed);
  connectAnswers();
  connectMemory();
}

void AppState::connectAnswers() {
  connect(m_engine, &EngineClient::messageAdded, this, [this](const Message& message) {
    m_sentText.clear();
    m_conversation.append(message);
  });
  connect(m_engine, &EngineClient::progressed, this, &AppState::onProgressed);
  connect(m_engine, &EngineClient::answerStarted, this, [this](const Message& answer) {
    m_conversation.beginAnswer(answer);
    setPhase(Phase::Answering);
  });
  connect(m_engine, &EngineClient::pieceArrived, this, [this](const QString& piece) {
    if (m_conversation.isStreaming()) m_conversation.appendPiece(piece);
  });
  connect(m_engine, &EngineClient::thoughtArrived, this, [this](const QString& piece) {
    if (m_conversation.isStreaming()) m_conversation.appendThought(piece);
  });
  connect(m_engine, &EngineClient::thoughtsFound, this,
          [this](const QList<MessageThoughts>& found) {
            for (const MessageThoughts& each : found) m_conversation.setThoughts(each);
          });
  connect(m_engine, &EngineClient::answerFinished, this, &AppState::onAnswerFinished);
  connect(m_engine, &EngineClient::documentRead, this, &AppState::onDocumentRead);
}

void AppState::connectMemory() {
  connect(m_engine, &EngineClient::cacheChanged, &m_memory, &MemoryPanelState::setCache);
  connect(m_engine, &EngineClient::previewed, &m_memory, &MemoryPanelState::setPreviews);
  connect(m_engine, &EngineClient::chatPreviewed, m_memory.plan(), &ChatPlan::setPreview);
  connect(m_engine, &EngineClient::chatApplied, this, &AppState::onApplied);
  connect(m_engine, &EngineClient::ledgerChanged, &m_memory, &MemoryPanelState::setLedger);
}

void AppState::onModelOpened(const ModelInfo& model) {
  m_model = model;
  m_memory.setModel(model);
  const bool isChatAsked = m_phase == Phase::Opening;  // while the model was loaded
  // Ready when the new chat is open: it must not end what is asked before.
  setPhase(Phase::Opening);
  m_engine->listChats();
  if (!isChatAsked) m_engine->newChat(m_memory.nextSettings());
}

void AppState::onChatOpened(const OpenedChat& chat) {
  m_conversation.load(chat.messages);
  m_memory.setChat(chat);
  dismissResume();
  // A saved chat is ready when it has been resumed.
  setPhase(chat.messages.isEmpty() ? Phase::Ready : Phase::Opening);
  takeChat(chat.entry);
  attachNext();
}

void AppState::onProgressed(const ReadingProgress& progress) {
  m_reading.update(progress, m_clock->steady_ms() / 1000);
  Q_EMIT progressChanged();
}

void AppState::onAnswerFinished(const runtime::GenerateReport& report) {
  const auto state = runtime::is_whole(report.finish) ? kvcache::MessageState::complete
                                                      : kvcache::MessageState::interrupted;
  m_conversation.finishAnswer(state, footnoteOf(report), noteOf(report.thoughts));
  finishWork();
  if (report.finish == runtime::Finish::context_full)
    showError(QStringLiteral("CONTEXT_FULL"), withRoom(QString::fromStdString(report.message)));
  if (report.finish == runtime::Finish::cache_full)
    showError(QStringLiteral("CACHE_FULL"), withRoom(QString::fromStdString(report.message)));
  attachNext();
}

void AppState::onDocumentRead(const runtime::ReadReport& report) {
  finishWork();
  Q_EMIT noticeShown(
      withRoom(tr("Read %1 tokens in %2.")
                   .arg(formatCount(qint64(report.n_tokens)), formatSeconds(report.ms / 1000))));
  attachNext();
}

void AppState::onApplied(const AppliedSettings& applied) {
  m_memory.setApplied(applied);
  finishWork();
  Q_EMIT noticeShown(appliedText(applied));
  attachNext();
}

void AppState::onRoomMade(const QString& text) {
  m_roomText = text;
  Q_EMIT noticeShown(text);
}

// What comes after it takes the notice's place: it must not take away what was not read yet.
QString AppState::withRoom(const QString& text) {
  return m_roomText.isEmpty() ? text : text + u' ' + m_roomText;
}

void AppState::onFailed(const EngineError& error) {
  if (error.request == Request::PreviewChat) {
    m_memory.plan()->fail(error);  // the panel says it
    return;
  }
  if (isWaitedFor(error.request)) {
    m_conversation.finishAnswer(kvcache::MessageState::interrupted, {});
    if (error.request == Request::Send && !m_sentText.isEmpty())
      Q_EMIT textRefused(std::exchange(m_sentText, {}));
    m_waiting.clear();
  }
  // What was asked for while the model was lost: why it was lost has been said.
  const bool isKnown = m_phase == Phase::NoModel && error.code == QStringLiteral("NO_MODEL");
  switch (error.request) {
    case Request::OpenModel:
    case Request::UseCpu:
    case Request::NewChat:
    case Request::OpenChat:
      setIdle();
      break;
    case Request::Send:
    case Request::AttachDocument:
    case Request::ApplyToChat:
      finishWork();
      break;
    case Request::Idle:
      m_hasIdleFailed = true;
      m_memory.endPacking();
      break;
    default:
      break;  // done beside what the user waits for
  }
  if (!error.cancelled && !isKnown) showError(error.code, withRoom(error.message));
  const bool isCpus = error.request == Request::UseCpu && m_phase == Phase::NoModel;
  if ((error.isGpus || isCpus) && !canTryAgain()) Q_EMIT cpuOffered();
}

}  // namespace satchel::ui
