// Scenes: a window on a scripted engine with a model open, for tests and pictures. Its figures are
// made up, but plausible for a small model; they are never measurements.
#pragma once

#include <memory>

#include "kernels/base/clock.h"
#include "scripted_engine.h"
#include "ui/model/app_state.h"
#include "ui/widgets/main_window.h"

namespace satchel::ui {

class StillClock final : public Clock {
 public:
  std::int64_t wall_ms() const override { return wall; }
  double steady_ms() const override { return steady; }
  std::int64_t wall = 1'790'000'000'000;
  double steady = 0;
};

struct Scene {
  Scene();
  ~Scene();
  StillClock clock;
  ScriptedEngine engine;
  AppState state;
  std::unique_ptr<MainWindow> window;

  // Shown at this size, all events done.
  void show(int width = 1280, int height = 820);
  void openModel();
  static void settle();
};

// A chat of the library: sampleConversation().
ChatKey addSample(Scene& scene, const QString& preset);
// Chats to stand beside it.
void addChats(Scene& scene);
// The sample among them, open and just resumed.
void openSample(Scene& scene, const QString& preset);
// Open, with quotes of its document in two answers; and the passage of the last one over it
// (quote_scene.cpp).
void showQuotes(Scene& scene);
void showQuotedPassage(Scene& scene);
// Open, the memory limit has just taken something of it; rows with ids.
void showPackedCard(Scene& scene);
// Open, which shows how its words are held, or what its answer looked at (held_scene.cpp).
void showHeld(Scene& scene, HeldLook look);
// Its engine ended in the middle of an answer; and what is offered once it is retried
// (end_scene.cpp).
void showEngineEnded(Scene& scene);
void showAnswerOffered(Scene& scene);
runtime::ModelFacts sampleModel();
// One model's details, and a download that stays where it is.
ModelTools sampleModelTools();
runtime::PresetEstimates samplePreviews();
runtime::ChatMemory sampleCache(const QString& preset, qint64 tokens, std::int64_t wallMs);
// As sampleCache(u"compact"), of which a share of the text is scored and nothing decided yet.
runtime::ChatMemory samplePacking(int percent, qint64 tokens);
// Other settings for that chat under Full: 97.2 MB become 34.2 MB; and back.
runtime::MemoryChange sampleLoss();
runtime::MemoryChange sampleReread(qint64 tokens);
// Six steps of a chat of 4,218 tokens, the last one a minute before `wallMs` and not measured.
runtime::LedgerChanged sampleLedger(std::int64_t wallMs);
// The first ones of a long chat.
runtime::OlderParts sampleParts(int n);
// handbook.md with the chat that read it, minutes.txt kept.
runtime::ShelfListed sampleShelf();
// Of which 6,012 are in reach.
runtime::ChatMemory sampleBeyond(const QString& preset, qint64 tokens, std::int64_t wallMs);
QList<Message> sampleConversation();
QString sampleDocument();
QString sampleMarkdown();
Message userMessage(const QString& text);
Message withId(Message message, qint64 id);
Message answerMessage(const QString& text, const QString& footnote = {});

}  // namespace satchel::ui
