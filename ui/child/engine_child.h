// The engine's process: what ChildEngine starts.
#pragma once

#include <QObject>
#include <QSocketNotifier>
#include <functional>
#include <memory>

#include "ui/child/wire.h"
#include "ui/model/engine_client.h"
#include "ui/model/engine_setup.h"

namespace satchel::ui {

// The only argument of a program that is asked to be the engine.
inline constexpr const char* kEngineChild = "--engine-process";

// Makes an engine of what comes from one pipe, leads requests to it, and its events into another.
class EngineServer : public QObject {
  Q_OBJECT

 public:
  using Make = std::function<Result<std::unique_ptr<EngineClient>>(const EngineSetup&)>;

  // in, out: file descriptors, not owned
  EngineServer(int in, int out, Make make);

 Q_SIGNALS:
  void finished();  // nothing more can come, or be said

 private:
  void read();
  bool answer(std::string_view message);
  void open(const EngineSetup& setup);
  void say(const std::string& message);
  void finish();

  int m_in, m_out;
  Make m_make;
  QSocketNotifier m_hasInput;
  Frames m_frames;
  std::unique_ptr<EngineClient> m_engine;
};

// Where the arguments ask for it: is the engine until the other end of standard input closes, and
// returns the exit code. Else -1. Standard output is the window's; what libraries print goes to
// standard error. Signals that end the window do not end the engine.
//   writer  what exports chats
//   needs   to be called before the program does anything else
int engineChild(int argc, char** argv, ChatWriter writer = {});

}  // namespace satchel::ui
