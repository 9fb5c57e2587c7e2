#include "ui/widgets/memory/ledger_dialog.h"

#include <QHeaderView>
#include <QLabel>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>

#include "ui/model/memory_panel_state.h"
#include "ui/widgets/theme.h"

namespace satchel::ui {
namespace {

constexpr int kWidth = 1060, kHeight = 460;

}  // namespace

LedgerDialog::LedgerDialog(MemoryPanelState* state, QWidget* parent)
    : QDialog(parent),
      m_state(state),
      m_stack(new QStackedWidget(this)),
      m_recall(new QLabel(this)) {
  setWindowTitle(tr("Memory history"));
  setAttribute(Qt::WA_DeleteOnClose);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kGapHuge, kGapHuge, kGapHuge, kGapHuge);
  column->setSpacing(kGap);
  auto* what = new QLabel(
      tr("Each step that made this chat smaller in the model's memory, or moved its text there "
         "without reading it again, newest first. All messages stay saved. Percentages are of the "
         "text read by then."),
      this);
  what->setWordWrap(true);
  column->addWidget(what);
  m_recall->setObjectName(QStringLiteral("muted"));
  m_recall->setWordWrap(true);
  column->addWidget(m_recall);
  column->addSpacing(kGap);
  auto* none = new QLabel(tr("Nothing in this chat has been compressed or moved."), this);
  none->setObjectName(QStringLiteral("muted"));
  none->setAlignment(Qt::AlignCenter);
  m_stack->addWidget(makeTable());
  m_stack->addWidget(none);
  column->addWidget(m_stack, 1);
  resize(kWidth, kHeight);
  connect(state, &MemoryPanelState::changed, this, &LedgerDialog::refresh);
  refresh();
}

QWidget* LedgerDialog::makeTable() {
  auto* table = new QTableView(this);
  table->setModel(m_state->ledger());
  table->setAccessibleName(windowTitle());
  table->setShowGrid(false);
  table->setWordWrap(false);
  table->setFrameShape(QFrame::NoFrame);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setSelectionMode(QAbstractItemView::SingleSelection);
  table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 2 * kGap);
  QHeaderView* header = table->horizontalHeader();
  header->setHighlightSections(false);
  header->setSectionResizeMode(QHeaderView::ResizeToContents);
  header->setStretchLastSection(true);
  return table;
}

void LedgerDialog::refresh() {
  m_stack->setCurrentIndex(m_state->ledger()->rowCount() > 0 ? 0 : 1);
  const QString recall = m_state->recallText();
  m_recall->setText(tr("Recall: %1").arg(recall));
  m_recall->setVisible(!recall.isEmpty());
}

}  // namespace satchel::ui
