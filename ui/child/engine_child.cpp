#include "ui/child/engine_child.h"

#include <fcntl.h>
#include <unistd.h>

#include <QCoreApplication>
#include <array>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <string_view>
#include <utility>

#include "runtime/gguf/mapping_guard.h"
#include "ui/child/child_engine.h"
#include "ui/child/engine_wire.h"

namespace satchel::ui {

EngineServer::EngineServer(int in, int out, Make make)
    : m_in(in), m_out(out), m_make(std::move(make)), m_hasInput(in, QSocketNotifier::Read) {
  connect(&m_hasInput, &QSocketNotifier::activated, this, &EngineServer::read);
}

void EngineServer::finish() {
  m_hasInput.setEnabled(false);
  Q_EMIT finished();
}

void EngineServer::read() {
  std::array<char, 64 << 10> bytes;
  const ssize_t count = ::read(m_in, bytes.data(), bytes.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count <= 0) return finish();
  m_frames.add({bytes.data(), std::size_t(count)});
  while (const auto message = m_frames.next()) {
    if (answer(*message)) continue;
    std::fprintf(stderr, "satchel: the engine was sent what is no request; it ends\n");
    return finish();
  }
  if (m_frames.isBroken()) finish();
}

bool EngineServer::answer(std::string_view message) {
  if (m_engine != nullptr) return answerRequest(message, *m_engine);
  WireReader from(message);
  const auto setup = take<EngineSetup>(from);
  if (!setup || !from.isDone()) return false;
  open(*setup);
  return true;
}

void EngineServer::open(const EngineSetup& setup) {
  Result<std::unique_ptr<EngineClient>> made = m_make(setup);
  if (!made.ok()) {
    say(saidBytes(Opening{made.error()}));
    return finish();
  }
  m_engine = std::move(made).value();
  connect(m_engine.get(), &EngineClient::happened, this, [this](const runtime::ChatEvent& event) {
    std::string message = saidBytes(event);
    if (message.size() > kFrameBytesMost)
      message = saidBytes(runtime::ChatEvent(runtime::Failed{
          runtime::ChatTask::open_chat,
          {ErrorKind::unsupported, "MESSAGE_SIZE",
           "This chat is too long for the window: its text is larger than 1 GiB."}}));
    say(message);
  });
  say(saidBytes(Opening{}));
}

// Waits for the window where that is busy: the engine itself has a thread of its own.
void EngineServer::say(const std::string& message) {
  const std::string frame = framed(message);
  std::string_view left = frame;
  while (!left.empty()) {
    const ssize_t count = ::write(m_out, left.data(), left.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return finish();
    left.remove_prefix(std::size_t(count));
  }
}

int engineChild(int argc, char** argv, ChatWriter writer) {
  if (argc != 2 || std::string_view(argv[1]) != kEngineChild) return -1;
  // The window ends on these, and closes the pipe.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ}) std::signal(number, SIG_IGN);
  runtime::guard_mappings();
  const int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return 1;
  QCoreApplication application(argc, argv);
  std::setlocale(LC_NUMERIC, "C");  // Qt took the system's; the runtime reads and writes points
  EngineServer server(STDIN_FILENO, out, [&](const EngineSetup& setup) {
    applyLanguage(application, setup.language);
    return openInProcess(setup, writer);
  });
  // Queued: it may have finished before the loop has begun.
  QObject::connect(&server, &EngineServer::finished, &application, &QCoreApplication::quit,
                   Qt::QueuedConnection);
  const int code = QCoreApplication::exec();
  alarm(kEngineEndSeconds);  // a driver that does not come back would keep it for ever
  return code;
}

}  // namespace satchel::ui
