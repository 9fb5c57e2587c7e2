// Scenes of an engine whose process ended.
#include "scenes.h"

namespace satchel::ui {

using namespace Qt::StringLiterals;

void showEngineEnded(Scene& scene) {
  addChats(scene);
  scene.openModel();
  scene.engine.script.nextId = 10;
  scene.engine.script.resume.n_chat_tokens = scene.engine.script.resume.n_reused = 214;
  Message part = withId(
      answerMessage(u"A bell is cast in a mould of clay. First the core is built up, then the "
                    "cope, and between them"_s),
      2);
  part.state = runtime::MessageState::interrupted;
  scene.state.openChat(
      scene.engine.addChat(u"Bells"_s, QDateTime(QDate(2100, 1, 2), QTime(9, 0), Qt::UTC),
                           {withId(userMessage(u"How is a bell cast?"_s), 1), part}));
  scene.engine.playAll();
  scene.engine.end("The engine crashed (signal 11, Segmentation fault). Your messages are saved.");
}

void showAnswerOffered(Scene& scene) {
  showEngineEnded(scene);
  scene.state.retry();
  scene.engine.playAll();
}

}  // namespace satchel::ui
