// What the banner offers with an error or a notice, and what is done then.
#include <utility>

#include "ui/widgets/banner.h"
#include "ui/widgets/main_window.h"

namespace satchel::ui {

void MainWindow::offer(const QString& label, std::function<void()> action) {
  m_offered = std::move(action);
  m_banner->setAction(label);
}

void MainWindow::connectOffers() {
  connect(m_state, &AppState::cpuOffered, this, [this] {
    const bool again = m_state->phase() == AppState::Phase::NoModel && !m_state->isEngineLost();
    offer(again ? tr("Try again") : tr("Continue on the CPU"), [this] { m_state->useCpu(); });
  });
  connect(m_state, &AppState::retryOffered, this,
          [this] { offer(tr("Retry"), [this] { m_state->retry(); }); });
  connect(m_state, &AppState::answerOffered, this,
          [this](const QString& text, const QString& label) {
            m_banner->showNotice(text);
            offer(label, [this] { m_state->answerLast(); });
          });
  connect(m_state, &AppState::continuationOffered, this, [this](const QString& text) {
    m_banner->showNotice(text);
    offer(tr("Continue"), [this] { m_state->continueAnswer(); });
  });
  // It was about what was done before.
  connect(m_state, &AppState::workBegun, this, [this] {
    if (m_banner->hasAction()) m_banner->hide();
  });
  connect(m_banner, &Banner::actionChosen, this, [this] {
    m_banner->hide();
    if (m_offered) std::exchange(m_offered, {})();
  });
}

}  // namespace satchel::ui
