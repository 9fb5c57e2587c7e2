// A chat whose answers repeat passages of a document, for tests and pictures.
#include <QTest>

#include "runtime/chat/quotes.h"
#include "scenes.h"
#include "ui/model/engine_values.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;

constexpr qint64 kDocument = 1, kFirst = 4, kSecond = 6;

std::string report() {
  return "[Page 1]\nHarbour office, yearly report\n\nThe winter was long. Ships waited outside, "
         "and "
         "the pilots were sent home in the second week of January.\n\n[Page 2]\nThe harbour was "
         "closed "
         "for eleven days because of the drifting ice. The old ice breaker could not be used, as "
         "its "
         "boiler was being mended in the yard at Kiel.\n\nNo ship was damaged. Two anchors were "
         "lost, "
         "and one of them was found again in spring by a fishing boat from the island.\n";
}

std::string firstAnswer() {
  return "In short: **the harbour was closed for *eleven days* because of the drifting ice**. That "
         "was in January.\n\n- The old ice breaker could not be used, as its boiler was being "
         "mended.\n"
         "- The pilots went home.";
}

std::string secondAnswer() {
  return "Yes. The report says that \xE2\x80\x9Cone of them was found again in spring\xE2\x80\x9D, "
         "and "
         "does not name the boat.";
}

Message said(qint64 id, runtime::Role role, const std::string& text) {
  Message message =
      role == runtime::Role::user ? userMessage(textOf(text)) : answerMessage(textOf(text));
  message.id = id;
  return message;
}

}  // namespace

void showQuotes(Scene& scene) {
  using runtime::Role;
  Message document = said(kDocument, Role::user, report());
  document.documentTitle = u"harbour-report.pdf"_s;
  const std::string first = firstAnswer(), second = secondAnswer(), text = report();
  const std::vector<std::string_view> answers = {first, second}, documents = {text};
  const std::vector<runtime::Quote> quotes = runtime::find_quotes(answers, documents).value();
  for (const runtime::Quote& quote : quotes)
    scene.engine.script.quotes.push_back({.answer = {quote.answer == 0 ? kFirst : kSecond},
                                          .said = quote.said,
                                          .document = {kDocument},
                                          .title = "harbour-report.pdf",
                                          .passage = quote.passage,
                                          .page = quote.page});
  const ChatKey chat = scene.engine.addChat(
      u"Why was the harbour closed?"_s, QDateTime::fromMSecsSinceEpoch(scene.clock.wall),
      {document, said(2, Role::assistant, "Noted."),
       said(3, Role::user, "Why was the harbour closed?"), said(kFirst, Role::assistant, first),
       said(5, Role::user, "Was an anchor found again?"), said(kSecond, Role::assistant, second)});
  scene.openModel();
  scene.engine.script.cache = sampleCache(u"full"_s, 1210, scene.clock.wall);
  scene.state.openChat(chat);
  scene.engine.playAll();
  scene.state.dismissResume();
  Scene::settle();
}

void showQuotedPassage(Scene& scene) {
  showQuotes(scene);
  QTest::keyClick(scene.window.get(), Qt::Key_D, Qt::ControlModifier);
  Scene::settle();
}

}  // namespace satchel::ui
