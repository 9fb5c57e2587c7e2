// How the words of the chat are held: asked for when people want to see it, and again when that has
// changed.
#include "ui/model/app_state.h"

namespace satchel::ui {

void AppState::setHeldLook(HeldLook look) {
  if (look == m_heldLook) return;
  const bool isNew = m_heldLook == HeldLook::Off;
  m_heldLook = look;
  if (look == HeldLook::Off) {
    m_heldDue.stop();
    m_conversation.setHeld({});
  } else if (isNew) {
    m_engine->showHeld();
  }
  Q_EMIT heldLookChanged();
}

void AppState::seeHeld(const runtime::ChatEvent& event) {
  if (m_heldLook == HeldLook::Off) return;
  std::visit(runtime::Overloaded{
                 [this](const runtime::HeldText& text) { m_conversation.setHeld(text); },
                 [this](const runtime::ChatMemory&) { m_heldDue.start(); }, [](const auto&) {}},
             event);
}

}  // namespace satchel::ui
