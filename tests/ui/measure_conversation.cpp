// Prints what the conversation view costs; nothing is judged here. The aims: first paint of 2,000
// messages <= 150 ms, a delta <= 8 ms (half a frame).
//   measure_conversation
#include <QApplication>
#include <QElapsedTimer>
#include <algorithm>
#include <cstdio>
#include <vector>

#include "scenes.h"
#include "ui/widgets/conversation/conversation_view.h"
#include "ui/widgets/theme.h"

namespace {

using namespace satchel::ui;
using namespace Qt::StringLiterals;

constexpr int kMessages = 2000, kPieces = 600;

QList<Message> longConversation() {
  QList<Message> messages;
  for (int i = 0; i < kMessages / 2; ++i) {
    messages.append(userMessage(u"Question %1: what about the visits of this week?"_s.arg(i)));
    messages.append(answerMessage(sampleMarkdown()));
  }
  return messages;
}

double milliseconds(const QElapsedTimer& timer) {
  return double(timer.nsecsElapsed()) / 1e6;
}

void report(const char* what, std::vector<double>& times) {
  std::sort(times.begin(), times.end());
  std::printf("%s, behind %d messages: median %.2f ms, 99 %% %.2f ms, most %.2f ms\n", what,
              kMessages, times[times.size() / 2], times[times.size() * 99 / 100], times.back());
}

}  // namespace

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication app(argc, argv);
  applyAppearance(app, Appearance::Light);
  ConversationModel model;
  ConversationView view;
  view.resize(760, 700);
  view.setConversation(&model);
  view.show();
  Scene::settle();
  view.grab();

  const QList<Message> messages = longConversation();
  QElapsedTimer timer;
  timer.start();
  model.load(messages);
  Scene::settle();
  view.grab();
  std::printf("first paint of %d messages: %.1f ms\n", kMessages, milliseconds(timer));

  model.beginAnswer({});
  Scene::settle();
  std::vector<double> laidOut, painted;
  for (int i = 0; i < kPieces; ++i) {
    const QString delta = i % 40 == 39 ? u".\n\n"_s : u" word"_s;
    timer.restart();
    model.appendDelta(delta);
    laidOut.push_back(milliseconds(timer));
    Scene::settle();
    timer.restart();
    view.viewport()->repaint();
    painted.push_back(milliseconds(timer));
  }
  report("a delta taken in and laid out", laidOut);
  report("the whole view painted after it", painted);
  return 0;
}
