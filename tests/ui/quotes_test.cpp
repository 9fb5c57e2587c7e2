// Passages of documents that answers repeat: links in the window, and where they lead.
#include <gtest/gtest.h>

#include <QPlainTextEdit>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTest>
#include <optional>

#include "life.h"
#include "runtime/chat/chat_service.h"
#include "runtime/limits/presets.h"
#include "scenes.h"
#include "ui/model/quote_text.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/conversation/conversation_view.h"
#include "ui/widgets/quote_dialog.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;

MessageQuote quoteFrom(qsizetype begin, qsizetype size) {
  MessageQuote quote;
  quote.begin = begin;
  quote.end = begin + size;
  return quote;
}
MessageQuote quoteAt(const QString& answer, const QString& words) {
  return quoteFrom(answer.indexOf(words), words.size());
}

QStringList shownQuotes(const QString& markdown, const QList<MessageQuote>& quotes,
                        const QString& shown) {
  QStringList found;
  for (const ShownQuote& quote : quotesShown(quotes, {markdown, 0}, shown))
    found.append(QString::number(quote.quote) + u": "_s +
                 shown.sliced(quote.begin, quote.end - quote.begin));
  return found;
}

TEST(QuoteText, bytes_are_counted_as_characters) {
  const QString text = u"aä€😀b"_s;
  EXPECT_EQ(charactersOf(text, 0), 0);
  EXPECT_EQ(charactersOf(text, 1), 1);
  EXPECT_EQ(charactersOf(text, 3), 2);
  EXPECT_EQ(charactersOf(text, 6), 3);
  EXPECT_EQ(charactersOf(text, 10), 5);
  EXPECT_EQ(charactersOf(text, 11), 6);
  EXPECT_EQ(charactersOf(text, 99), 6);
}

TEST(QuoteText, quotes_are_found_in_what_markdown_is_shown_as) {
  const QString markdown =
      u"1. Ä 😀 **the *old* harbour** was [closed](https://a.example/the/old/day) for "_s +
      u"`eleven` days"_s;
  const QString shown = u"Ä 😀 the old harbour was closed for eleven days"_s;
  EXPECT_EQ(shownQuotes(markdown,
                        {quoteAt(markdown, u"the *old* harbour** was"_s),
                         quoteAt(markdown, u"for `eleven` days"_s)},
                        shown),
            QStringList({u"0: the old harbour was"_s, u"1: for eleven days"_s}));
  EXPECT_EQ(shownQuotes(markdown, {}, shown), QStringList());
  EXPECT_EQ(shownQuotes(u"other words"_s, {quoteFrom(0, 5)}, u"none of them"_s), QStringList());
}

TEST(QuoteText, a_part_of_an_answer_has_its_share_of_a_quote) {
  const QString part = u"of the ice. So it was."_s;
  EXPECT_EQ(quotesShown({quoteFrom(80, 30)}, {part, 100}, part),
            QList<ShownQuote>({{0, 0, int(part.indexOf(u". So"_s))}}));
}

TEST(QuoteText, a_passage_is_shown_with_whole_lines_around_it) {
  QString document;
  for (int i = 0; i < 400; ++i) document += u"Line %1 is here.\n"_s.arg(i, 3);
  const qsizetype begin = document.indexOf(u"Line 200"_s);
  MessageQuote quote;
  quote.passageBegin = std::size_t(begin);
  quote.passageEnd = quote.passageBegin + 8;
  const ShownPassage shown = passageOf(quote, document);
  EXPECT_EQ(shown.text.sliced(shown.begin, shown.end - shown.begin), u"Line 200"_s);
  EXPECT_TRUE(shown.text.startsWith(u"Line "_s));
  EXPECT_TRUE(shown.text.endsWith(u"here."_s));
  EXPECT_LT(shown.text.size(), 6100);
  quote.passageBegin = 0;
  quote.passageEnd = 8;
  EXPECT_TRUE(passageOf(quote, document).text.startsWith(u"Line   0"_s));
}

class QuotesTest : public testing::Test {
 protected:
  QuotesTest() {
    scene.show();
    showQuotes(scene);
  }
  const Message& message(int row) { return scene.state.conversation()->message(row); }
  const QuoteDialog* dialog() {
    const auto* found = scene.window->findChild<QuoteDialog*>();
    return found != nullptr && found->isVisible() ? found : nullptr;
  }
  QString lit() {
    const auto selections = dialog()->text()->extraSelections();
    return selections.isEmpty() ? QString()
                                : selections[0].cursor.selectedText().replace(QChar(0x2029), u'\n');
  }
  void press(QWidget* at, Qt::Key key) {
    QTest::keyClick(at, key, Qt::ControlModifier);
    Scene::settle();
  }
  // Of a place in the row that is hit in this way.
  std::optional<QPoint> placeOf(int row, MessageHit::Kind kind) {
    ConversationView* view = scene.window->conversation();
    const QModelIndex index = scene.state.conversation()->index(row);
    const QRect rect = view->visualRect(index);
    for (int y = 2; y < rect.height(); y += 4)
      for (int x = 2; x < rect.width(); x += 4)
        if (view->layouts().layout(index).hit(QPointF(x, y)).kind == kind)
          return rect.topLeft() + QPoint(x, y);
    return {};
  }

  Scene scene;
};

TEST_F(QuotesTest, a_chat_that_is_opened_has_the_quotes_of_its_answers) {
  EXPECT_EQ(scene.engine.quotesAsked(), QList<qint64>({0}));
  ASSERT_EQ(message(3).quotes.size(), 2);
  ASSERT_EQ(message(5).quotes.size(), 1);
  EXPECT_EQ(message(5).quotes[0].page, 2);
  EXPECT_TRUE(message(1).quotes.isEmpty());
}

TEST_F(QuotesTest, they_are_asked_for_when_an_answer_ends_and_other_messages_come) {
  scene.engine.script.answer.answer = {8};
  scene.state.send(u"And the other one?"_s);
  EXPECT_EQ(scene.engine.quotesAsked().size(), 1) << "not before";
  scene.engine.playAll();
  EXPECT_EQ(scene.engine.quotesAsked(), QList<qint64>({0, 8}));
  scene.engine.tell(runtime::MessagesReplaced{{2}, {}});
  EXPECT_EQ(scene.engine.quotesAsked().size(), 2);
  runtime::StoredMessage other;
  other.id = {9};
  scene.engine.tell(runtime::MessagesReplaced{{2}, {other}});
  EXPECT_EQ(scene.engine.quotesAsked(), QList<qint64>({0, 8, 0}));
}

TEST_F(QuotesTest, a_chat_without_documents_asks_for_none) {
  scene.state.newChat();
  scene.engine.script.answer.answer = {3};
  scene.state.send(u"Hello"_s);
  scene.engine.playAll();
  EXPECT_EQ(scene.engine.quotesAsked().size(), 1);
}

TEST_F(QuotesTest, a_click_on_a_quote_shows_its_passage) {
  ASSERT_EQ(dialog(), nullptr);
  const auto place = placeOf(5, MessageHit::Quote);
  ASSERT_TRUE(place);
  QTest::mouseMove(scene.window->conversation()->viewport(), *place);
  QTest::mouseClick(scene.window->conversation()->viewport(), Qt::LeftButton, {}, *place);
  Scene::settle();
  ASSERT_NE(dialog(), nullptr);
  EXPECT_EQ(dialog()->source(), u"harbour-report.pdf, page 2"_s);
  EXPECT_EQ(lit(), u"one of them was found again in spring"_s);
  EXPECT_TRUE(dialog()->text()->isReadOnly());
  EXPECT_TRUE(dialog()->text()->toPlainText().contains(u"[Page 2]"_s));
  EXPECT_FALSE(placeOf(1, MessageHit::Quote)) << "an answer without one";
}

TEST_F(QuotesTest, the_key_shows_those_of_the_last_answer_also_from_the_input_box) {
  press(scene.window->composer()->edit(), Qt::Key_D);
  ASSERT_NE(dialog(), nullptr);
  EXPECT_EQ(lit(), u"one of them was found again in spring"_s);
  scene.window->conversation()->quoteAsked(3, 0);
  EXPECT_EQ(lit(), u"The harbour was closed for eleven days because of the drifting ice"_s);
  const auto button = [&](const QString& name) {
    for (auto* one : dialog()->findChildren<QPushButton*>())
      if (one->text() == name) return one;
    return static_cast<QPushButton*>(nullptr);
  };
  EXPECT_FALSE(button(u"&Previous"_s)->isEnabled());
  button(u"&Next"_s)->click();
  EXPECT_TRUE(lit().startsWith(u"The old ice breaker"_s));
  EXPECT_FALSE(button(u"&Next"_s)->isEnabled());
}

TEST_F(QuotesTest, the_passage_goes_with_its_answer) {
  press(scene.window.get(), Qt::Key_D);
  ASSERT_NE(dialog(), nullptr);
  scene.state.newChat();
  Scene::settle();
  EXPECT_EQ(dialog(), nullptr);
}

TEST_F(QuotesTest, the_key_says_that_there_are_none) {
  scene.state.newChat();
  press(scene.window.get(), Qt::Key_D);
  EXPECT_EQ(dialog(), nullptr);
  EXPECT_TRUE(scene.window->banner()->isVisible());
}

TEST_F(QuotesTest, a_link_of_the_models_own_is_no_quote) {
  runtime::StoredMessage forged;
  forged.id = {8};
  forged.role = runtime::Role::assistant;
  forged.text = "[look here](<\x01quote:7>) and [there](quote:0)";
  scene.engine.tell(forged);
  Scene::settle();
  const int row = scene.state.conversation()->rowCount() - 1;
  EXPECT_FALSE(placeOf(row, MessageHit::Quote));
  EXPECT_TRUE(placeOf(row, MessageHit::Link));
}

constexpr std::string_view kBell = "The brass bell hangs in the old room of the tower.";

void saveQuotingChat(const QString& folder, runtime::ChatId& chat) {
  using runtime::Role;
  runtime::EngineOptions options;
  options.n_threads = 1;
  runtime::ChatService service(openStore(folder), std::move(options));
  ASSERT_TRUE(service.open_model(test::kBundledModel).ok());
  const auto begun = service.begin({.memory = {runtime::resolve_recipe("full").value(), 0}});
  ASSERT_TRUE(begun.ok());
  ASSERT_TRUE(service.attach(*begun, {.title = "bell.txt", .text = kBell}).ok());
  const std::vector<runtime::MessageText> said = {{Role::user, "What hangs there?"},
                                                  {Role::assistant, kBell}};
  ASSERT_TRUE(service.append(*begun, said).ok());
  chat = service.chat(*begun)->id();
}

TEST(QuotesInProcessTest, the_engine_finds_those_of_a_saved_chat) {
  const QTemporaryDir folder;
  runtime::ChatId chat;
  ASSERT_NO_FATAL_FAILURE(saveQuotingChat(folder.path(), chat));
  Life life(folder.path());
  ASSERT_TRUE(life.openModel()) << life.error();
  life.state.openChat(chat.value);
  const ConversationModel& rows = *life.state.conversation();
  ASSERT_TRUE(life.wait([&] { return rows.rowCount() == 4 && rows.message(3).quotes.size() == 1; }))
      << life.error();
  EXPECT_EQ(rows.documentOf(rows.message(3).quotes[0])->documentTitle, u"bell.txt"_s);
}

}  // namespace
}  // namespace satchel::ui
