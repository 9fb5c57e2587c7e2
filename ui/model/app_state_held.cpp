// How the words of the chat are held and what its newest answer looked at: asked for when people
// want to see it, and again when that has changed.
#include "ui/model/app_state.h"
#include "ui/model/engine_values.h"

namespace satchel::ui {

void AppState::setHeldLook(HeldLook look) {
  if (look == m_heldLook) return;
  const bool isHeldKnown = m_heldLook == HeldLook::Fade || m_heldLook == HeldLook::Precision;
  m_heldLook = look;
  if (look == HeldLook::Off) {
    m_heldDue.stop();
    forgetAttended();
    m_conversation.setHeld({});
    m_conversation.setAttended({});
  } else if (look == HeldLook::Heat ? m_attended != Look::Known : !isHeldKnown) {
    showHeld();
  }
  Q_EMIT heldLookChanged();
}

void AppState::showHeld() {
  if (m_heldLook != HeldLook::Heat) return m_engine->showHeld();
  if (isBusy()) return m_heldDue.start();  // it would only make way
  m_attended = Look::Asked;
  m_engine->showAttended();
}

void AppState::forgetAttended() {
  m_attended = Look::Unknown;
  m_attendedProblem.clear();
}

QString AppState::heldSummary() const {
  if (m_heldLook != HeldLook::Heat) return ui::heldSummary(m_conversation.heldInMean());
  switch (m_attended) {
    case Look::Known:
      return attendedSummary(m_conversation.attendedSums());
    case Look::Failed:
      return m_attendedProblem;
    default:
      return tr("Looking at what the newest answer attends to…");
  }
}

void AppState::seeHeld(const runtime::ChatEvent& event) {
  if (m_heldLook == HeldLook::Off) return;
  const bool isHeat = m_heldLook == HeldLook::Heat;
  const auto lookAnew = [this, isHeat] {  // another answer is the newest
    forgetAttended();
    if (!isHeat) return;
    m_heldDue.start();
    Q_EMIT heldLookChanged();
  };
  std::visit(runtime::Overloaded{
                 [this](const runtime::HeldText& text) { m_conversation.setHeld(text); },
                 [this](const runtime::AttendedText& text) {
                   if (m_attended != Look::Asked) return;  // an answer came meanwhile
                   m_attended = Look::Known;
                   m_conversation.setAttended(text);
                 },
                 [&](const runtime::ChatMemory&) {
                   if (!isHeat) m_heldDue.start();
                 },
                 [&](const runtime::GenerateReport&) { lookAnew(); },
                 [&](const runtime::MessagesReplaced&) { lookAnew(); },
                 [&](const runtime::ChatOpened&) { lookAnew(); },
                 [&](const runtime::ResumeReport&) { lookAnew(); },
                 [&](const runtime::Failed& failed) {
                   if (failed.task != runtime::ChatTask::show_held || m_attended != Look::Asked)
                     return;
                   if (failed.error.kind == ErrorKind::cancelled) return lookAnew();
                   m_attended = Look::Failed;
                   m_attendedProblem = textOf(failed.error.message);
                   Q_EMIT heldLookChanged();
                 },
                 [](const auto&) {}},
             event);
}

}  // namespace satchel::ui
