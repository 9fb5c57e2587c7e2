// ServerSwitch: `satchel serve` as a process of this window's, for other programs on this machine.
// It ends with the window, however that ends, and keeps no chats.
//   states   Off -> Starting -> On -> Stopping -> Off; Failed, if it ended by itself
//   token    a new one each time, in a file that only this user can read
//   threads  the main thread
#pragma once

#include <QObject>
#include <QProcess>
#include <QStringList>
#include <QTemporaryFile>
#include <memory>

namespace satchel::ui {

// What is served; each as `satchel serve` takes it.
struct ServerStart {
  QString model = {};  // a path
  int port = 8421;
  QString recipe = {};
  quint64 limitBytes = 0;  // 0: the default
};

class ServerSwitch : public QObject {
  Q_OBJECT

 public:
  enum class State { Off, Starting, On, Stopping, Failed };

  // program: satchel; empty: there is none here
  explicit ServerSwitch(const QString& program, QObject* parent = nullptr);
  ~ServerSwitch() override;  // ends it

  bool isThere() const { return !m_program.isEmpty(); }
  State state() const { return m_state; }
  bool isRunning() const { return m_state != State::Off && m_state != State::Failed; }
  void start(const ServerStart& start);
  void stop();

  const QString& address() const { return m_address; }  // "http://127.0.0.1:8421/v1"; empty: not On
  const QString& token() const { return m_token; }
  const QString& model() const { return m_model; }  // its name; empty: not On
  // What it says, the newest last; of long logs the end.
  const QStringList& log() const { return m_log; }
  // In a sentence, for people.
  QString text() const;

 Q_SIGNALS:
  void changed();
  void logged(const QString& line);

 private:
  bool makeToken();
  void setState(State state);
  void readAnswer();
  void readLog();
  void onEnded();
  void fail(const QString& why);

  const QString m_program;
  QProcess m_process;
  std::unique_ptr<QTemporaryFile> m_tokenFile;
  State m_state = State::Off;
  QString m_address, m_token, m_model, m_error;
  QByteArray m_said, m_logged;
  QStringList m_log;
};

}  // namespace satchel::ui
