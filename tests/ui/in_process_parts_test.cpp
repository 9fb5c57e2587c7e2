// Documents in parts with the bundled model and a store on disk, which may lose what it saved.
#include <gtest/gtest.h>

#include <QListWidget>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>

#include "life.h"
#include "runtime/limits/presets.h"
#include "support/value_of.h"
#include "ui/model/parts_text.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/main_window.h"
#include "ui/widgets/parts_popup.h"
#include "ui/widgets/question_card.h"

namespace satchel::ui {
namespace {

using Phase = AppState::Phase;

QString bells(int n) {
  QString text;
  for (int i = 0; i < n; ++i) text += u"The brass bell hangs in room %1 of the tower.\n"_s.arg(i);
  return text;
}

class PartsInProcess : public testing::Test {
 protected:
  static void beginCompact(Life& life) {
    ASSERT_TRUE(life.openModel()) << life.error();
    life.state.memory()->setPresetIndex(2);
    life.state.newChat();
    ASSERT_TRUE(life.waitReady()) << life.error();
  }
  static const Message& document(Life& life) { return life.state.conversation()->message(0); }
  static bool waitAllRead(Life& life) {
    return life.wait(
        [&] { return document(life).documentPartsRead == document(life).documentParts; });
  }
  void resume(Life& life, ChatKey key) {
    ASSERT_TRUE(life.openModel()) << life.error();
    life.state.openChat(key);
    ASSERT_TRUE(life.wait([&] { return life.resumed.count() == 1 && !life.caches.isEmpty(); }))
        << life.error();
  }
  ChatKey compactChat() {
    Life life(folder.path());
    beginCompact(life);
    life.state.attachDocument(u"bells.txt"_s, bells(300));
    EXPECT_TRUE(life.waitReady() && waitAllRead(life)) << life.error();
    EXPECT_TRUE(life.send(u"Where is the brass bell of room 12?"_s)) << life.error();
    return life.state.chat().id;
  }
  // A Full chat of which parts rest in the store, as there is no memory for all.
  ChatKey fullChat() {
    Life life(folder.path());
    EXPECT_TRUE(life.openModel()) << life.error();
    life.state.attachDocument(u"bells.txt"_s, bells(300));
    EXPECT_TRUE(life.wait([&] { return life.state.question().isAsked(); })) << life.error();
    EXPECT_TRUE(life.waitReady()) << life.error();
    life.state.goOn();
    EXPECT_TRUE(life.wait([&] { return life.state.conversation()->rowCount() == 2; }));
    EXPECT_TRUE(life.waitReady() && waitAllRead(life)) << life.error();
    EXPECT_TRUE(life.send(u"Where is the brass bell of room 12?"_s)) << life.error();
    return life.state.chat().id;
  }
  // Of those that `loses` says.
  int loseRecords(const std::function<bool(const std::string& name)>& loses) {
    const auto store = openStore(folder.path());
    int n = 0;
    const std::vector<kvcache::SavedCache> all = value_of(store->kv()->list());
    for (const kvcache::SavedCache& saved : all)
      if (loses(saved.key.name) && store->kv()->drop(saved.key).ok()) ++n;
    return n;
  }
  QTemporaryDir folder;
};

TEST_F(PartsInProcess, a_question_need_not_wait_and_the_rest_is_read_later_also_after_a_restart) {
  ChatKey key = 0;
  int nRead = 0;
  {
    Life life(folder.path());
    beginCompact(life);
    life.state.setTypingRest(std::chrono::hours(1));
    life.state.attachDocument(u"bells.txt"_s, bells(2'000));
    ASSERT_TRUE(life.wait([&] { return life.state.canSend(); })) << life.error();
    EXPECT_EQ(life.state.phase(), Phase::Reading);
    life.state.send(u"Where is the brass bell of room 12?"_s);
    EXPECT_FALSE(life.state.canSend());
    ASSERT_TRUE(life.waitReady()) << life.error();
    life.state.noteTyping();  // no idle work
    ASSERT_EQ(life.state.conversation()->rowCount(), 4);
    nRead = document(life).documentPartsRead;
    EXPECT_GE(nRead, 1);
    EXPECT_LT(nRead, document(life).documentParts);
    EXPECT_TRUE(life.state.conversation()->message(3).footnote.contains(u"not read yet"_s));
    key = life.state.chat().id;
  }
  Life life(folder.path());
  resume(life, key);
  EXPECT_GE(document(life).documentPartsRead, nRead);
  ASSERT_TRUE(waitAllRead(life)) << life.error();
  EXPECT_EQ(documentPartsText(document(life)),
            u"read in %1 parts"_s.arg(document(life).documentParts));
}

TEST_F(PartsInProcess, stopped_in_the_middle_it_goes_on_while_idle) {
  Life life(folder.path());
  beginCompact(life);
  QSignalSpy told(&life.state, &AppState::noticeShown);
  life.state.attachDocument(u"bells.txt"_s, bells(1'000));
  ASSERT_TRUE(life.wait([&] { return life.state.canSend(); })) << life.error();
  life.state.stop();
  ASSERT_TRUE(life.waitReady()) << life.error();
  ASSERT_GE(told.count(), 1);
  EXPECT_TRUE(told.last()[0].toString().contains(u"The unread parts are read"_s));
  ASSERT_TRUE(waitAllRead(life)) << life.error();
}

TEST_F(PartsInProcess, after_a_restart_the_window_lists_the_parts_and_asks_all_of_them) {
  const ChatKey key = compactChat();
  Life life(folder.path());
  MainWindow window(&life.state, {});
  window.show();
  resume(life, key);
  QTest::keyClick(&window, Qt::Key_P, Qt::ControlModifier);
  PartsPopup* popup = nullptr;
  ASSERT_TRUE(life.wait([&] { return (popup = window.findChild<PartsPopup*>()) != nullptr; }));
  EXPECT_EQ(popup->list()->count(), document(life).documentParts - 1)
      << "the last one is no older text yet";
  int nSeen = 0;
  for (int i = 0; i < popup->list()->count(); ++i)
    if (popup->list()->item(i)->checkState() == Qt::Checked) ++nSeen;
  EXPECT_GT(nSeen, 0) << "what the last answer saw";
  popup->close();
  EventSpy<runtime::Progress> progress(&life.engine);
  window.composer()->edit()->setPlainText(u"Where is the brass bell of room 12?"_s);
  QTest::keyClick(&window, Qt::Key_A, Qt::ControlModifier | Qt::ShiftModifier);
  ASSERT_TRUE(life.waitReady()) << life.error();
  const auto isAsking = [](const runtime::Progress& now) {
    return now.phase == runtime::Phase::ask_parts;
  };
  EXPECT_GE(std::count_if(progress.begin(), progress.end(), isAsking),
            document(life).documentParts);
  const int last = life.state.conversation()->rowCount() - 1;
  EXPECT_EQ(life.state.conversation()->message(last - 1).text,
            u"Where is the brass bell of room 12?"_s);
  EXPECT_FALSE(life.state.conversation()->message(last).text.isEmpty());
  EXPECT_TRUE(window.composer()->edit()->toPlainText().isEmpty());
}

TEST_F(PartsInProcess, a_part_whose_record_is_lost_is_read_again_where_it_is_asked) {
  const ChatKey key = fullChat();
  ASSERT_GT(loseRecords([](const auto& name) { return name.find(" from ") != name.npos; }), 0);
  Life life(folder.path());
  resume(life, key);
  const int n = document(life).documentParts;
  EXPECT_EQ(document(life).documentPartsRead, n);
  for (int part = 0; part < n - 1; ++part) {
    life.state.nameParts({part});
    ASSERT_TRUE(life.send(u"Where is the brass bell?"_s)) << life.error();
    const int last = life.state.conversation()->rowCount() - 1;
    EXPECT_EQ(life.state.conversation()->message(last).partsSeen, QList<int>{part});
  }
}

TEST_F(PartsInProcess, where_all_that_was_saved_is_lost_the_card_says_what_is_read_again) {
  const ChatKey key = fullChat();
  ASSERT_GT(loseRecords([](const auto&) { return true; }), 0);
  Life life(folder.path());
  resume(life, key);
  EXPECT_GT(life.resumed.first().n_reread, 0u);
  EXPECT_EQ(documentPartsText(document(life)),
            u"%1 of %2 parts read"_s.arg(document(life).documentPartsRead)
                .arg(document(life).documentParts));
  ASSERT_TRUE(waitAllRead(life)) << life.error();
  EXPECT_TRUE(life.send(u"Where is the brass bell of room 12?"_s)) << life.error();
}

TEST_F(PartsInProcess, a_full_chat_that_became_too_long_asks_on_its_card) {
  const ChatKey key = compactChat();
  {
    const auto store = openStore(folder.path());
    runtime::ChatSetup setup = value_of(store->library().chat({key})).setup;
    setup.recipe_json = value_of(runtime::resolve_recipe("full")).json();
    ASSERT_TRUE(store->library().set_setup({key}, setup).ok());
  }
  Life life(folder.path());
  MainWindow window(&life.state, {});
  window.show();
  resume(life, key);
  EXPECT_TRUE(window.question()->isVisible());
  EXPECT_FALSE(life.state.hasParts());
  EXPECT_TRUE(life.state.memory()->contextEnds());
  window.question()->yes()->click();
  ASSERT_TRUE(life.wait([&] { return life.state.hasParts(); })) << life.error();
  ASSERT_TRUE(life.waitReady()) << life.error();
  EXPECT_FALSE(window.question()->isVisible());
  EXPECT_TRUE(life.send(u"Where is the brass bell of room 12?"_s)) << life.error();
}

}  // namespace
}  // namespace satchel::ui
