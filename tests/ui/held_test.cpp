// How the words of a chat are held and what its newest answer looked at, shown on them.
#include <gtest/gtest.h>

#include <QPainter>
#include <QPushButton>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBlock>
#include <QTextDocument>
#include <algorithm>
#include <cstdlib>

#include "life.h"
#include "runtime/chat/chat_service.h"
#include "runtime/limits/presets.h"
#include "scenes.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/conversation/conversation_view.h"
#include "ui/widgets/conversation/held_overlay.h"
#include "ui/widgets/conversation/held_strip.h"
#include "ui/widgets/held_bar.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;

runtime::HeldMessage messageOf(std::initializer_list<runtime::HeldWords> words) {
  return {{1}, words};
}
QStringList shownOf(const QList<HeldStretch>& stretches, const QString& markdown,
                    const QString& shown) {
  QStringList out;
  for (const HeldStretch& one : heldShown(stretches, {markdown, 0}, shown))
    out.append(shown.sliced(one.begin, one.end - one.begin) + u": "_s + heldText(one.held));
  return out;
}

TEST(HeldStretches, bytes_become_characters_also_where_a_token_ends_inside_one) {
  const QString text = u"na\u00EFve \u65E5\u672C \U0001F600!"_s;
  const QList<HeldStretch> found = heldStretches(
      messageOf({{{0, 3}, {1, 16}}, {{3, 8}, {1, 4}}, {{8, 14}, {0.5f, 4}}, {{14, 20}, {1, 16}}}),
      text);
  ASSERT_EQ(found.size(), 4);
  EXPECT_EQ(found[2].begin, text.indexOf(u'\u672C') - 0);
  EXPECT_EQ(found[3].end, text.size());
  for (int i = 1; i < 4; ++i) EXPECT_EQ(found[i].begin, found[i - 1].end);
}

TEST(HeldStretches, words_of_markdown_are_found_in_what_is_shown) {
  const QString markdown = u"The **spare key** lies [here](https://example.org/a) now."_s;
  const QString shown = u"The spare key lies here now."_s;
  const auto at = [&](const QString& word) { return markdown.indexOf(word); };
  const QList<HeldStretch> held = {{0, at(u"spare"_s), {1, 16}},
                                   {at(u"spare"_s), at(u"lies"_s), {0.5f, 4.5f}},
                                   {at(u"lies"_s), at(u"now"_s), {0, 0}}};
  EXPECT_EQ(
      shownOf(held, markdown, shown),
      QStringList({u"The: Held exactly"_s, u"spare key: Held by 50 % of the heads, at 4.5 bits"_s,
                   u"lies here: Not held any more"_s}))
      << "what was not read yet is not marked";
  EXPECT_EQ(shownOf({}, markdown, shown), QStringList());
}

TEST(HeldStretches, the_words_for_people_never_round_to_more_or_less_than_there_is) {
  EXPECT_EQ(heldText({1, 16}), u"Held exactly"_s);
  EXPECT_EQ(heldText({1, 4.5f}), u"Held by all heads, at 4.5 bits"_s);
  EXPECT_EQ(heldText({0.999f, 16}), u"Held by 99 % of the heads, exactly"_s);
  EXPECT_EQ(heldText({0.004f, 8}), u"Held by less than 1 % of the heads, at 8 bits"_s);
  EXPECT_EQ(heldText({0, 0}), u"Not held any more"_s);
  EXPECT_EQ(heldText({0, 0, true}), u"Kept aside: it is fetched where a question needs it"_s);
  const QList<HeldStretch> little = {{0, 4, {0.01f, 4}}, {5, 9, {0.995f, 4}}};
  EXPECT_EQ(shownOf(little, u"some text"_s, u"some text"_s)[0],
            u"some: Held by 6 % of the heads, at 4 bits"_s)
      << "rounded up, as it is not gone";
}

TEST(HeldColors, what_is_gone_is_paler_than_what_is_held_and_can_be_read) {
  for (const Theme* theme : {&lightTheme(), &darkTheme()}) {
    float before = 0;
    for (const float share : {0.0f, 0.3f, 0.6f, 1.0f}) {
      const float now = float(heldColors({share, 4}, HeldLook::Fade, *theme).text.alphaF());
      EXPECT_GT(now, before);
      before = now;
    }
    EXPECT_EQ(before, 1.0f);
    const auto behind = [&](float bits) {
      return heldColors({1, bits}, HeldLook::Precision, *theme).behind.alphaF();
    };
    EXPECT_LT(behind(2), behind(4));
    EXPECT_LT(behind(4), behind(16));
    EXPECT_FALSE(heldColors({0, 0}, HeldLook::Precision, *theme).behind.isValid());
  }
}

// A text of a document as it is drawn, on white: without an overlay, and with one.
class HeldDrawing : public testing::Test {
 protected:
  // held: from a place of the text on, up to the next
  void write(const QString& shown, const QList<std::pair<int, kvcache::HeldToken>>& held) {
    document.setDocumentMargin(0);
    document.setPlainText(shown);
    document.setTextWidth(300);
    (void)document.size();  // laid out
    stretches.clear();
    for (int i = 0; i < held.size(); ++i)
      stretches.append({held[i].first,
                        i + 1 < held.size() ? held[i + 1].first : shown.size(),
                        held[i].second,
                        {}});
  }
  QImage draw(HeldLook look, const Theme& theme = lightTheme()) {
    QImage image(300, 400, QImage::Format_RGB32);
    image.fill(theme.base);
    QPainter painter(&image);
    QAbstractTextDocumentLayout::PaintContext context;
    context.palette = paletteOf(theme);
    context.clip = image.rect();
    context.selections = selections;
    document.documentLayout()->draw(&painter, context);
    HeldOverlay overlay;
    overlay.take(look, stretches);
    overlay.placePart({document.toPlainText(), 0}, document.toPlainText());
    overlay.draw(painter, context, 0, document, theme.base, theme);
    return image;
  }
  // Of characters in one line.
  QRect placeOf(int begin, int end) {
    const QTextBlock block = document.findBlock(begin);
    const QTextLine line = block.layout()->lineForTextPosition(begin - block.position());
    const double left = line.cursorToX(begin - block.position());
    const double right = line.cursorToX(end - block.position());
    return QRectF(left, line.y(), right - left, line.height())
        .translated(document.documentLayout()->blockBoundingRect(block).topLeft())
        .toRect();
  }
  static int darkest(const QImage& image) {
    int most = 255;
    for (int y = 0; y < image.height(); ++y)
      for (int x = 0; x < image.width(); ++x) most = std::min(most, qGray(image.pixel(x, y)));
    return most;
  }

  QTextDocument document;
  QList<HeldStretch> stretches;
  QList<QAbstractTextDocumentLayout::Selection> selections;
};

TEST_F(HeldDrawing, a_word_that_is_gone_is_paler_and_no_other) {
  write(u"alpha beta gamma"_s, {{0, {1, 16}}, {6, {0, 0}}, {11, {1, 16}}});
  const QImage plain = draw(HeldLook::Off), faded = draw(HeldLook::Fade);
  const QRect gone = placeOf(6, 10);
  EXPECT_GT(darkest(faded.copy(gone)), darkest(plain.copy(gone)) + 60);
  EXPECT_LT(darkest(faded.copy(gone)), 230) << "it can be read";
  QImage rest = faded;
  QPainter(&rest).drawImage(gone, plain, gone);
  EXPECT_EQ(rest, plain) << "where other words stand nothing changed";
}

TEST_F(HeldDrawing, a_word_in_every_line_of_a_long_paragraph_has_its_colour) {
  QString text;
  for (int i = 0; i < 60; ++i) text += u"word%1 "_s.arg(i);
  QList<std::pair<int, kvcache::HeldToken>> held;
  for (int i = 0, at = 0; i < 60; ++i, at = int(text.indexOf(u' ', at)) + 1)
    held.append({at, {1, i % 2 == 0 ? 16.0f : 2.0f}});
  write(text, held);
  ASSERT_GT(document.firstBlock().layout()->lineCount(), 4);
  for (const Theme* theme : {&lightTheme(), &darkTheme()}) {
    const QImage plain = draw(HeldLook::Off, *theme), shown = draw(HeldLook::Precision, *theme);
    for (int i = 0; i < 60; ++i) {
      // The corner of a word's place has no letter.
      const QPoint corner = placeOf(held[i].first, held[i].first + 3).topLeft() + QPoint(1, 0);
      const QColor bare = plain.pixelColor(corner), tinted = shown.pixelColor(corner);
      const int change = std::abs(bare.red() - tinted.red());
      EXPECT_GT(change, i % 2 == 0 ? 20 : 2) << i;
      EXPECT_LT(change, i % 2 == 0 ? 200 : 20) << i;
    }
  }
}

TEST_F(HeldDrawing, words_from_right_to_left_are_found_where_they_stand) {
  const QString first = u"\u05D0\u05D1\u05D2"_s, second = u"\u05D3\u05D4\u05D5"_s;
  write(u"to "_s + first + u' ' + second + u" end"_s, {{0, {1, 16}}, {3, {0, 0}}, {7, {1, 16}}});
  const QImage plain = draw(HeldLook::Off), faded = draw(HeldLook::Fade);
  QRect changed;
  for (int y = 0; y < plain.height(); ++y)
    for (int x = 0; x < plain.width(); ++x)
      if (plain.pixel(x, y) != faded.pixel(x, y)) changed |= QRect(x, y, 1, 1);
  const QTextLine line = document.firstBlock().layout()->lineAt(0);
  // The first of the two stands right of the other, from where it ends on.
  EXPECT_GT(changed.width(), 8);
  EXPECT_GE(changed.left(), line.cursorToX(6) - 1);
  EXPECT_LE(changed.right(), line.cursorToX(10) + 1);
}

TEST_F(HeldDrawing, what_is_selected_or_found_is_seen_as_it_is) {
  write(u"alpha beta gamma"_s, {{0, {0, 0}}});
  QAbstractTextDocumentLayout::Selection lit;
  lit.cursor = QTextCursor(&document);
  lit.cursor.setPosition(6);
  lit.cursor.setPosition(10, QTextCursor::KeepAnchor);
  lit.format.setBackground(lightTheme().found);
  selections = {lit};
  const QImage plain = draw(HeldLook::Off), faded = draw(HeldLook::Fade);
  EXPECT_EQ(faded.copy(placeOf(6, 10)), plain.copy(placeOf(6, 10)));
  EXPECT_NE(faded.copy(placeOf(0, 5)), plain.copy(placeOf(0, 5)));
  EXPECT_NE(faded.copy(placeOf(11, 16)), plain.copy(placeOf(11, 16)));
}

TEST_F(HeldDrawing, where_text_has_a_background_of_its_own_that_stays) {
  write(u"alpha beta gamma"_s, {{0, {0, 0}}});
  QTextCursor cursor(&document);
  cursor.setPosition(6);
  cursor.setPosition(10, QTextCursor::KeepAnchor);
  QTextCharFormat code;
  code.setBackground(Qt::yellow);
  cursor.mergeCharFormat(code);
  const QPoint corner = placeOf(6, 10).topLeft() + QPoint(1, 0);
  EXPECT_EQ(draw(HeldLook::Fade).pixelColor(corner), QColor(Qt::yellow));
}

TEST(AttendedStretches, a_word_has_the_sum_of_its_tokens_and_how_often_an_even_share_that_is) {
  const QString text = u"The spare key"_s;
  const runtime::AttendedMessage message{{1},
                                         {{.words = {0, 3}, .share = 0.001f},
                                          {.words = {3, 6}, .share = 0.02f},  // " sp"
                                          {.words = {6, 9}, .share = 0.06f},  // "are"
                                          {.words = {9, 13}, .share = 0}}};
  const auto stretches = attendedStretches(message, 500, text);
  const QList<HeldStretch> shown = heldShown(stretches, {text, 0}, text);
  ASSERT_EQ(shown.size(), 3);
  EXPECT_EQ(text.sliced(shown[1].begin, shown[1].end - shown[1].begin), u"spare"_s);
  EXPECT_NEAR(shown[1].attended.share, 0.06 + 0.02 * 2 / 3, 1e-5) << "the blank is no word's";
  EXPECT_NEAR(shown[1].attended.times, (2 * 10.0 + 3 * 30.0) / 5, 1e-3);
  EXPECT_EQ(attendedText(shown[1].attended),
            u"7.3 % of the newest answer's attention, 22 times an even share"_s);
  EXPECT_EQ(attendedText(shown[0].attended),
            u"0.1 % of the newest answer's attention, less than an even share"_s);
  EXPECT_EQ(attendedText({0.0004f, 1.5f}),
            u"less than 0.1 % of the newest answer's attention, 1.5 times an even share"_s);
}

TEST(AttendedStretches, heat_begins_above_an_even_share_and_rises_with_the_logarithm) {
  EXPECT_EQ(heatOf({0.5f, 0.9f}), 0);
  EXPECT_EQ(heatOf({0, 1}), 0);
  EXPECT_NEAR(heatOf({0, 8}), 0.5, 1e-6);
  EXPECT_EQ(heatOf({0, 64}), 1);
  EXPECT_EQ(heatOf({0, 4000}), 1);
  const QList<HeldStretch> line = {{0, 50, {}, {0, 1}}, {50, 52, {}, {0, 64}}};
  EXPECT_EQ(heatBetween(line, 0, 50), 0);
  EXPECT_EQ(heatBetween(line, 0, 51), 1) << "one hot word of a line is seen in the strip";
}

TEST(AttendedStretches, the_summary_says_where_the_attention_is_and_what_is_not_known) {
  runtime::AttendedText text;
  EXPECT_TRUE(attendedSummary(attendedSums(text)).startsWith(u"There is no answer yet."_s));
  text.answer = {2};
  EXPECT_TRUE(attendedSummary(attendedSums(text)).contains(u"nothing is known"_s));
  text.n_queries = 16;
  text.messages = {{{1}, {{.words = {0, 4}, .share = 0.25f}, {.words = {4, 8}, .share = 0.1f}}},
                   {{2}, {{.words = {0, 4}, .share = 0.05f}}}};
  EXPECT_EQ(attendedSummary(attendedSums(text)),
            u"Attention of the newest answer: 35 % on the words before it, 5.0 % on its own words, "
            "60 % on marks and instructions that are not shown. Measured on 16 of its tokens, in "
            "memory as it is now."_s);
}

class HeldTest : public testing::Test {
 protected:
  HeldTest() {
    scene.show();
    showHeld(scene, HeldLook::Off);
  }
  void press(Qt::Key key) {
    QTest::keyClick(scene.window->composer()->edit(), key, Qt::ControlModifier);
    Scene::settle();
  }
  bool isStripSeen() const { return scene.window->findChild<HeldStrip*>()->isVisible(); }
  QImage picture() { return scene.window->conversation()->viewport()->grab().toImage(); }

  Scene scene;
};

TEST_F(HeldTest, the_key_shows_it_and_hides_it_and_only_then_is_the_engine_asked) {
  EXPECT_EQ(scene.engine.heldAsked(), 0);
  EXPECT_FALSE(scene.window->heldBar()->isVisible());
  const QImage plain = picture();
  press(Qt::Key_H);
  EXPECT_EQ(scene.engine.heldAsked(), 1);
  EXPECT_TRUE(scene.window->heldBar()->isVisible());
  EXPECT_TRUE(scene.window->heldBar()->summary().contains(u"of the heads"_s));
  EXPECT_TRUE(isStripSeen());
  press(Qt::Key_H);
  EXPECT_FALSE(scene.window->heldBar()->isVisible());
  EXPECT_FALSE(isStripSeen());
  EXPECT_EQ(picture(), plain);
  EXPECT_TRUE(scene.state.conversation()->held(0).isEmpty());
}

TEST_F(HeldTest, both_looks_change_what_is_drawn_and_no_line_moves) {
  const int width = scene.window->conversation()->viewport()->width();
  press(Qt::Key_H);
  QTest::mouseClick(scene.window->heldBar()->precision(), Qt::LeftButton);
  Scene::settle();
  const QImage precision = picture();
  EXPECT_EQ(scene.window->conversation()->viewport()->width(), width);
  const int range = scene.window->conversation()->verticalScrollBar()->maximum();
  QTest::mouseClick(scene.window->heldBar()->fade(), Qt::LeftButton);
  Scene::settle();
  EXPECT_NE(picture(), precision);
  EXPECT_EQ(scene.window->conversation()->verticalScrollBar()->maximum(), range);
  EXPECT_EQ(scene.engine.heldAsked(), 1) << "the same figures";
  EXPECT_TRUE(scene.window->heldBar()->fade()->isChecked());
  EXPECT_FALSE(scene.window->heldBar()->precision()->isChecked());
}

TEST_F(HeldTest, a_word_says_in_words_how_it_is_held) {
  press(Qt::Key_H);
  ConversationView* view = scene.window->conversation();
  view->verticalScrollBar()->setValue(0);
  Scene::settle();
  const QModelIndex first = scene.state.conversation()->index(0);
  const QPoint place = view->visualRect(first).center();
  QTest::mouseMove(view->viewport(), place);
  Scene::settle();
  EXPECT_TRUE(view->viewport()->toolTip().contains(u"eld"_s))
      << view->viewport()->toolTip().toStdString();
}

TEST_F(HeldTest, it_is_looked_at_again_when_the_memory_has_changed) {
  press(Qt::Key_H);
  ASSERT_EQ(scene.engine.heldAsked(), 1);
  scene.engine.script.held.messages.clear();
  scene.engine.tell(scene.engine.script.cache);
  scene.engine.tell(scene.engine.script.cache);
  EXPECT_TRUE(QTest::qWaitFor([this] { return scene.engine.heldAsked() == 2; }));
  EXPECT_TRUE(scene.state.conversation()->held(0).isEmpty());
  press(Qt::Key_H);
  scene.engine.tell(scene.engine.script.cache);
  EXPECT_EQ(scene.engine.heldAsked(), 2) << "it is not shown any more";
}

TEST_F(HeldTest, a_click_on_the_strip_goes_there) {
  scene.window->resize(900, 480);
  press(Qt::Key_H);
  QScrollBar* bar = scene.window->conversation()->verticalScrollBar();
  ASSERT_GT(bar->maximum(), 0);
  auto* strip = scene.window->findChild<HeldStrip*>();
  QTest::mouseClick(strip, Qt::LeftButton, {}, QPoint(5, 1));
  EXPECT_EQ(bar->value(), 0);
  QTest::mouseClick(strip, Qt::LeftButton, {}, QPoint(5, strip->height() - 2));
  EXPECT_EQ(bar->value(), bar->maximum());
}

TEST_F(HeldTest, heat_is_asked_for_when_it_is_chosen_and_again_with_the_next_answer) {
  press(Qt::Key_H);
  EXPECT_EQ(scene.engine.attendedAsked(), 0) << "it takes the engine's time";
  HeldBar* bar = scene.window->heldBar();
  QTest::mouseClick(bar->heat(), Qt::LeftButton);
  Scene::settle();
  EXPECT_EQ(scene.engine.attendedAsked(), 1);
  EXPECT_TRUE(bar->summary().startsWith(u"Looking at"_s)) << "the window does not wait for it";
  const QImage plain = picture();
  scene.engine.playAll();
  Scene::settle();
  EXPECT_TRUE(bar->summary().startsWith(u"Attention of the newest answer: "_s))
      << bar->summary().toStdString();
  EXPECT_TRUE(bar->heat()->isChecked());
  EXPECT_NE(picture(), plain);
  EXPECT_TRUE(isStripSeen());
  QTest::mouseClick(bar->fade(), Qt::LeftButton);
  QTest::mouseClick(bar->heat(), Qt::LeftButton);
  EXPECT_EQ(scene.engine.attendedAsked(), 1) << "the same answer";
  scene.state.send(u"And then?"_s);
  scene.engine.playAll();
  EXPECT_TRUE(QTest::qWaitFor([this] { return scene.engine.attendedAsked() == 2; }));
}

TEST_F(HeldTest, heat_that_had_to_make_way_is_asked_for_again_and_what_failed_says_why) {
  scene.engine.script.errors.append(
      {runtime::ChatTask::show_held, {ErrorKind::cancelled, "STOPPED", "Stopped."}});
  scene.state.setHeldLook(HeldLook::Heat);
  scene.engine.playAll();
  scene.engine.script.errors.append(
      {runtime::ChatTask::show_held, {ErrorKind::out_of_memory, "MEMORY", "Too little memory."}});
  EXPECT_TRUE(QTest::qWaitFor([this] { return scene.engine.attendedAsked() == 2; }));
  QSignalSpy errors(&scene.state, &AppState::errorShown);
  scene.engine.playAll();
  Scene::settle();
  EXPECT_EQ(scene.window->heldBar()->summary(), u"Too little memory."_s);
  EXPECT_EQ(errors.count(), 0) << "it is said in one place";
}

TEST_F(HeldTest, a_chat_without_an_answer_says_so) {
  scene.engine.script.attended = {};
  scene.state.setHeldLook(HeldLook::Heat);
  scene.engine.playAll();
  Scene::settle();
  EXPECT_TRUE(scene.window->heldBar()->summary().startsWith(u"There is no answer yet."_s));
}

TEST(HeldInProcessTest, the_engine_tells_what_the_newest_answer_looked_at) {
  const QTemporaryDir folder;
  Life life(folder.path());
  ASSERT_TRUE(life.openModel()) << life.error();
  life.state.setHeldLook(HeldLook::Heat);
  life.state.send(u"Where is the spare key of the lighthouse?"_s);
  const ConversationModel& rows = *life.state.conversation();
  ASSERT_TRUE(life.wait([&] { return rows.attendedSums().n_queries > 0; })) << life.error();
  EXPECT_GT(rows.attendedSums().before, 0);
  EXPECT_LE(rows.attendedSums().before + rows.attendedSums().itself, 1 + 1e-4);
  EXPECT_FALSE(rows.attended(0).isEmpty());
}

TEST(HeldInProcessTest, the_engine_tells_it_of_every_message_of_a_compressed_chat) {
  const QTemporaryDir folder;
  Life life(folder.path());
  ASSERT_TRUE(life.openModel()) << life.error();
  life.state.setHeldLook(HeldLook::Fade);
  life.state.send(u"Where is the spare key of the lighthouse?"_s);
  const ConversationModel& rows = *life.state.conversation();
  ASSERT_TRUE(life.wait([&] {
    return rows.rowCount() == 2 && life.state.phase() == AppState::Phase::Ready &&
           !rows.held(0).isEmpty() && !rows.held(1).isEmpty();
  })) << life.error();
  EXPECT_EQ(rows.held(0).front().begin, 0);
  EXPECT_EQ(rows.held(0).back().end, rows.message(0).text.size());
  EXPECT_EQ(heldText(rows.held(0).front().held), u"Held exactly"_s);
}

}  // namespace
}  // namespace satchel::ui
