// MemoryPanelState: everything the memory panel shows, as numbers and sentences; the widgets only
// place them.
//   invariant  a fidelity figure is shown with where it comes from: measured (token, age) or exact
//              by construction; where nothing was measured, no figure is shown
//   source     every predicted byte and token: runtime::estimate, asked through EngineClient; what
//              is predicted of the open chat: ChatPlan (plan())
#pragma once

#include <QHash>
#include <QList>
#include <QObject>
#include <QString>

#include "kernels/base/clock.h"
#include "ui/model/chat_plan.h"
#include "ui/model/engine_types.h"
#include "ui/model/layer_bar.h"
#include "ui/model/ledger_model.h"

namespace satchel::ui {

// One stop of the accuracy <-> memory slider.
struct PresetLine {
  QString preset, title;
  QString explanation;  // what it does to the memory, in a sentence
  QString tokens;       // "31,904 tokens fit"
  QString bytes;        // that the model's whole context will take when it is packed, estimated
  QString fidelity;     // with its tag
  bool fitsContext = false;
  bool isMeasured = false;  // the fidelity is a measurement
};

class MemoryPanelState : public QObject {
  Q_OBJECT

 public:
  // clock: not owned; gives ages
  explicit MemoryPanelState(const Clock* clock, QObject* parent = nullptr);

  // --- what the next new chat gets
  quint64 budgetBytes() const { return m_next.budgetBytes; }
  int presetIndex() const { return m_presetIndex; }
  ChatSettings nextSettings() const;
  bool hasPreviews() const { return !m_previews.presets.empty(); }
  int presetCount() const;
  PresetLine presetLine(int index) const;
  // The slider's ends: from what a short chat needs to what the machine has free.
  quint64 budgetMin() const;
  quint64 budgetMax() const;
  // Slider positions 0 … 1 on a logarithmic scale; values are rounded to two digits.
  double budgetPosition() const;
  quint64 budgetAt(double position) const;
  QString budgetText() const;   // "310 MB"
  QString machineText() const;  // "5.14 GB free on this machine"
  // What the next chat would be, in one or two sentences.
  QString previewText() const;
  // Whether the sliders differ from what the open chat has.
  bool differsFromChat() const;

  // The sliders propose a higher limit for the open chat, with its own preset or with Full: the one
  // that the whole context needs, or else twice the chat's, as far as the machine has it. plan()
  // says what that would do.
  enum class Proposal { HigherLimit, Exactly };
  void propose(Proposal proposal);
  void setBudgetBytes(quint64 bytes);
  void setPresetIndex(int index);

  // --- the open chat
  ChatPlan* plan() { return &m_plan; }  // what the sliders would do to it
  const ChatPlan* plan() const { return &m_plan; }
  LedgerModel* ledger() { return &m_ledger; }
  bool hasChat() const { return m_hasChat; }
  bool isNothingRead() const { return m_cache.stats.fp16_bytes == 0; }
  QString recipeText() const;  // "Compact · recipe satchel, 50 % kept"
  bool isPacking() const {
    return m_cache.is_packing && (m_cache.stats.n_pending > 0 || hasUnread());
  }
  bool isLearning() const { return m_cache.learning_share >= 0; }  // its head-budget profile
  // "compressing… 40 %", "paused at 40 %", "reading… 3 of 12 parts" or "profiling the model…
  // 40 %"; empty: nothing to do.
  QString packingText() const;
  double packingShare() const;   // 0 … 1
  QString bytesText() const;     // "Cache: 4.1 MB for 3,904 tokens, 1.05 MB per 1,000 …"
  QString bodyText() const;      // the body alone
  QString arenaText() const;     // "12 MB of 310 MB"
  QString fidelityText() const;  // "98.4 % same next token · KL 0.012 nats"
  QString fidelityAge() const;  // "measured at token 3,904, 2 min ago"; whether steps came after it
  QString attentionText() const;  // "98.7 % of attention retained"; may be empty
  QString recallText() const;     // "27 of 30 facts repeated correctly, measured …"; may be empty
  QString ledgerText() const;     // "History: 12 steps…"
  // "3,904 of 8,192 tokens", or "6,012 of 29,160 tokens in reach"
  QString contextText() const;
  QString contextTip() const;        // the same, explained
  double contextShare() const;       // in reach; of the chat, where it is longer than the context
  double contextOlderShare() const;  // out of reach, of the chat
  bool contextEnds() const { return !m_cache.goes_on; }  // the chat ends with the context
  // The chat goes on, and is longer than the context: some of it is out of reach.
  bool isBeyond() const { return m_cache.goes_on && m_cache.n_in_context < m_cache.n_tokens; }
  // Tokens that have not seen what stands before them now (Session::n_placed()).
  std::size_t placed() const { return m_cache.n_placed; }
  // Of its documents in parts.
  const std::vector<runtime::PartsRead>& documents() const { return m_cache.documents; }
  double budgetShare() const;  // of the pool in use, 0 … 1
  QList<LayerBar> layerBars() const { return layerBarsOf(m_cache.stats); }

  void setModel(const runtime::ModelFacts& model);
  void setPreviews(const runtime::PresetEstimates& previews);
  void setChat(const runtime::MemorySettings& memory);
  void setCache(const runtime::ChatMemory& cache);
  // What was reclaimed without having been asked for is told: reclaimed(), reclaimedBefore().
  void setLedger(const runtime::LedgerChanged& ledger);
  void setApplied(const runtime::MemorySettings& memory);
  // Packing ended with an error; what waits goes on waiting.
  void endPacking();

 Q_SIGNALS:
  void changed();
  // The budget moved: previews for it are wanted.
  void previewWanted(quint64 budgetBytes);
  // To stay within the limit: steps that are new.
  void reclaimed(const std::vector<satchel::runtime::LedgerEntry>& steps, quint64 limitBytes);
  // Those that a chat had been through when it was opened.
  void reclaimedBefore(const std::vector<satchel::runtime::LedgerEntry>& steps);

 private:
  QString fidelityOfPreset(const QString& preset) const;
  void showRequested();
  bool hasUnread() const;  // parts of a document
  void takeSettings(const runtime::MemorySettings& memory);

  const Clock* m_clock;
  runtime::ModelFacts m_model;
  ChatSettings m_next;
  int m_presetIndex = 0;
  runtime::PresetEstimates m_previews;
  bool m_hasChat = false;
  ChatSettings m_chat;
  QString m_recipe;  // of the chat: its name
  double m_keep = 1;
  runtime::ChatMemory m_cache;
  ChatPlan m_plan;
  LedgerModel m_ledger;
  qint64 m_openedMs = 0;  // of the chat
  bool m_isLedgerKnown = false;
  runtime::RecallProbe m_recall;
  qint64 m_measuredBefore = 0;                   // when the settings before were measured last
  QHash<QString, runtime::Fidelity> m_measured;  // newest of each preset, with this model
};

}  // namespace satchel::ui
