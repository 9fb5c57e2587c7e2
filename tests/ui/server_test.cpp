// The switch of the server, on a program that behaves as `satchel serve` does.
#include <gtest/gtest.h>

#include <QFile>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QTest>
#include <csignal>

#include "scenes.h"
#include "ui/widgets/server_dialog.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;
using State = ServerSwitch::State;

// A script that writes its arguments and the token's file to `seen`, then does what it is told.
class Program {
 public:
  explicit Program(const QByteArray& then) {
    QFile file(path());
    EXPECT_TRUE(file.open(QIODevice::WriteOnly));
    file.write("#!/bin/sh\necho \"$@\" > " + seenPath() + "\n" +
               "while [ $# -gt 1 ]; do [ \"$1\" = --token-file ] && file=$2; shift; done\n" +
               "stat -c %a \"$file\" >> " + seenPath() + "\ncat \"$file\" >> " + seenPath() + "\n" +
               "echo $file > " + seenPath() + ".file\n" + then);
    file.setPermissions(QFile::ReadOwner | QFile::ExeOwner);
  }
  QString path() const { return m_folder.filePath(u"satchel"_s); }
  QByteArray seenPath() const { return m_folder.filePath(u"seen"_s).toUtf8(); }
  QStringList seen() const {
    QFile file(QString::fromUtf8(seenPath()));
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()).split(u'\n')
                                          : QStringList();
  }
  QString tokenFile() const {
    QFile file(QString::fromUtf8(seenPath() + ".file"));
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()).trimmed() : QString();
  }

 private:
  QTemporaryDir m_folder;
};

const QByteArray kServes =
    "echo loading >&2\n"
    "echo '{\"schema\": 1, \"url\": \"http://127.0.0.1:8421\", \"port\": 8421, \"model\": "
    "\"tiny\"}'\n"
    "trap 'echo bye >&2; exit 130' TERM\nwhile :; do sleep 0.05; done\n";

bool waitFor(const ServerSwitch& server, State state) {
  return QTest::qWaitFor([&] { return server.state() == state; }, 20'000);
}

TEST(ServerSwitch, starts_says_where_it_is_and_stops) {
  const Program program(kServes);
  ServerSwitch server(program.path());
  EXPECT_EQ(server.text(), u"Off."_s);
  server.start({.model = u"/m/a b.gguf"_s, .port = 9000, .recipe = u"compact"_s, .limitBytes = 5});
  EXPECT_EQ(server.state(), State::Starting);
  ASSERT_TRUE(waitFor(server, State::On)) << server.text().toStdString();
  EXPECT_EQ(server.address(), u"http://127.0.0.1:8421/v1"_s);
  EXPECT_EQ(server.model(), u"tiny"_s);
  const QStringList seen = program.seen();
  ASSERT_GE(seen.size(), 3);
  EXPECT_TRUE(seen[0].startsWith(u"serve --json --model /m/a b.gguf --port 9000 --token-file "_s));
  EXPECT_TRUE(seen[0].endsWith(u"--recipe compact --budget 5"_s)) << seen[0].toStdString();
  EXPECT_EQ(seen[1], u"600"_s) << "the token is nobody else's";
  EXPECT_EQ(seen[2], server.token());
  EXPECT_EQ(server.token().size(), 64);
  EXPECT_TRUE(QFile::exists(program.tokenFile()));
  const QString token = server.token();
  server.stop();
  ASSERT_TRUE(waitFor(server, State::Off)) << server.text().toStdString();
  EXPECT_EQ(server.log(), (QStringList{u"loading"_s, u"bye"_s}));
  EXPECT_TRUE(server.address().isEmpty());
  EXPECT_FALSE(QFile::exists(program.tokenFile()));
  server.start({.model = u"m"_s});
  ASSERT_TRUE(waitFor(server, State::On));
  EXPECT_NE(server.token(), token) << "each time another";
}

TEST(ServerSwitch, says_why_it_did_not_start_or_ended) {
  const Program refused(
      "echo 'satchel: The port is taken. [BIND]' >&2\n"
      "echo '{\"error\": {\"code\": \"BIND\", \"message\": \"The port is taken.\"}}'\nexit 8\n");
  ServerSwitch server(refused.path());
  server.start({.model = u"m"_s});
  ASSERT_TRUE(waitFor(server, State::Failed));
  EXPECT_EQ(server.text(), u"The port is taken."_s);
  EXPECT_FALSE(server.isRunning());
  const Program dies("echo 'out of memory' >&2\nkill -9 $$\n");
  ServerSwitch other(dies.path());
  other.start({.model = u"m"_s});
  ASSERT_TRUE(waitFor(other, State::Failed));
  EXPECT_EQ(other.log(), QStringList{u"out of memory"_s});
  ServerSwitch none(u"/nowhere/satchel"_s);
  none.start({.model = u"m"_s});
  ASSERT_TRUE(waitFor(none, State::Failed));
  EXPECT_TRUE(none.text().contains(u"/nowhere/satchel"_s));
}

TEST(ServerSwitch, ends_with_its_owner) {
  const Program program("echo $$ >> " + QByteArray("\"$file\".pid\n") + kServes);
  QString pidFile;
  {
    ServerSwitch server(program.path());
    server.start({.model = u"m"_s});
    ASSERT_TRUE(waitFor(server, State::On));
    pidFile = program.tokenFile() + u".pid"_s;
  }
  QFile file(pidFile);
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  const int pid = file.readAll().trimmed().toInt();
  file.remove();
  ASSERT_GT(pid, 1);
  EXPECT_NE(::kill(pid, 0), 0) << "it is gone";
}

TEST(ServerDialog, switches_it_on_and_off_by_the_keyboard_and_shows_what_clients_need) {
  const Program program(kServes);
  ServerSwitch server(program.path());
  ServerDialog dialog(&server, [] { return ServerStart{.model = u"/m/tiny.gguf"_s}; });
  dialog.setAttribute(Qt::WA_DeleteOnClose, false);
  dialog.show();
  dialog.port()->setValue(9001);
  dialog.switchButton()->setFocus();
  QTest::keyClick(dialog.switchButton(), Qt::Key_Space);
  EXPECT_FALSE(dialog.port()->isEnabled());
  ASSERT_TRUE(waitFor(server, State::On));
  EXPECT_TRUE(program.seen()[0].contains(u"--port 9001"_s));
  EXPECT_EQ(dialog.address()->text(), server.address());
  EXPECT_EQ(dialog.token()->text(), server.token());
  EXPECT_EQ(dialog.stateText(), u"On. tiny answers other programs on this machine."_s);
  EXPECT_TRUE(dialog.log()->toPlainText().contains(u"loading"_s));
  QTest::keyClick(dialog.switchButton(), Qt::Key_Space);
  ASSERT_TRUE(waitFor(server, State::Off));
  EXPECT_TRUE(dialog.token()->text().isEmpty());
}

TEST(ServerDialog, cannot_start_what_is_not_there) {
  ServerSwitch none(QString{});
  ServerDialog dialog(&none, [] { return ServerStart{.model = u"/m/tiny.gguf"_s}; });
  dialog.setAttribute(Qt::WA_DeleteOnClose, false);
  EXPECT_FALSE(dialog.switchButton()->isEnabled());
  ServerSwitch server(u"/bin/true"_s);
  ServerDialog noModel(&server, [] { return ServerStart(); });
  noModel.setAttribute(Qt::WA_DeleteOnClose, false);
  EXPECT_FALSE(noModel.switchButton()->isEnabled());
}

}  // namespace
}  // namespace satchel::ui
