#include "ui/model/chat_plan.h"

#include "ui/model/engine_values.h"
#include "ui/model/memory_change_text.h"

namespace satchel::ui {

static constexpr std::chrono::milliseconds kRest{350};  // chosen, not measured

ChatPlan::ChatPlan(QObject* parent) : QObject(parent) {
  m_rest.setSingleShot(true);
  setRest(kRest);
  connect(&m_rest, &QTimer::timeout, this, [this] { Q_EMIT previewWanted(m_requested); });
}

QString ChatPlan::text() const {
  if (!m_differs) return tr("This chat already has these settings.");
  if (m_preview) return changeText(m_requested, *m_preview);
  if (!m_problem.isEmpty()) return m_problem;
  if (m_isApplying) return tr("Applying these settings to this chat…");
  if (m_isBusy) return tr("Satchel estimates the effect on this chat once it is idle.");
  return tr("Estimating the effect on this chat…");
}

void ChatPlan::apply() {
  if (!canApply()) return;
  m_isApplying = true;
  Q_EMIT applyWanted(m_requested);
}

void ChatPlan::setRequested(const ChatSettings& requested, bool differs) {
  if (requested == m_requested && differs == m_differs) return;
  m_requested = requested;
  m_differs = differs;
  askAnew();
}

void ChatPlan::setBusy(bool busy) {
  if (busy == m_isBusy) return;
  m_isBusy = busy;
  if (!busy) m_isApplying = false;
  askAnew();
}

void ChatPlan::setChatBytes(quint64 bytes) {
  if (bytes == m_chatBytes) return;
  m_chatBytes = bytes;
  askAnew();
}

void ChatPlan::setPreview(const runtime::MemoryPreviewed& preview) {
  // An answer to an older question.
  if (!m_differs || settingsOf(preview.memory) != m_requested) return;
  m_preview = preview.change;
  m_problem.clear();
  Q_EMIT changed();
  if (isNothingRead(*m_preview)) apply();
}

bool ChatPlan::isRefused() const {
  return m_differs && (m_preview ? !m_preview->fits : !m_problem.isEmpty());
}

void ChatPlan::fail(const Error& error) {
  if (error.kind == ErrorKind::cancelled) {
    // It made way for something that is not waited for.
    if (m_differs && !m_isBusy && !m_preview) m_rest.start();
    return;
  }
  if (!m_preview) m_problem = textOf(error.message);
  Q_EMIT changed();
}

void ChatPlan::askAnew() {
  m_preview.reset();
  m_problem.clear();
  if (m_differs && !m_isBusy) {
    m_rest.start();
  } else {
    m_rest.stop();
  }
  Q_EMIT changed();
}

}  // namespace satchel::ui
