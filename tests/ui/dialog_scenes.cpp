#include "dialog_scenes.h"

#include <QDialog>
#include <QLineEdit>
#include <QListView>
#include <QPushButton>
#include <QTest>
#include <algorithm>

#include "ui/widgets/chat_settings_dialog.h"
#include "ui/widgets/empty_state.h"
#include "ui/widgets/find_bar.h"
#include "ui/widgets/models_dialog.h"
#include "ui/widgets/prompts_dialog.h"
#include "ui/widgets/question_card.h"
#include "ui/widgets/server_dialog.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;

void showNothing(Scene& scene) {
  addChats(scene);
  scene.openModel();
}

template <class Dialog>
Dialog* openBy(Scene& scene, Qt::KeyboardModifiers modifiers, Qt::Key key) {
  QTest::keyClick(scene.window.get(), key, modifiers);
  Scene::settle();
  return scene.window->findChild<Dialog*>();
}

// A dialog is as wide as the window lets it be.
void fit(Scene& scene, QDialog* dialog) {
  dialog->resize(std::min(dialog->width(), scene.window->width() - 40), dialog->height());
}

}  // namespace

void showFind(Scene& scene) {
  openSample(scene, u"balanced"_s);
  scene.state.dismissResume();
  Scene::settle();
  scene.window->findBar()->open();
  scene.window->findBar()->field()->setText(u"harbour"_s);
}

// A formula, an inline one, and code in three languages.
void showCode(Scene& scene) {
  addChats(scene);
  scene.openModel();
  const ChatKey chat = scene.engine.addChat(
      u"Code and formulas"_s, QDateTime::fromMSecsSinceEpoch(scene.clock.wall),
      {userMessage(u"How do I write that?"_s),
       answerMessage(u"With \\(a_1 * b_2\\) and $x$ the sum is\n\n$$\n\\sum_{i=1}^{n} a_i "
                     "b_i\n$$\n\nIn C++:\n\n```cpp\n// A dot product.\nfloat dot(const float* a, "
                     "const float* b, int n) {\n  float sum = 0.0f;\n  for (int i = 0; i < n; ++i) "
                     "sum += a[i] * b[i];\n  return sum;  /* of n */\n}\n```\n\nand in SQL:\n\n"
                     "```sql\nSELECT sum(a.x * b.x) FROM a JOIN b ON a.i = b.i WHERE a.name = "
                     "'left' -- all\n```"_s)});
  scene.state.openChat(chat);
  scene.engine.playAll();
  scene.state.dismissResume();
}

void showFolders(Scene& scene) {
  openSample(scene, u"balanced"_s);
  scene.state.dismissResume();
  scene.state.setFolder(2, u"Field work"_s);
  scene.state.setFolder(5, u"At home"_s);
  scene.state.setAtTop(3, true);
}

void showTour(Scene& scene) {
  scene.engine.script.change = sampleLoss();
  scene.engine.script.cache = sampleCache(u"full"_s, 4218, scene.clock.wall);
  scene.engine.script.deltas = {u"The spare key lies in the blue tin "_s,
                                u"on the shelf behind the stove."_s};
  scene.state.memory()->plan()->setRest(std::chrono::milliseconds(0));
  showNothing(scene);
  const auto play = [&scene] {
    for (int i = 0; i < 4; ++i) {
      Scene::settle();
      scene.engine.playAll();
    }
  };
  Q_EMIT scene.window->emptyState()->tourAsked();
  play();
  scene.window->tourCard()->yes()->click();
  play();
}

void showSettings(Scene& scene) {
  showNothing(scene);
  satchel::runtime::AnswerSettings answers;
  answers.system = "You are an editor. Correct my notes, and keep my words where you can.";
  answers.sampling.temperature = 0.7;
  answers.sampling.stops = {"\n\n", "User:"};
  scene.state.setAnswers(answers);
  scene.state.keepPrompt(u"Editor"_s, u"You are an editor."_s);
  fit(scene, openBy<ChatSettingsDialog>(scene, Qt::ControlModifier, Qt::Key_Comma));
}

void showSettingsOfOld(Scene& scene) {
  openSample(scene, u"balanced"_s);
  fit(scene, openBy<ChatSettingsDialog>(scene, Qt::ControlModifier, Qt::Key_Comma));
}

void showPrompts(Scene& scene) {
  showNothing(scene);
  scene.state.keepPrompt(u"Summary"_s, u"Sum this up in five points, each a sentence:\n\n"_s);
  scene.state.keepPrompt(u"Translate into Norwegian"_s, u"Translate into Norwegian:\n\n"_s);
  auto* dialog = openBy<PromptsDialog>(scene, Qt::ControlModifier | Qt::ShiftModifier, Qt::Key_P);
  fit(scene, dialog);
  dialog->list()->setCurrentIndex(dialog->list()->model()->index(0, 0));
}

void showModels(Scene& scene) {
  showNothing(scene);
  auto* dialog = openBy<ModelsDialog>(scene, Qt::ControlModifier | Qt::ShiftModifier, Qt::Key_M);
  fit(scene, dialog);
  dialog->address()->setText(u"https://host.example/models/SmolLM2-360M.gguf"_s);
  (void)QTest::qWaitFor([&] { return dialog->detailsText().contains(u"Licence"_s); });
  dialog->fetchButton()->click();
  (void)QTest::qWaitFor([&] { return dialog->fetchText().contains(u" of "_s); });
}

void showServer(Scene& scene) {
  showNothing(scene);
  fit(scene, openBy<ServerDialog>(scene, Qt::ControlModifier | Qt::ShiftModifier, Qt::Key_S));
}

// A Full chat that was saved longer than the context: nothing of it is in memory.
void showTooLong(Scene& scene) {
  addChats(scene);
  const ChatKey chat = addSample(scene, u"full"_s);
  scene.openModel();
  scene.engine.script.resume.too_long = true;
  scene.engine.script.resume.message = "You cannot go on.";
  scene.engine.script.cache = sampleCache(u"full"_s, 9'300, scene.clock.wall);
  scene.engine.script.cache.n_in_context = 8'192;
  scene.engine.script.cache.n_read = 0;
  scene.engine.script.cache.stats = {};
  scene.state.openChat(chat);
  scene.engine.playAll();
}

}  // namespace satchel::ui
