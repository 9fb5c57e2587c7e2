// A chat that shows how its words are held and what its answer looked at, for tests and pictures:
// made-up figures, as a recipe that chooses by head would leave them.
#include <algorithm>
#include <cmath>

#include "scenes.h"
#include "ui/model/engine_values.h"
#include "ui/widgets/conversation/conversation_view.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;

// Old text is held by fewer heads the less a word weighs; the newest exactly.
kvcache::HeldToken heldAt(double age, std::size_t word) {
  if (age < 0.25) return {1, 16};
  const double weight = 0.5 + 0.5 * std::sin(double(word * word % 97));
  const double share = std::clamp(1.35 - age + 0.5 * (weight - 0.5), 0.0, 1.0);
  return {share < 0.12 ? 0.0f : float(share), share < 0.12 ? 0.0f : weight > 0.8 ? 8.0f : 4.5f};
}

runtime::HeldMessage heldMessage(qint64 id, const std::string& text, double age) {
  runtime::HeldMessage message{{id}, {}};
  std::size_t word = 0;
  for (std::size_t begin = 0; begin < text.size(); ++word) {
    const std::size_t blank = text.find(' ', begin);
    const std::size_t end = blank == std::string::npos ? text.size() : blank + 1;
    message.words.push_back({{begin, end}, heldAt(age, word)});
    begin = end;
  }
  return message;
}

// Some words of the document, and the newest ones, have most of it.
runtime::AttendedMessage attendedMessage(const runtime::HeldMessage& held, double age) {
  runtime::AttendedMessage message{held.message, {}};
  std::size_t word = 0;
  for (const runtime::HeldWords& words : held.words) {
    const bool isHot = word++ % 23 == 7 || age < 0.3;
    message.words.push_back({.words = words.words, .share = isHot ? 0.004f : 0.0001f});
  }
  return message;
}

}  // namespace

void showHeld(Scene& scene, HeldLook look) {
  QList<Message> messages = sampleConversation();
  for (int row = 0; row < int(messages.size()); ++row) {
    messages[row].id = row + 1;
    scene.engine.script.held.messages.push_back(
        heldMessage(messages[row].id, messages[row].text.toStdString(),
                    1 - double(row) / double(messages.size() - 1)));
    scene.engine.script.attended.messages.push_back(attendedMessage(
        scene.engine.script.held.messages.back(), 1 - double(row) / double(messages.size() - 1)));
  }
  scene.engine.script.attended.answer = {messages.back().id};
  scene.engine.script.attended.n_queries = 16;
  scene.engine.script.attended.n_tokens = 4218;
  const ChatKey chat = scene.engine.addChat(
      u"Field notes, week 14"_s, QDateTime::fromMSecsSinceEpoch(scene.clock.wall), messages);
  scene.openModel();
  scene.engine.script.cache = sampleCache(u"compact"_s, 4218, scene.clock.wall);
  scene.state.openChat(chat);
  scene.engine.playAll();
  scene.state.dismissResume();
  scene.state.setHeldLook(look);
  scene.engine.playAll();
  if (look != HeldLook::Off) scene.window->conversation()->showRow(0);
  Scene::settle();
}

}  // namespace satchel::ui
