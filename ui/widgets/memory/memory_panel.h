// MemoryPanel: the right column: the hard budget, the slider between accuracy and memory, what that
// would be, and what the open chat's cache is now. Shows MemoryPanelState and decides nothing.
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

 Q_SIGNALS:
  void newChatAsked();

 private:
  void buildNext(QVBoxLayout* column);
  void buildChat(QVBoxLayout* column);
  QLabel* addText(QVBoxLayout* column, const char* objectName, double scale);
  void refresh();
  void refreshNext();
  void refreshChat();

  MemoryPanelState* m_state;
  QLabel* m_budget = nullptr;
  QLabel* m_machine = nullptr;
  QSlider* m_budgetSlider = nullptr;
  QSlider* m_presetSlider = nullptr;
  PresetTable* m_presets = nullptr;
  QLabel* m_preview = nullptr;
  QPushButton* m_apply = nullptr;
  QWidget* m_chat = nullptr;
  QLabel* m_recipe = nullptr;
  Meter* m_context = nullptr;
  Meter* m_pool = nullptr;
  Meter* m_packing = nullptr;
  QLabel* m_bytes = nullptr;
  QLabel* m_fidelity = nullptr;
  QLabel* m_fidelityAge = nullptr;
  LayerBars* m_bars = nullptr;
  QWidget* m_barsBox = nullptr;
};

}  // namespace satchel::ui
