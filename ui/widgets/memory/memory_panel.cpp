#include "ui/widgets/memory/memory_panel.h"

#include <QLabel>
#include <QPushButton>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QSlider>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/model/format.h"
#include "ui/model/memory_panel_state.h"
#include "ui/widgets/card.h"
#include "ui/widgets/memory/layer_bars.h"
#include "ui/widgets/memory/meter.h"
#include "ui/widgets/memory/preset_table.h"

namespace satchel::ui {
namespace {

constexpr int kBudgetSteps = 400;
constexpr int kPanelWidthLeast = 300;
constexpr int kAgeRefreshMs = 30'000;  // ages are told in minutes

QLabel* makeLabel(const QString& text, const char* objectName, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  label->setObjectName(QLatin1String(objectName));
  label->setTextFormat(Qt::PlainText);
  return label;
}

QWidget* makeRule(QWidget* parent) {
  auto* rule = new QFrame(parent);
  rule->setFixedHeight(1);
  rule->setAutoFillBackground(true);
  rule->setBackgroundRole(QPalette::Mid);
  return rule;
}

}  // namespace

MemoryPanel::MemoryPanel(MemoryPanelState* state, QWidget* parent)
    : QScrollArea(parent), m_state(state) {
  auto* body = new QWidget(this);
  auto* column = new QVBoxLayout(body);
  column->setContentsMargins(kGapLarge + 4, kGapLarge, kGapLarge + 4, kGapLarge);
  column->setSpacing(kGap);
  setWidget(body);
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  viewport()->setAutoFillBackground(false);
  body->setAutoFillBackground(false);
  setAccessibleName(tr("Memory"));
  buildNext(column);
  column->addSpacing(kGapLarge);
  column->addWidget(makeRule(this));
  column->addSpacing(kGapLarge);
  buildChat(column);
  column->addStretch();
  connect(state, &MemoryPanelState::changed, this, &MemoryPanel::refresh);
  auto* ages = new QTimer(this);
  connect(ages, &QTimer::timeout, this, &MemoryPanel::refresh);
  ages->start(kAgeRefreshMs);
  refresh();
}

QSize MemoryPanel::minimumSizeHint() const {
  const int inside = widget()->minimumSizeHint().width() + verticalScrollBar()->sizeHint().width();
  return {std::max(kPanelWidthLeast, inside), QScrollArea::minimumSizeHint().height()};
}

QLabel* MemoryPanel::addText(QVBoxLayout* column, const char* objectName, double scale) {
  QLabel* label = makeLabel({}, objectName, this);
  label->setWordWrap(true);
  label->setFont(scaledFont(font(), scale));
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  column->addWidget(label);
  return label;
}

QLabel* MemoryPanel::addHeading(QVBoxLayout* column, const QString& text) {
  QLabel* label = makeLabel(text, "strong", this);
  label->setFont(scaledFont(font(), 1, QFont::DemiBold));
  column->addWidget(label);
  return label;
}

void MemoryPanel::buildNext(QVBoxLayout* column) {
  auto* head = new QHBoxLayout;
  auto* name = makeLabel(tr("Memory limit"), "strong", this);
  name->setFont(scaledFont(font(), 1, QFont::DemiBold));
  m_budget = makeLabel({}, "strong", this);
  m_budget->setFont(scaledFont(font(), 1.25, QFont::DemiBold));
  head->addWidget(name, 1);
  head->addWidget(m_budget);
  column->addLayout(head);
  m_budgetSlider = new QSlider(Qt::Horizontal, this);
  m_budgetSlider->setRange(0, kBudgetSteps);
  m_budgetSlider->setAccessibleName(tr("Memory limit"));
  column->addWidget(m_budgetSlider);
  m_machine = addText(column, "muted", 0.9);
  column->addSpacing(kGap);

  addHeading(column, tr("Accuracy vs. memory"));
  m_presetSlider = new QSlider(Qt::Horizontal, this);
  m_presetSlider->setRange(0, m_state->presetCount() - 1);
  m_presetSlider->setPageStep(1);
  m_presetSlider->setAccessibleName(tr("Accuracy vs. memory"));
  column->addWidget(m_presetSlider);
  m_presets = new PresetTable(this);
  column->addWidget(m_presets);
  buildPlans(column);

  connect(m_budgetSlider, &QSlider::valueChanged, this, [this](int value) {
    m_state->setBudgetBytes(m_state->budgetAt(double(value) / kBudgetSteps));
  });
  connect(m_presetSlider, &QSlider::valueChanged, m_state, &MemoryPanelState::setPresetIndex);
  connect(m_presets, &PresetTable::chosen, m_state, &MemoryPanelState::setPresetIndex);
}

// What the sliders would do: to the chat that is open, and to one that is begun now.
void MemoryPanel::buildPlans(QVBoxLayout* column) {
  const auto addCard = [this, column](const QString& heading) {
    auto* card = new Card(Card::Quiet, this);
    auto* inside = new QVBoxLayout(card);
    inside->setContentsMargins(kGap + 4, kGap + 2, kGap + 4, kGap + 4);
    inside->setSpacing(kGapSmall + 2);
    addHeading(inside, heading);
    column->addWidget(card);
    return inside;
  };
  const auto addButton = [this](QVBoxLayout* inside, const QString& text) {
    auto* button = new QPushButton(text, this);
    button->setCursor(Qt::PointingHandCursor);
    inside->addSpacing(kGapSmall);
    inside->addWidget(button);
    return button;
  };
  QVBoxLayout* open = addCard(tr("Current chat"));
  m_planCard = open->parentWidget();
  m_plan = addText(open, "plan", 0.92);
  m_apply = addButton(open, tr("Apply to this chat"));
  m_apply->setObjectName(QStringLiteral("primary"));
  QVBoxLayout* next = addCard(tr("New chat"));
  m_preview = addText(next, "preview", 0.92);
  m_newChat = addButton(next, tr("New chat with these settings"));
  connect(m_apply, &QPushButton::clicked, m_state->plan(), &ChatPlan::apply);
  connect(m_newChat, &QPushButton::clicked, this, &MemoryPanel::newChatAsked);
}

void MemoryPanel::showPlan() {
  show();
  ensureWidgetVisible(m_planCard);
  m_budgetSlider->setFocus();
}

void MemoryPanel::buildChat(QVBoxLayout* outer) {
  m_chat = new QWidget(this);
  auto* column = new QVBoxLayout(m_chat);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(kGap);
  addHeading(column, tr("This chat"));
  m_recipe = addText(column, "muted", 0.92);
  m_context = new Meter(tr("Context"), m_chat);
  m_arena = new Meter(tr("Memory"), m_chat);
  column->addWidget(m_context);
  column->addWidget(m_arena);
  m_packing = new Meter(tr("Older text"), m_chat);
  m_packing->setToolTip(
      tr("Older text is compressed in the background. This pauses while you type."));
  column->addWidget(m_packing);
  m_bytes = addText(column, "muted", 0.92);
  column->addSpacing(kGapSmall);
  buildFidelity(column);
  m_barsBox = new QWidget(m_chat);
  auto* bars = new QVBoxLayout(m_barsBox);
  bars->setContentsMargins(0, kGap, 0, 0);
  addHeading(bars, tr("Layers"));
  m_bars = new LayerBars(m_barsBox);
  bars->addWidget(m_bars);
  column->addWidget(m_barsBox);
  outer->addWidget(m_chat);
}

void MemoryPanel::buildFidelity(QVBoxLayout* column) {
  addHeading(column, tr("Fidelity"));
  m_fidelity = addText(column, "body", 1);
  m_attention = addText(column, "body", 1);
  m_fidelityAge = addText(column, "muted", 0.92);
  m_recall = addText(column, "muted", 0.92);
  m_ledger = new QPushButton(this);
  m_ledger->setCursor(Qt::PointingHandCursor);
  m_ledger->setToolTip(tr("Show what was compressed or moved, and what it cost (Ctrl+L)"));
  column->addWidget(m_ledger);
  connect(m_ledger, &QPushButton::clicked, this, &MemoryPanel::ledgerAsked);
}

void MemoryPanel::refresh() {
  refreshNext();
  refreshPlans();
  refreshChat();
}

void MemoryPanel::refreshNext() {
  const QSignalBlocker quietBudget(m_budgetSlider), quietPreset(m_presetSlider);
  const bool ready = m_state->hasPreviews();
  m_budget->setText(m_state->budgetText());
  m_machine->setText(m_state->machineText());
  m_machine->setVisible(ready);
  for (QWidget* widget : {static_cast<QWidget*>(m_budgetSlider),
                          static_cast<QWidget*>(m_presetSlider), static_cast<QWidget*>(m_newChat)})
    widget->setEnabled(ready);
  if (!m_budgetSlider->isSliderDown())
    m_budgetSlider->setValue(int(m_state->budgetPosition() * kBudgetSteps));
  m_presetSlider->setValue(m_state->presetIndex());
  QList<PresetLine> lines;
  for (int i = 0; i < m_state->presetCount(); ++i) lines.append(m_state->presetLine(i));
  m_presets->setLines(lines, m_state->presetIndex());
}

void MemoryPanel::refreshPlans() {
  // A chat in which nothing was read is the new chat, and has what the sliders say.
  const bool isNew = m_state->isNothingRead();
  m_planCard->setVisible(m_state->hasChat() && m_state->hasPreviews() &&
                         (!isNew || m_state->plan()->isRefused()));
  m_newChat->setVisible(!isNew);
  m_plan->setText(m_state->plan()->text());
  m_apply->setEnabled(m_state->plan()->canApply());
  m_preview->setText(m_state->previewText());
}

void MemoryPanel::refreshChat() {
  const bool hasChat = m_state->hasChat();
  m_chat->setVisible(hasChat);
  if (!hasChat) return;
  m_recipe->setText(m_state->recipeText());
  m_context->setValue(m_state->contextShare(), m_state->contextText(),
                      m_state->contextOlderShare());
  m_context->setWarns(m_state->contextEnds());
  m_context->setToolTip(tipText(m_state->contextTip()));
  m_arena->setValue(m_state->budgetShare(), m_state->arenaText());
  const QString packing = m_state->packingText();
  m_packing->setVisible(!packing.isEmpty());
  m_packing->setValue(m_state->packingShare(), packing);
  const QString body = m_state->bodyText();
  m_bytes->setText(body.isEmpty() ? m_state->bytesText()
                                  : m_state->bytesText() + QStringLiteral("\n") + body);
  refreshFidelity();
  const QList<LayerBar> bars = m_state->layerBars();
  m_bars->setBars(bars);
  m_barsBox->setVisible(!bars.isEmpty());
}

void MemoryPanel::refreshFidelity() {
  const auto show = [](QLabel* label, const QString& text) {
    label->setText(text);
    label->setVisible(!text.isEmpty());
  };
  m_fidelity->setText(m_state->fidelityText());
  show(m_attention, m_state->attentionText());
  show(m_fidelityAge, m_state->fidelityAge());
  show(m_recall, m_state->recallText());
  m_ledger->setText(m_state->ledgerText());
  m_ledger->setVisible(m_state->ledger()->rowCount() > 0);
}

}  // namespace satchel::ui
