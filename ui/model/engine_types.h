// What travels between the window and the engine: plain values, copied across threads. Figures are
// the runtime's own structs, so that a number keeps its name from where it was measured to where it
// is drawn.
#pragma once

#include <QDateTime>
#include <QList>
#include <QString>
#include <filesystem>
#include <string>
#include <vector>

#include "kvcache/cache.h"
#include "kvcache/snapshot/journal.h"
#include "runtime/fidelity/fidelity.h"
#include "runtime/governor/estimator.h"
#include "runtime/progress.h"
#include "runtime/session/session.h"

namespace satchel::ui {

// What the engine's machine offers it.
struct EngineHost {
  std::size_t threadCount = 0;       // 0: one per physical core
  std::filesystem::path laneTables;  // folder of tables made here; empty: none is kept
  std::string backend = "auto";      // as runtime::EngineOptions
  std::vector<std::filesystem::path> backendFolders = {};
};

// A model file the user can pick.
struct ModelChoice {
  QString path, title;
  quint64 bytes = 0;
  bool isBundled = false;
};

// A chat's id in the library; 0: a chat that has no message yet and is not in the library.
using ChatKey = qint64;

struct ModelInfo {
  QString path, title;
  QString device;  // the backend, for people
  bool onGpu = false;
  QString whyNotGpu;  // where the GPU was wanted and is not used, for people
  quint64 weightBytes = 0;
  int layerCount = 0;
  int laneCount = 0;  // of all layers
  int contextTokens = 0;
  bool hasChatTemplate = true;     // else it goes on with what is written, as base models do
  bool hasThinkingSwitch = false;  // its chat template can turn thinking off
};

// What a chat begins with, and may be changed to.
struct ChatSettings {
  QString preset = QStringLiteral("full");  // as runtime::resolve_recipe takes it
  quint64 budgetBytes = 0;                  // 0: the default budget

  friend bool operator==(const ChatSettings&, const ChatSettings&) = default;
};

struct ChatEntry {
  ChatKey id = 0;
  QString title;
  QDateTime changed;
};

struct Message {
  qint64 id = 0;
  kvcache::Role role = kvcache::Role::user;
  kvcache::MessageState state = kvcache::MessageState::complete;
  QString text;
  QString documentTitle;  // empty: not a document
  QString footnote;       // measured, for people: "142 tokens · 31 tokens/s"
  QString thoughts;       // of an answer: what was thought before it
  QString thoughtNote;    // over them, for people: "Thought for 4.2 s · 123 tokens"
};

// What was thought before an answer of a saved chat.
struct MessageThoughts {
  qint64 id = 0;  // of the answer
  QString text;
  qint64 tokens = 0;
};

struct OpenedChat {
  ChatEntry entry;
  ChatSettings settings;
  QString recipe;  // its name
  double keep = 1;
  QList<Message> messages;
};

struct CacheState {
  kvcache::CacheStats stats;
  runtime::Fidelity fidelity;
  qint64 readTokens = 0;  // seen by the cache
  qint64 chatTokens = 0;
  qint64 contextTokens = 0;
  bool isPacking = false;     // what may wait is being done now
  double learningShare = -1;  // how much of the model's lane table is made; below 0: not at work
};

struct Preview {
  QString preset;
  runtime::Estimate estimate;  // of the model's whole context
};
// The presets under one budget, from most accurate to smallest.
struct Previews {
  quint64 budgetBytes = 0;  // as asked; 0 was replaced by the default
  quint64 defaultBytes = 0;
  quint64 freeBytes = 0;  // for chats, now: of the GPU where that is used, else of the machine
  QList<Preview> presets;
};

// What other settings would do to the open chat.
struct ChatPreview {
  ChatSettings settings;         // as asked
  runtime::MemoryChange change;  // of a chat in which nothing has been read: all 0
};
// What they did.
struct AppliedSettings {
  ChatSettings settings;
  QString recipe;  // its name
  double keep = 1;
  runtime::MemoryChange change;
  bool isWhole = true;  // else reading it again has ended early
};

// What has made the open chat smaller, and what it still says again.
struct ChatLedger {
  QList<runtime::LedgerEntry> entries;  // oldest first
  runtime::RecallProbe recall;          // n_asked 0: nothing measured
};

struct ReadingProgress {
  runtime::Phase phase = runtime::Phase::read_prompt;
  qint64 done = 0, total = 0;  // read_prompt, restore: tokens; load_model: bytes
};

enum class Request {
  OpenModel,
  ListChats,
  NewChat,
  OpenChat,
  RenameChat,
  DeleteChat,
  RestoreChat,
  Send,
  AttachDocument,
  Preview,
  PreviewChat,
  ApplyToChat,
  UseCpu,
  Save,
  Idle,
};

struct EngineError {
  Request request = Request::OpenModel;
  QString code;     // stable: "MODEL_TRUNCATED"
  QString message;  // for people: what happened, what was kept, what to do
  bool cancelled = false;
  bool isGpus = false;  // the GPU failed, or its memory is full: useCpu() would help
};

}  // namespace satchel::ui
