// Where the list has chats: in folders, and at its top; by the menu of a chat.
#include <gtest/gtest.h>

#include <QComboBox>
#include <QInputDialog>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QTemporaryDir>

#include "life.h"
#include "scenes.h"
#include "ui/widgets/chat_list_panel.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;

class FoldersTest : public testing::Test {
 protected:
  FoldersTest() {
    addChats(scene);
    scene.show();
    scene.openModel();
    panel = scene.window->findChild<ChatListPanel*>();
  }
  QStringList titles() const {
    QStringList titles;
    const QAbstractItemModel* list = panel->list()->model();
    for (int row = 0; row < list->rowCount(); ++row)
      titles.append(list->index(row, 0).data().toString());
    return titles;
  }
  QStringList menuOf(ChatKey chat, const QString& choose = {}) {
    QMenu menu;
    panel->addFolderActions(menu, chat);
    QStringList names;
    for (QAction* action : menu.actions()) {
      names.append(action->text() + (action->isChecked() ? u"!"_s : QString()));
      if (action->text() == choose) action->trigger();
    }
    return names;
  }
  Scene scene;
  ChatListPanel* panel = nullptr;
};

TEST_F(FoldersTest, chats_are_put_into_folders_and_shown_by_them) {
  EXPECT_FALSE(panel->folders()->isVisible()) << "there are none";
  scene.state.setFolder(2, u" Field  work "_s);
  scene.state.setFolder(4, u"at home"_s);
  ASSERT_TRUE(panel->folders()->isVisible());
  ASSERT_EQ(panel->folders()->count(), 3);
  EXPECT_EQ(panel->folders()->itemText(1), u"at home"_s);
  EXPECT_EQ(titles().size(), 5);
  panel->folders()->setCurrentIndex(2);
  Q_EMIT panel->folders()->activated(2);
  EXPECT_EQ(titles(), QStringList{u"Letter to the archive"_s});
  scene.state.openChat(3);  // the open chat is seen in every folder
  scene.engine.playAll();
  EXPECT_EQ(titles().size(), 2);
  panel->filter()->setText(u"letter"_s);
  EXPECT_EQ(titles().size(), 1) << "the filter goes on inside the folder";
}

TEST_F(FoldersTest, the_menu_of_a_chat_says_where_it_is_and_moves_it) {
  scene.state.setFolder(2, u"A & B"_s);
  EXPECT_EQ(menuOf(2), (QStringList{u"None"_s, u"A && B!"_s, QString(), u"New folder…"_s}));
  menuOf(3, u"A && B"_s);
  EXPECT_EQ(scene.state.chats()->folderOf(3), u"A & B"_s);
  menuOf(3, u"New folder…"_s);
  auto* dialog = panel->findChild<QInputDialog*>();
  ASSERT_NE(dialog, nullptr);
  dialog->setTextValue(u"New one"_s);
  dialog->accept();
  EXPECT_EQ(scene.state.chats()->folderOf(3), u"New one"_s);
}

TEST_F(FoldersTest, a_folder_goes_with_its_last_chat_and_all_chats_are_shown) {
  scene.state.setFolder(2, u"one"_s);
  Q_EMIT panel->folders()->activated(1);
  ASSERT_EQ(titles().size(), 1);
  menuOf(2, u"None"_s);
  EXPECT_FALSE(panel->folders()->isVisible());
  EXPECT_EQ(titles().size(), 5);
}

TEST_F(FoldersTest, a_chat_is_kept_at_the_top_also_in_its_folder_and_where_titles_are_searched) {
  const auto toggle = [this](ChatKey chat) {
    QMenu menu;
    panel->addTopAction(menu, chat);
    const QString text = menu.actions().constFirst()->text();
    menu.actions().constFirst()->trigger();
    return text;
  };
  const QStringList before = titles();
  EXPECT_EQ(toggle(4), u"Keep at top"_s);
  EXPECT_EQ(titles().constFirst(), u"Packing list"_s);
  EXPECT_EQ(titles().mid(1, 3), before.mid(0, 3)) << "the others stay in their order";
  scene.state.setFolder(2, u"work"_s);
  scene.state.setFolder(4, u"work"_s);
  Q_EMIT panel->folders()->activated(1);
  EXPECT_EQ(titles(), (QStringList{u"Packing list"_s, u"Letter to the archive"_s}));
  panel->filter()->setText(u"t"_s);
  EXPECT_EQ(titles().constFirst(), u"Packing list"_s);
  Q_EMIT panel->folders()->activated(0);
  panel->filter()->clear();
  EXPECT_EQ(toggle(4), u"Don't keep at top"_s);
  EXPECT_EQ(titles(), before);
}

TEST_F(FoldersTest, a_chat_kept_at_the_top_has_a_mark_that_leaves_its_title_room) {
  panel->list()->clearFocus();
  const auto picture = [this] {
    Scene::settle();
    return panel->list()->viewport()->grab().toImage();
  };
  scene.state.setAtTop(1, true);  // it was the first one: nothing moves
  const QImage marked = picture();
  const QRect row = panel->list()->visualRect(panel->list()->model()->index(0, 0));
  scene.state.setAtTop(1, false);
  const QImage plain = picture();
  EXPECT_NE(marked.copy(row), plain.copy(row));
  EXPECT_EQ(marked.copy(row.translated(0, row.height())),
            plain.copy(row.translated(0, row.height())));
}

TEST(FoldersInProcess, are_kept_and_do_not_change_when_the_chat_was_used) {
  QTemporaryDir folder;
  {
    Life life(folder.path());
    ASSERT_TRUE(life.openModel()) << life.error();
    ASSERT_TRUE(life.send(u"Hello"_s)) << life.error();
    life.state.setFolder(life.state.chat().id, u"Notes"_s);
    ASSERT_TRUE(life.wait([&] { return !life.state.chats()->folders().isEmpty(); }));
    const ChatKey chat = life.state.chat().id;
    life.state.setAtTop(chat, true);
    ASSERT_TRUE(life.wait([&] { return life.state.chats()->isAtTop(chat); }));
  }
  Life life(folder.path());
  ASSERT_TRUE(life.openModel()) << life.error();
  EXPECT_EQ(life.state.chats()->folders(), QStringList{u"Notes"_s});
  EXPECT_TRUE(life.state.chats()->index(0).data(ChatListModel::AtTopRole).toBool());
}

}  // namespace
}  // namespace satchel::ui
