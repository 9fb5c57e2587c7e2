#include "ui/child/child_engine.h"

#include <QCoreApplication>
#include <csignal>
#include <cstring>
#include <type_traits>
#include <utility>

#include "ui/child/engine_child.h"
#include "ui/child/engine_wire.h"
#include "ui/model/engine_values.h"

namespace satchel::ui {
namespace {

constexpr int kKillMs = 1000;  // chosen; the kernel needs no more to end a process

template <auto kMethod>
constexpr bool isAskedByUser() {
  return requestNumber<kMethod>() == requestNumber<&EngineClient::openModel>() ||
         requestNumber<kMethod>() == requestNumber<&EngineClient::openChat>();
}

Error engineEnded(const QString& what) {
  const QString kept = ChildEngine::tr("Your messages are saved.");
  return {ErrorKind::internal, "ENGINE_ENDED", (what + u' ' + kept).toStdString()};
}

}  // namespace

ChildEngine::ChildEngine(QString program, QStringList arguments, EngineSetup setup, QObject* parent)
    : EngineClient(parent),
      m_program(std::move(program)),
      m_arguments(std::move(arguments)),
      m_setup(std::move(setup)) {}

// Not by its name: an update may have put another program there.
ChildEngine::ChildEngine(EngineSetup setup, QObject* parent)
    : ChildEngine(QStringLiteral("/proc/self/exe"), {QString::fromUtf8(kEngineChild)},
                  std::move(setup), parent) {}

ChildEngine::~ChildEngine() {
  if (!m_process) return;
  m_process->disconnect(this);
  m_process->closeWriteChannel();  // behind what was asked for
  if (m_process->waitForFinished(int(kEngineEndSeconds + 1) * 1000)) return;
  m_process->kill();
  m_process->waitForFinished(kKillMs);
}

void ChildEngine::start() {
  ++m_startsTried;
  m_frames = {};
  m_isOpen = false;
  m_process = std::make_unique<QProcess>();
  m_process->setProcessChannelMode(QProcess::ForwardedErrorChannel);
  QProcess* process = m_process.get();
  connect(process, &QProcess::readyReadStandardOutput, this, &ChildEngine::hear);
  connect(process, &QProcess::finished, this, [this, process] {
    if (process == m_process.get()) hear();  // its last words
    if (process == m_process.get()) end(endOf(*process));
  });
  connect(process, &QProcess::errorOccurred, this, [this, process](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart && process == m_process.get()) end(endOf(*process));
  });
  process->start(m_program, m_arguments);
  std::string setup;
  put(setup, m_setup);
  say(setup);
  for (const auto& [number, request] : m_standing) say(request);
}

// Where it could not be started nobody hears, and ended() has said so.
void ChildEngine::say(const std::string& message) {
  if (!m_process) return;
  const std::string frame = framed(message);
  m_process->write(frame.data(), qint64(frame.size()));
}

void ChildEngine::hear() {
  const QByteArray bytes = m_process->readAllStandardOutput();
  m_frames.add({bytes.data(), std::size_t(bytes.size())});
  const QProcess* process = m_process.get();
  // What is told may ask, and an engine that ended meanwhile be another one.
  while (process == m_process.get()) {
    const auto message = m_frames.next();
    if (!message && !m_frames.isBroken()) return;
    auto said = message ? saidIn(*message) : std::nullopt;
    if (!said) {
      m_process->kill();
      return end(engineEnded(tr("The engine said what cannot be understood, and was ended.")));
    }
    if (auto* event = std::get_if<runtime::ChatEvent>(&*said)) {
      m_startsTried = 0;
      Q_EMIT happened(*event);
    } else if (auto& opening = std::get<Opening>(*said); opening.error) {
      return end(*opening.error);
    } else {
      m_isOpen = true;
    }
  }
}

// Not deleted here: a signal of the process may have led here.
void ChildEngine::end(Error error) {
  QProcess* process = m_process.release();
  process->disconnect(this);
  connect(process, &QProcess::finished, process, &QObject::deleteLater);
  if (process->state() == QProcess::NotRunning) process->deleteLater();
  m_end = std::move(error);
  Q_EMIT ended(m_end);
}

Error ChildEngine::endOf(const QProcess& process) const {
  if (process.error() == QProcess::FailedToStart)
    return engineEnded(tr("The engine cannot be started: %1.").arg(process.errorString()));
  const int code = process.exitCode();
  if (process.exitStatus() == QProcess::NormalExit)
    return engineEnded(tr("The engine ended by itself (exit code %1).").arg(code));
  if (code == SIGKILL)
    return engineEnded(
        tr("The engine was ended from outside (signal 9), as the system does where "
           "memory runs out."));
  return engineEnded(
      tr("The engine crashed (signal %1, %2).").arg(code).arg(textOf(strsignal(code))));
}

Result<void> ChildEngine::open() {
  start();
  while (m_process && !m_isOpen) {
    if (m_process->waitForReadyRead(-1)) continue;
    // Its end, which the signals tell.
    if (m_process && m_process->state() == QProcess::NotRunning) end(endOf(*m_process));
  }
  if (!m_isOpen) return m_end;
  return {};
}

template <auto kMethod, class... Args>
void ChildEngine::ask(const Args&... args) {
  if (!m_process) {
    if (!isAskedByUser<kMethod>() && m_startsTried >= kStartsMost) {
      QMetaObject::invokeMethod(
          this, [this] { Q_EMIT ended(m_end); }, Qt::QueuedConnection);
      return;
    }
    start();
  }
  say(requestBytes<kMethod>(args...));
}

template <auto kMethod, class... Args>
void ChildEngine::askIfThere(const Args&... args) {
  say(requestBytes<kMethod>(args...));
}

template <auto kMethod, class... Args>
void ChildEngine::askAlways(const Args&... args) {
  m_standing[requestNumber<kMethod>()] = requestBytes<kMethod>(args...);
  askIfThere<kMethod>(args...);
}

void ChildEngine::openModel(const QString& path) {
  ask<&EngineClient::openModel>(path);
}

void ChildEngine::useCpu() {
  m_setup.backend = "cpu";
  askIfThere<&EngineClient::useCpu>();
}

void ChildEngine::listChats() {
  ask<&EngineClient::listChats>();
}

void ChildEngine::newChat(const ChatSettings& settings, const runtime::AnswerSettings& answers) {
  ask<&EngineClient::newChat>(settings, answers);
}

void ChildEngine::openChat(ChatKey chat) {
  ask<&EngineClient::openChat>(chat);
}

void ChildEngine::renameChat(ChatKey chat, const QString& title) {
  ask<&EngineClient::renameChat>(chat, title);
}

void ChildEngine::setFolder(ChatKey chat, const QString& folder) {
  ask<&EngineClient::setFolder>(chat, folder);
}

void ChildEngine::setAtTop(ChatKey chat, bool isAtTop) {
  ask<&EngineClient::setAtTop>(chat, isAtTop);
}

void ChildEngine::keepStopped(ChatKey chat, qint64 answer) {
  ask<&EngineClient::keepStopped>(chat, answer);
}

void ChildEngine::exportChat(ChatKey chat, const QString& path) {
  ask<&EngineClient::exportChat>(chat, path);
}

void ChildEngine::deleteChat(ChatKey chat) {
  ask<&EngineClient::deleteChat>(chat);
}

void ChildEngine::restoreChat(ChatKey chat) {
  ask<&EngineClient::restoreChat>(chat);
}

void ChildEngine::deleteNow(ChatKey chat) {
  ask<&EngineClient::deleteNow>(chat);
}

void ChildEngine::deleteCopy(const QString& name) {
  ask<&EngineClient::deleteCopy>(name);
}

void ChildEngine::listDeleted() {
  ask<&EngineClient::listDeleted>();
}

void ChildEngine::search(const QString& words) {
  ask<&EngineClient::search>(words);
}

void ChildEngine::send(const QString& text) {
  ask<&EngineClient::send>(text);
}

void ChildEngine::sendInstead(qint64 message, const QString& text) {
  ask<&EngineClient::sendInstead>(message, text);
}

void ChildEngine::correct(qint64 message, const QString& text) {
  ask<&EngineClient::correct>(message, text);
}

void ChildEngine::readExactly() {
  ask<&EngineClient::readExactly>();
}

void ChildEngine::answerAgain(qint64 answer) {
  ask<&EngineClient::answerAgain>(answer);
}

void ChildEngine::answerLast() {
  ask<&EngineClient::answerLast>();
}

void ChildEngine::switchTo(qint64 version) {
  ask<&EngineClient::switchTo>(version);
}

void ChildEngine::setMark(qint64 message, MessageMark mark) {
  ask<&EngineClient::setMark>(message, mark);
}

void ChildEngine::askAll(const QString& question) {
  ask<&EngineClient::askAll>(question);
}

void ChildEngine::attachDocument(const QString& title, const QString& text) {
  ask<&EngineClient::attachDocument>(title, text);
}

void ChildEngine::listShelf() {
  ask<&EngineClient::listShelf>();
}

void ChildEngine::keepDocument(const QString& id) {
  ask<&EngineClient::keepDocument>(id);
}

void ChildEngine::removeDocument(const QString& id) {
  ask<&EngineClient::removeDocument>(id);
}

void ChildEngine::attachShelved(const QString& id) {
  ask<&EngineClient::attachShelved>(id);
}

void ChildEngine::setAnswers(const runtime::AnswerSettings& answers) {
  ask<&EngineClient::setAnswers>(answers);
}

void ChildEngine::listPrompts() {
  ask<&EngineClient::listPrompts>();
}

void ChildEngine::keepPrompt(const QString& name, const QString& text) {
  ask<&EngineClient::keepPrompt>(name, text);
}

void ChildEngine::removePrompt(const QString& name) {
  ask<&EngineClient::removePrompt>(name);
}

void ChildEngine::setThinking(bool thinks) {
  askAlways<&EngineClient::setThinking>(thinks);
}

void ChildEngine::goOn() {
  ask<&EngineClient::goOn>();
}

void ChildEngine::findQuotes(qint64 answer) {
  ask<&EngineClient::findQuotes>(answer);
}

void ChildEngine::showHeld() {
  ask<&EngineClient::showHeld>();
}

void ChildEngine::showAttended() {
  ask<&EngineClient::showAttended>();
}

void ChildEngine::listParts() {
  ask<&EngineClient::listParts>();
}

void ChildEngine::nameParts(const std::vector<std::size_t>& parts) {
  ask<&EngineClient::nameParts>(parts);
}

void ChildEngine::estimatePresets(quint64 budgetBytes) {
  ask<&EngineClient::estimatePresets>(budgetBytes);
}

void ChildEngine::previewChat(const ChatSettings& settings) {
  ask<&EngineClient::previewChat>(settings);
}

void ChildEngine::applyToChat(const ChatSettings& settings) {
  ask<&EngineClient::applyToChat>(settings);
}

void ChildEngine::stop() {
  askIfThere<&EngineClient::stop>();
}

void ChildEngine::pauseIdle() {
  askIfThere<&EngineClient::pauseIdle>();
}

void ChildEngine::resumeIdle() {
  askIfThere<&EngineClient::resumeIdle>();
}

}  // namespace satchel::ui
