// Prints what an engine in a process of its own costs beside one in this process: tokens per
// second, a request with its answer, and a long chat as bytes. Nothing is judged here. The aim: a
// delta is shown within half a frame, 8 ms.
//   measure_engine MODEL [ROUNDS]
#include <QCoreApplication>
#include <QElapsedTimer>
#include <QTemporaryDir>
#include <algorithm>
#include <cstdio>
#include <vector>

#include "life.h"
#include "ui/child/engine_child.h"
#include "ui/child/engine_wire.h"

namespace {

using namespace satchel;
using namespace satchel::ui;

constexpr int kTrips = 1000, kMessages = 2000;
constexpr auto kQuestion = u"Tell me a long story about a bell that was cast in a village.";

double milliseconds(const QElapsedTimer& timer) {
  return double(timer.nsecsElapsed()) / 1e6;
}
double share(std::vector<double>& values, double which) {
  std::sort(values.begin(), values.end());
  return values[std::size_t(which * double(values.size() - 1))];
}

struct Figures {
  std::vector<double> opens, tokensPerSecond, trips;
  std::size_t nTokens = 0;
};

bool measure(EngineKind kind, const QString& model, Figures& to) {
  const QTemporaryDir folder;
  QElapsedTimer timer;
  timer.start();
  Life life(folder.path(), {}, "cpu", kind);
  to.opens.push_back(milliseconds(timer));
  EventSpy<runtime::GenerateReport> answered(&life.engine);
  if (!life.openModel(model) || !life.send(QString::fromUtf16(kQuestion))) return false;
  const runtime::GenerateReport& report = answered.last();
  to.nTokens = report.n_tokens;
  to.tokensPerSecond.push_back(double(report.n_tokens) * 1000 / report.ms);
  life.engine.pauseIdle();
  int n = 0;
  const EventSpy<runtime::OlderParts> listed(&life.engine, [&](const auto&) { ++n; });
  for (int i = 0; i < kTrips; ++i) {
    timer.start();
    life.engine.listParts();
    while (n <= i) QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
    to.trips.push_back(milliseconds(timer));
  }
  return true;
}

void print(const char* what, Figures& figures) {
  std::printf(
      "%s: opened in %.0f ms; %.1f tokens/s (median of %zu answers of %zu tokens); "
      "a request and its answer: median %.3f ms, 99 %% %.3f ms\n",
      what, share(figures.opens, 0.5), share(figures.tokensPerSecond, 0.5),
      figures.tokensPerSecond.size(), figures.nTokens, share(figures.trips, 0.5),
      share(figures.trips, 0.99));
}

void measureBytes() {
  runtime::StoredMessage message;
  message.text = std::string(2000, 'x');
  const runtime::ChatEvent event =
      runtime::MessagesReplaced{{}, std::vector<runtime::StoredMessage>(kMessages, message)};
  QElapsedTimer timer;
  timer.start();
  const std::string bytes = saidBytes(event);
  const double put = milliseconds(timer);
  timer.start();
  const bool whole = saidIn(bytes).has_value();
  std::printf("%d messages, %.1f MB: %.2f ms into bytes, %.2f ms back%s\n", kMessages,
              double(bytes.size()) / 1e6, put, milliseconds(timer), whole ? "" : " FAILED");
}

}  // namespace

int main(int argc, char** argv) {
  if (const int code = engineChild(argc, argv); code >= 0) return code;
  if (argc < 2) return 2;
  const QCoreApplication app(argc, argv);
  const QString model = QString::fromLocal8Bit(argv[1]);
  const int rounds = argc > 2 ? std::max(1, std::atoi(argv[2])) : 3;
  Figures here, child;
  for (int i = 0; i < rounds; ++i)  // in turn: what else the machine does hits both
    if (!measure(EngineKind::InProcess, model, here) || !measure(EngineKind::Child, model, child))
      return 1;
  print("in this process   ", here);
  print("in one of its own ", child);
  measureBytes();
  return 0;
}
