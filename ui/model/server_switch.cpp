#include "ui/model/server_switch.h"

#include <sys/prctl.h>

#include <QDir>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRandomGenerator>
#include <QStandardPaths>
#include <csignal>

namespace satchel::ui {
namespace {

constexpr qsizetype kLinesMost = 500;
constexpr int kEndMs = 3000;    // a server that answers ends its answers first
constexpr int kTokenWords = 8;  // of 32 bits

}  // namespace

ServerSwitch::ServerSwitch(const QString& program, QObject* parent)
    : QObject(parent), m_program(program) {
  // A window that is killed cannot end it.
  m_process.setChildProcessModifier([] { ::prctl(PR_SET_PDEATHSIG, SIGTERM); });
  connect(&m_process, &QProcess::readyReadStandardOutput, this, &ServerSwitch::readAnswer);
  connect(&m_process, &QProcess::readyReadStandardError, this, &ServerSwitch::readLog);
  connect(&m_process, &QProcess::finished, this, &ServerSwitch::onEnded);
  connect(&m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) fail(tr("%1 cannot be started.").arg(m_program));
  });
}

ServerSwitch::~ServerSwitch() {
  m_process.disconnect(this);
  if (m_process.state() == QProcess::NotRunning) return;
  m_process.terminate();
  if (!m_process.waitForFinished(kEndMs)) m_process.kill();
  m_process.waitForFinished(kEndMs);
}

// In the user's own folder of this session, which goes with it.
bool ServerSwitch::makeToken() {
  m_token.clear();
  for (int i = 0; i < kTokenWords; ++i)
    m_token += QStringLiteral("%1").arg(QRandomGenerator::system()->generate(), 8, 16, QChar(u'0'));
  QString folder = QStandardPaths::writableLocation(QStandardPaths::RuntimeLocation);
  if (folder.isEmpty()) folder = QDir::tempPath();
  m_tokenFile = std::make_unique<QTemporaryFile>(folder + QStringLiteral("/satchel-token-XXXXXX"));
  return m_tokenFile->open() && m_tokenFile->setPermissions(QFile::ReadOwner | QFile::WriteOwner) &&
         m_tokenFile->write(m_token.toUtf8()) == m_token.size() && m_tokenFile->flush();
}

void ServerSwitch::start(const ServerStart& start) {
  if (isRunning() || !isThere()) return;
  m_log.clear();
  m_said.clear();
  m_logged.clear();
  m_error.clear();
  if (!makeToken()) return fail(tr("The token cannot be written to a file."));
  QStringList arguments = {QStringLiteral("serve"),        QStringLiteral("--json"),
                           QStringLiteral("--model"),      start.model,
                           QStringLiteral("--port"),       QString::number(start.port),
                           QStringLiteral("--token-file"), m_tokenFile->fileName()};
  if (!start.recipe.isEmpty()) arguments += {QStringLiteral("--recipe"), start.recipe};
  if (start.limitBytes > 0)
    arguments += {QStringLiteral("--budget"), QString::number(start.limitBytes)};
  setState(State::Starting);
  m_process.start(m_program, arguments, QIODevice::ReadOnly);
}

void ServerSwitch::stop() {
  if (!isRunning() || m_state == State::Stopping) return;
  setState(State::Stopping);
  m_process.terminate();
}

void ServerSwitch::setState(State state) {
  m_state = state;
  if (state != State::On && state != State::Stopping) {
    m_address.clear();
    m_model.clear();
  }
  if (!isRunning()) m_tokenFile.reset();
  Q_EMIT changed();
}

// One document: where it listens, or why it does not.
void ServerSwitch::readAnswer() {
  m_said += m_process.readAllStandardOutput();
  const QJsonObject said = QJsonDocument::fromJson(m_said).object();
  if (said.contains(QStringLiteral("url")) && m_state == State::Starting) {
    m_address = said[QStringLiteral("url")].toString() + QStringLiteral("/v1");
    m_model = said[QStringLiteral("model")].toString();
    setState(State::On);
  }
  if (said.contains(QStringLiteral("error")))
    m_error = said[QStringLiteral("error")][QStringLiteral("message")].toString();
}

void ServerSwitch::readLog() {
  m_logged += m_process.readAllStandardError();
  for (qsizetype end; (end = m_logged.indexOf('\n')) >= 0; m_logged.remove(0, end + 1)) {
    const QString line = QString::fromUtf8(m_logged.left(end)).trimmed();
    if (line.isEmpty()) continue;
    m_log.append(line);
    if (m_log.size() > kLinesMost) m_log.removeFirst();
    Q_EMIT logged(line);
  }
}

void ServerSwitch::onEnded() {
  readAnswer();
  readLog();
  if (m_state == State::Stopping) return setState(State::Off);
  fail(!m_error.isEmpty() ? m_error : tr("The server ended by itself. Its log says why."));
}

void ServerSwitch::fail(const QString& why) {
  m_error = why;
  setState(State::Failed);
}

QString ServerSwitch::text() const {
  switch (m_state) {
    case State::Off:
      return isThere() ? tr("Off.") : tr("The program satchel is not installed beside this one.");
    case State::Starting:
      return tr("Starting: the model is being loaded…");
    case State::On:
      return tr("On. %1 answers other programs on this machine.").arg(m_model);
    case State::Stopping:
      return tr("Stopping…");
    case State::Failed:
      return m_error;
  }
  return {};
}

}  // namespace satchel::ui
