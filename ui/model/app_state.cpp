#include "ui/model/app_state.h"

#include <QFileInfo>
#include <utility>

#include "ui/model/engine_values.h"

namespace satchel::ui {
namespace {

// What is held is looked at again when its changes have paused for so long.
constexpr std::chrono::milliseconds kHeldRest{300};
constexpr std::chrono::milliseconds kTypingRest{2000};  // chosen, not measured

}  // namespace

AppState::AppState(EngineClient* engine, const Clock* clock, QObject* parent)
    : QObject(parent), m_engine(engine), m_clock(clock), m_memory(clock) {
  Q_ASSERT(engine && clock);
  connect(engine, &EngineClient::happened, this, &AppState::see);
  connect(engine, &EngineClient::ended, this, &AppState::onEngineEnded);
  m_typingRest.setSingleShot(true);
  setTypingRest(kTypingRest);
  connect(&m_typingRest, &QTimer::timeout, this, [this] {
    if (!m_hasIdleFailed) m_engine->resumeIdle();
  });
  m_heldDue.setSingleShot(true);
  m_heldDue.setInterval(kHeldRest);
  connect(&m_heldDue, &QTimer::timeout, this, &AppState::showHeld);
  connect(&m_memory, &MemoryPanelState::previewWanted, this,
          [this](quint64 bytes) { m_engine->estimatePresets(bytes); });
  connect(&m_memory, &MemoryPanelState::reclaimed, this, &AppState::onReclaimed);
  connect(&m_memory, &MemoryPanelState::reclaimedBefore, this,
          [this](const std::vector<runtime::LedgerEntry>& steps) {
            m_packed.restore(steps, int(m_model.n_lanes));
          });
  connect(m_memory.plan(), &ChatPlan::previewWanted, this, &AppState::previewChat);
  connect(m_memory.plan(), &ChatPlan::applyWanted, this, &AppState::applyToChat);
  connect(&m_chats, &ChatListModel::renameAsked, this, &AppState::renameChat);
  connectImports();
}

void AppState::connectImports() {
  connect(&m_imports, &DocumentImports::busyChanged, this, &AppState::canSendChanged);
  connect(&m_imports, &DocumentImports::begun, this, [this](const QString& title) {
    Q_EMIT noticeShown(tr("Reading the text of \"%1\".").arg(title));
  });
  connect(&m_imports, &DocumentImports::failed, this, &AppState::showError);
  connect(&m_imports, &DocumentImports::imported, this, [this](const DocumentFile& document) {
    if (document.wasRecoded)
      Q_EMIT noticeShown(
          tr("\"%1\" is not UTF-8; it was read as Windows-1252.").arg(document.title));
    attachDocument(document.title, document.text);
  });
}

void AppState::takeChat(const ChatEntry& chat) {
  m_chat = chat;
  m_chats.setCurrent(chat.id);
  Q_EMIT chatChanged();
}

// What the user waited for ended. Where the user has meanwhile gone on to another chat or model,
// that is what is being waited for.
void AppState::finishWork() {
  if (m_phase == Phase::Reading || m_phase == Phase::Answering || m_phase == Phase::Applying)
    setIdle();
}

// Another request may have found no model before.
void AppState::setIdle() {
  setPhase(m_model.path.empty() || m_isOnlyShown ? Phase::NoModel : Phase::Ready);
}

void AppState::showNoChat() {
  m_conversation.load({});
  dismissResume();
  takeChat({});
}

bool AppState::isBusy() const {
  return m_phase != Phase::NoModel && m_phase != Phase::Ready;
}

bool AppState::canTryAgain() const {
  return m_phase == Phase::NoModel && !m_isOnlyShown && m_conversation.rowCount() > 0;
}

bool AppState::doesEngineStop() const {
  return m_phase == Phase::Reading || m_phase == Phase::Answering || m_phase == Phase::Opening ||
         m_phase == Phase::Applying;
}

QString AppState::modelNote() const {
  if (!m_model.has_chat_template)
    return tr(
        "This model has no chat template: it continues what you write, as a base model does.");
  return textOf(m_model.precision_note);
}

QString AppState::deviceName() const {
  if (m_model.device.empty()) return {};
  return m_model.on_gpu ? tr("GPU") : tr("CPU");
}

QString AppState::deviceNote() const {
  if (m_model.device.empty()) return {};
  if (m_model.on_gpu) return tr("Runs on the GPU: %1.").arg(textOf(m_model.device));
  const QString note = tr("Runs on the CPU: %1.").arg(textOf(m_model.device));
  const std::string& why = m_model.gpu_fallback_reason;
  return why.empty() ? note : note + u'\n' + textOf(why);
}

void AppState::setPhase(Phase phase) {
  if (m_phase == phase) return;
  const bool wasBusy = isBusy();
  m_phase = phase;
  if (phase != Phase::Reading) m_partsReading = {};
  if (isBusy()) {
    m_isOnlyShown = false;
    m_isEngineLost = false;
    if (!wasBusy) {
      m_isStopAsked = false;
      m_openingCut = Cut::None;
      Q_EMIT workBegun();
    }
    m_reading.begin(m_clock->steady_ms() / 1000);
    m_hasIdleFailed = false;
    if (!wasBusy) dropQuestion();
  }
  m_memory.plan()->setBusy(phase != Phase::Ready);
  Q_EMIT phaseChanged();
}

void AppState::openModel(const QString& path) {
  leave();
  m_modelAsked = path;
  setPhase(Phase::Loading);
  m_engine->openModel(path);
}

void AppState::useCpu() {
  if (m_isEngineLost) {
    m_engine->useCpu();
    return retry();
  }
  leave();
  setPhase(Phase::Loading);
  m_engine->useCpu();
}

void AppState::openChat(ChatKey chat) {
  if (m_phase != Phase::NoModel && chat == m_chat.id) return;
  leave();
  setPhase(Phase::Opening);
  m_chatAsked = chat;
  m_engine->openChat(chat);
}

void AppState::renameChat(ChatKey chat, const QString& title) {
  m_engine->renameChat(chat, title);
}

void AppState::deleteChat(ChatKey chat) {
  if (chat == m_chat.id) m_imports.stop();  // for this chat, not for the next one
  if (chat == m_chat.id && doesEngineStop()) {
    m_openingCut = Cut::None;
    m_engine->stop();
  }
  m_engine->deleteChat(chat);
}

void AppState::restoreDeleted() {
  if (m_deleted.id == 0) return;
  restoreChat(m_deleted.id);
}

void AppState::listDeleted() {
  m_engine->listDeleted();
}

void AppState::restoreChat(ChatKey chat) {
  m_engine->restoreChat(chat);
  if (chat == m_deleted.id) forgetDeleted();
}

void AppState::deleteCopy(const QString& name) {
  m_engine->deleteCopy(name);
}

void AppState::exportChat(ChatKey chat, const QString& path) {
  if (chat != 0) m_engine->exportChat(chat, path);
}

void AppState::deleteNow(ChatKey chat) {
  m_engine->deleteNow(chat);
  if (chat == m_deleted.id) forgetDeleted();
}

void AppState::forgetDeleted() {
  m_deleted = {};
  Q_EMIT deletedChanged();
}

void AppState::send(const QString& text) {
  if (!canSend() || text.trimmed().isEmpty()) return;
  beginAsking(text);
  m_engine->send(text);
}

void AppState::beginAsking(const QString& text) {
  m_sentText = text;
  m_replacedMessage = 0;
  dismissResume();
  if (m_phase == Phase::Ready) return setPhase(Phase::Reading);
  m_partsReading.makesWay = true;
  m_reading.begin(m_clock->steady_ms() / 1000);
  Q_EMIT phaseChanged();
}

void AppState::attachDocument(const QString& title, const QString& text) {
  if (m_phase == Phase::NoModel) return refuseDocument(title);
  m_waiting.append({title, text});
  attachNext();
}

void AppState::refuseDocument(const QString& title) {
  showError(QStringLiteral("NO_MODEL"),
            (m_isOnlyShown ? tr("This chat can only be read. \"%1\" was not attached.")
                           : tr("Open a model first. \"%1\" was not attached."))
                .arg(title));
}

void AppState::attachNext() {
  if (m_phase != Phase::Ready || m_waiting.isEmpty()) return;
  const auto [title, text] = m_waiting.takeFirst();
  dismissResume();
  m_sentDocument = {title, text};
  setPhase(Phase::Reading);
  m_engine->attachDocument(title, text);
}

void AppState::attachFile(const QString& path) {
  if (m_phase == Phase::NoModel) return refuseDocument(QFileInfo(path).fileName());
  m_imports.add(path);
}

void AppState::listShelf() {
  m_engine->listShelf();
}

void AppState::attachShelved(const QString& id, const QString& title) {
  if (m_phase != Phase::Ready) return;
  dismissResume();
  m_sentDocument = {title, {}};
  setPhase(Phase::Reading);
  m_engine->attachShelved(id);
}

void AppState::keepDocument(const QString& id) {
  m_engine->keepDocument(id);
}

void AppState::removeDocument(const QString& id) {
  m_engine->removeDocument(id);
}

void AppState::stop() {
  const bool isOpening = m_phase == Phase::Opening;
  if (!isOpening) m_isStopAsked = true;
  leave();
  if (isOpening) m_openingCut = Cut::ByUser;
}

void AppState::leave() {
  QStringList dropped;
  for (const auto& document : std::exchange(m_waiting, {})) dropped.append(document.first);
  dropped += m_imports.stop();
  if (dropped.size() == 1)
    Q_EMIT noticeShown(tr("\"%1\" was stopped and not attached.").arg(dropped.first()));
  if (dropped.size() > 1)
    Q_EMIT noticeShown(tr("%1 documents were stopped and not attached.").arg(dropped.size()));
  if (m_phase == Phase::Opening) m_openingCut = Cut::Newer;
  if (doesEngineStop()) m_engine->stop();
}

void AppState::setThinking(bool thinks) {
  m_engine->setThinking(thinks);
}

void AppState::noteTyping() {
  m_engine->pauseIdle();
  m_typingRest.start();
}

// Not a request that packing goes on after, where it makes way for who writes, or has failed.
void AppState::previewChat(const ChatSettings& settings) {
  m_engine->previewChat(settings);
  if (m_typingRest.isActive() || m_hasIdleFailed) m_engine->pauseIdle();
}

void AppState::applyToChat(const ChatSettings& settings) {
  if (m_phase != Phase::Ready) return;
  dismissResume();
  setPhase(Phase::Applying);
  m_engine->applyToChat(settings);
}

void AppState::dismissResume() {
  if (m_resume.kind == ResumeState::Hidden) return;
  m_resume = {};
  Q_EMIT resumeChanged();
}

void AppState::showError(const QString& code, const QString& message) {
  Q_EMIT errorShown(code, message);
  if (m_isEngineLost) return offerRetry();
  if (canTryAgain()) Q_EMIT cpuOffered();
}

}  // namespace satchel::ui
