// The tour: its card above the input box, which leads on by one button.
#include <QApplication>
#include <QPushButton>
#include <QSplitter>
#include <algorithm>

#include "ui/model/tour.h"
#include "ui/widgets/chat_list_panel.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/empty_state.h"
#include "ui/widgets/main_window.h"
#include "ui/widgets/memory/memory_panel.h"
#include "ui/widgets/question_card.h"

namespace satchel::ui {

void MainWindow::connectTour() {
  m_tour = new Tour(
      m_state,
      {m_options.tourModel, m_options.sampleTitle, m_options.sampleText, m_options.sampleQuestion},
      this);
  connect(m_empty, &EmptyState::tourAsked, this, [this] {
    m_tour->begin();
    m_tourCard->no()->setFocus();
  });
  connect(m_tour, &Tour::changed, this, &MainWindow::refreshTour);
  connect(m_tour, &Tour::memoryWanted, this, &MainWindow::showMemoryIfItFits);
  connect(m_tourCard->yes(), &QAbstractButton::clicked, m_tour, &Tour::next);
  connect(m_tourCard->no(), &QAbstractButton::clicked, m_tour, &Tour::end);
}

// A narrow window does not grow for it: the card says the same.
void MainWindow::showMemoryIfItFits() {
  int needed = m_memory->minimumSizeHint().width();
  for (const QWidget* column : {static_cast<QWidget*>(m_chats), m_columns->widget(1)})
    if (!column->isHidden()) needed += column->minimumSizeHint().width();
  if (needed <= m_columns->width()) m_memory->show();
}

// The focus goes along from step to step where the card has it, and stays where it is elsewhere.
void MainWindow::refreshTour() {
  const bool hasFocus = m_tourCard->isAncestorOf(QApplication::focusWidget());
  if (!m_tour->isOn()) {
    m_tourCard->hide();
    if (hasFocus) m_composer->setFocus();
    return;
  }
  QPushButton* const next = m_tourCard->yes();
  const bool wasEnabled = next->isEnabled(), canGoOn = m_tour->canGoOn();
  m_tourCard->ask(m_tour->title(), m_tour->text());
  next->setText(m_tour->nextLabel());
  // A second click in the same place must not end the tour.
  next->setMinimumWidth(std::max(next->minimumWidth(), next->sizeHint().width()));
  next->setAccessibleDescription(m_tourCard->accessibleName());
  if (hasFocus && !canGoOn) m_tourCard->no()->setFocus();
  next->setVisible(!m_tour->nextLabel().isEmpty());
  next->setEnabled(canGoOn);
  if (hasFocus && canGoOn && !wasEnabled) next->setFocus();
}

}  // namespace satchel::ui
