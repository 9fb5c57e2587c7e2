// MemoryPanel: the right column: the hard budget, the slider between accuracy and memory, what that
// would do to the open chat and be for a new one, and what the open chat's cache is now. Shows
// MemoryPanelState and decides nothing.
#pragma once

#include <QScrollArea>

class QLabel;
class QPushButton;
class QSlider;
class QVBoxLayout;

namespace satchel::ui {

class LayerBars;
class MemoryPanelState;
class Meter;
class PresetTable;

class MemoryPanel : public QScrollArea {
  Q_OBJECT

 public:
  // state: not owned
  explicit MemoryPanel(MemoryPanelState* state, QWidget* parent = nullptr);

  // What the sliders would do to the open chat comes into view, with the way to apply it.
  void showPlan();

  // So wide that no label is cut off, in any language: it does not scroll sideways.
  QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void newChatAsked();
  void ledgerAsked();

 private:
  void buildNext(QVBoxLayout* column);
  void buildPlans(QVBoxLayout* column);
  void buildChat(QVBoxLayout* column);
  void buildFidelity(QVBoxLayout* column);
  QLabel* addHeading(QVBoxLayout* column, const QString& text);
  QLabel* addText(QVBoxLayout* column, const char* objectName, double scale);
  void refresh();
  void refreshNext();
  void refreshPlans();
  void refreshChat();
  void refreshFidelity();

  MemoryPanelState* m_state;
  QLabel* m_budget = nullptr;
  QLabel* m_machine = nullptr;
  QSlider* m_budgetSlider = nullptr;
  QSlider* m_presetSlider = nullptr;
  PresetTable* m_presets = nullptr;
  QWidget* m_planCard = nullptr;
  QLabel* m_plan = nullptr;
  QPushButton* m_apply = nullptr;
  QLabel* m_preview = nullptr;
  QPushButton* m_newChat = nullptr;
  QWidget* m_chat = nullptr;
  QLabel* m_recipe = nullptr;
  Meter* m_context = nullptr;
  Meter* m_arena = nullptr;
  Meter* m_packing = nullptr;
  QLabel* m_bytes = nullptr;
  QLabel* m_fidelity = nullptr;
  QLabel* m_attention = nullptr;
  QLabel* m_fidelityAge = nullptr;
  QLabel* m_recall = nullptr;
  QPushButton* m_ledger = nullptr;
  LayerBars* m_bars = nullptr;
  QWidget* m_barsBox = nullptr;
};

}  // namespace satchel::ui
