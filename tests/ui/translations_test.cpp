// The window in German and French: no text is missing, none is broken, and none of it stays
// English.
#include <gtest/gtest.h>

#include <QFile>
#include <QLineEdit>
#include <QMenu>
#include <QPlainTextEdit>
#include <QProcess>
#include <QPushButton>
#include <QRegularExpression>
#include <QSet>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <QXmlStreamReader>
#include <functional>

#include "dialog_scenes.h"
#include "runtime/limits/presets.h"
#include "scenes.h"
#include "shown_text.h"
#include "ui/model/engine_values.h"
#include "ui/model/format.h"
#include "ui/model/language.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/chat_list_panel.h"
#include "ui/widgets/empty_state.h"
#include "ui/widgets/icon_button.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;

struct Translated {
  QString context, source, text, state;  // state: unfinished, vanished, obsolete; empty: done
};

QList<Translated> translationsIn(const QString& path) {
  QFile file(path);
  EXPECT_TRUE(file.open(QIODevice::ReadOnly)) << path.toStdString();
  QXmlStreamReader xml(&file);
  QList<Translated> all;
  QString context;
  while (!xml.atEnd()) {
    if (xml.readNext() != QXmlStreamReader::StartElement) continue;
    if (xml.name() == u"name") {
      context = xml.readElementText();
    } else if (xml.name() == u"source") {
      all.append({context, xml.readElementText(), {}, {}});
    } else if (xml.name() == u"translation") {
      all.back().state = xml.attributes().value(u"type"_s).toString();
      all.back().text = xml.readElementText();
    }
  }
  EXPECT_FALSE(xml.hasError()) << xml.errorString().toStdString();
  return all;
}

QString fileOf(const QString& language) {
  return QStringLiteral(SATCHEL_SOURCES "/ui/translations/satchel_%1.ts").arg(language);
}

QStringList found(const QString& text, const QString& pattern) {
  QStringList all;
  auto matches = QRegularExpression(pattern).globalMatch(text);
  while (matches.hasNext()) all.append(matches.next().captured());
  all.sort();
  return all;
}

class Translations : public testing::TestWithParam<const char*> {
 protected:
  QString language = QLatin1String(GetParam());
};

// As the target update_translations does it, on a copy.
TEST_P(Translations, have_every_text_of_the_sources_and_no_other) {
  const QTemporaryDir folder;
  const QString copy = folder.filePath(u"satchel_%1.ts"_s.arg(language));
  ASSERT_TRUE(QFile::copy(fileOf(language), copy));
  QProcess lupdate;
  lupdate.setWorkingDirectory(QStringLiteral(SATCHEL_SOURCES));
  lupdate.setProcessChannelMode(QProcess::MergedChannels);
  lupdate.start(QStringLiteral(SATCHEL_LUPDATE), {u"ui"_s, u"app/desktop"_s, u"-I"_s, u"."_s,
                                                  u"-locations"_s, u"none"_s, u"-ts"_s, copy});
  ASSERT_TRUE(lupdate.waitForFinished(60'000)) << lupdate.errorString().toStdString();
  const QString said = QString::fromUtf8(lupdate.readAll());
  ASSERT_EQ(lupdate.exitCode(), 0) << said.toStdString();
  // A text that the program would look for under another class than lupdate thinks.
  EXPECT_FALSE(said.contains(u"lacks Q_OBJECT"_s)) << said.toStdString();
  EXPECT_FALSE(said.contains(u"Qualifying with unknown"_s)) << said.toStdString();
  const QList<Translated> all = translationsIn(copy);
  EXPECT_GT(all.size(), 300);
  for (const Translated& one : all) {
    EXPECT_TRUE(one.state.isEmpty())
        << one.state.toStdString() << " in " << one.context.toStdString() << ": "
        << one.source.toStdString() << "\nBuild the target update_translations, and translate it.";
    EXPECT_FALSE(one.text.isEmpty()) << one.source.toStdString();
  }
}

TEST_P(Translations, keep_what_is_put_in_and_where_a_text_is_joined) {
  for (const Translated& one : translationsIn(fileOf(language))) {
    SCOPED_TRACE(one.source.toStdString() + " -> " + one.text.toStdString());
    EXPECT_EQ(found(one.text, u"%L?\\d+|%n"_s), found(one.source, u"%L?\\d+|%n"_s));
    EXPECT_EQ(found(one.text, u"^\\s+|\\s+$"_s), found(one.source, u"^\\s+|\\s+$"_s));
    EXPECT_EQ(found(one.text, u"&(?=\\w)|;;|\\(\\*[^)]*\\)"_s),
              found(one.source, u"&(?=\\w)|;;|\\(\\*[^)]*\\)"_s));
  }
}

TEST_P(Translations, have_the_names_of_all_presets) {
  QSet<QString> titles;
  for (const Translated& one : translationsIn(fileOf(language)))
    if (one.context == u"Preset"_s) titles.insert(one.source);
  for (const runtime::Preset& preset : runtime::presets())
    EXPECT_TRUE(titles.contains(textOf(preset.title))) << preset.title;
}

INSTANTIATE_TEST_SUITE_P(Files, Translations, testing::Values("de", "fr"),
                         [](const auto& chosen) { return std::string(chosen.param); });

TEST(French, has_narrow_spaces_and_marks_of_its_own) {
  for (const Translated& one : translationsIn(fileOf(u"fr"_s))) {
    SCOPED_TRACE(one.text.toStdString());
    EXPECT_EQ(found(one.text, u"[ \u00a0][;:?!»]|«(?!\u202f)|[\\w%)][?!»]|[\\w%)];(?!;)"_s),
              QStringList());
    EXPECT_EQ(found(one.text, u"[\\w%)]:(?!mm)"_s), QStringList());
    EXPECT_EQ(found(one.text, u"[\"']|\\.\\.\\."_s), QStringList());
  }
}

TEST(German, has_marks_of_its_own) {
  for (const Translated& one : translationsIn(fileOf(u"de"_s)))
    EXPECT_EQ(found(one.text, u"[\"']|\\.\\.\\.|Ctrl|Shift"_s), QStringList())
        << one.text.toStdString();
}

TEST(Language, of_the_system_is_one_that_there_is_or_english) {
  EXPECT_EQ(languageFor(Language::System, QLocale(u"de_AT"_s)), Language::German);
  EXPECT_EQ(languageFor(Language::System, QLocale(u"fr_CA"_s)), Language::French);
  EXPECT_EQ(languageFor(Language::System, QLocale(u"en_GB"_s)), Language::English);
  EXPECT_EQ(languageFor(Language::System, QLocale(u"es_ES"_s)), Language::English);
  EXPECT_EQ(languageFor(Language::System, QLocale::c()), Language::English);
  EXPECT_EQ(languageFor(Language::French, QLocale(u"de_DE"_s)), Language::French);
}

// English again at its end.
class InLanguage : public testing::Test {
 protected:
  ~InLanguage() override { speak(Language::English); }
  static void speak(Language language) { applyLanguage(*QCoreApplication::instance(), language); }
};

TEST_F(InLanguage, figures_are_written_as_it_does) {
  speak(Language::German);
  EXPECT_EQ(formatBytes(4'410'752), u"4,41\u00a0MB"_s);
  EXPECT_EQ(formatCount(31'904), u"31.904"_s);
  EXPECT_EQ(formatSeconds(1.24), u"1,2\u00a0s"_s);
  EXPECT_EQ(formatPercent(0.99999), u"99,9\u00a0%"_s);
  EXPECT_EQ(formatAge(49ll * 3600 * 1000), u"vor 2 Tagen"_s);
  speak(Language::French);
  EXPECT_EQ(formatBytes(4'410'752), u"4,41\u00a0Mo"_s);
  EXPECT_EQ(formatCount(31'904), u"31\u202f904"_s);
  EXPECT_EQ(formatAge(0), u"à l’instant"_s);
  speak(Language::English);
  EXPECT_EQ(formatBytes(4'410'752), u"4.41\u00a0MB"_s);
}

// All that people read or hear of a window, but for what scrolls: that is words of chats.
QSet<QString> said(QWidget* window) {
  QStringList all = shownTexts(window);
  QList<QWidget*> widgets = window->findChildren<QWidget*>();
  widgets.append(window);
  for (QWidget* widget : widgets) {
    all << widget->toolTip() << widget->accessibleName() << widget->accessibleDescription()
        << widget->windowTitle();
    for (const QAction* action : widget->actions()) all << action->text() << action->toolTip();
    if (auto* line = qobject_cast<QLineEdit*>(widget)) all << line->placeholderText();
    if (auto* input = qobject_cast<QPlainTextEdit*>(widget)) all << input->placeholderText();
  }
  return {all.begin(), all.end()};
}

// What the scripted engine and the user say: it stays as it is.
QString givenText(Scene& scene) {
  const runtime::ModelFacts& model = scene.engine.script.model;
  QStringList all = {textOf(model.title), textOf(model.device), textOf(model.path)};
  for (int row = 0; row < scene.state.chats()->rowCount(); ++row)
    all << scene.state.chats()->index(row).data(ChatListModel::TitleRole).toString();
  all << u"Letter to the archive"_s;  // of addChats(), also where it was deleted
  for (const runtime::ShelvedDocument& one : sampleShelf().documents) all << textOf(one.title);
  return all.join(u'\n');
}

struct InGerman {
  const char* name;
  std::function<void(Scene&)> build;
};

class GermanWindow : public InLanguage, public testing::WithParamInterface<InGerman> {};

TEST_P(GermanWindow, has_no_english) {
  const auto look = [](QString* given) {
    Scene scene;
    scene.show();
    GetParam().build(scene);
    Scene::settle();
    *given = givenText(scene) + u"\nSatchel"_s;
    return said(scene.window.get());
  };
  QSet<QString> alike;  // in both languages
  for (const Translated& one : translationsIn(fileOf(u"de"_s)))
    if (one.source == one.text) alike.insert(one.text);
  QString given;
  speak(Language::English);
  const QSet<QString> english = look(&given);
  EXPECT_GT(english.size(), 20);
  speak(Language::German);
  for (const QString& text : look(&given)) {
    if (!english.contains(text) || alike.contains(text)) continue;
    QString words = text;  // without marks, what is given, figures and their units
    words.remove(QRegularExpression(u"<[^>]*>"_s));
    for (const QString& known : given.split(u'\n', Qt::SkipEmptyParts)) words.remove(known);
    words.remove(QRegularExpression(u"[\\d.,]+[\u00a0 ]?(B|kB|MB|GB|TB|ms|s|min|h|%)?"_s));
    EXPECT_FALSE(words.contains(QRegularExpression(u"\\p{L}"_s))) << text.toStdString();
  }
}

void pressControl(Scene& scene, Qt::Key key) {
  QTest::keyClick(scene.window.get(), key, Qt::ControlModifier);
}

const InGerman kWindows[] = {
    {"without_a_model", [](Scene&) {}},
    {"empty",
     [](Scene& scene) {
       addChats(scene);
       scene.openModel();
     }},
    {"resumed", [](Scene& scene) { openSample(scene, u"compact"_s); }},
    {"full", [](Scene& scene) { openSample(scene, u"full"_s); }},
    {"held", [](Scene& scene) { showHeld(scene, HeldLook::Fade); }},
    {"held_in_bits", [](Scene& scene) { showHeld(scene, HeldLook::Precision); }},
    {"quoted_passage", [](Scene& scene) { showQuotedPassage(scene); }},
    {"answering",
     [](Scene& scene) {
       openSample(scene, u"balanced"_s);
       scene.engine.script.deltas = {u"17 "_s, u"18"_s};
       scene.state.send(u"?"_s);
       scene.engine.play(5);
     }},
    {"compressing",
     [](Scene& scene) {
       openSample(scene, u"compact"_s);
       scene.engine.script.packing = {samplePacking(40, 4218)};
       scene.engine.play();
     }},
    {"planning",
     [](Scene& scene) {
       openSample(scene, u"full"_s);
       scene.engine.script.change = sampleLoss();
       scene.state.memory()->plan()->setRest(std::chrono::milliseconds(0));
       scene.state.memory()->setPresetIndex(2);
       Scene::settle();
       scene.engine.playAll();
     }},
    {"reclaimed",
     [](Scene& scene) {
       openSample(scene, u"compact"_s);
       scene.engine.script.ledger = sampleLedger(scene.clock.wall + 120'000);
       scene.engine.tellLedger();
     }},
    {"ledger",
     [](Scene& scene) {
       openSample(scene, u"compact"_s);
       scene.engine.script.ledger = sampleLedger(scene.clock.wall);
       scene.engine.tellLedger();
       pressControl(scene, Qt::Key_L);
     }},
    {"deleted_chats",
     [](Scene& scene) {
       openSample(scene, u"compact"_s);
       scene.state.deleteChat(2);
       Scene::settle();
       scene.window->findChild<ChatListPanel*>()->deletedButton()->click();
     }},
    {"shelf",
     [](Scene& scene) {
       addChats(scene);
       scene.openModel();
       scene.window->emptyState()->shelfButton()->click();
     }},
    {"tour", [](Scene& scene) { showTour(scene); }},
    {"context_full",
     [](Scene& scene) {
       openSample(scene, u"full"_s);
       scene.engine.script.endsContext = true;
       scene.engine.script.errors.append(
           {runtime::ChatTask::send, {ErrorKind::out_of_memory, "CONTEXT_FULL", "1"}});
       scene.state.send(u"?"_s);
       scene.engine.playAll();
     }},
    {"parts",
     [](Scene& scene) {
       openSample(scene, u"compact"_s);
       scene.engine.script.cache = sampleBeyond(u"compact"_s, 29'160, scene.clock.wall);
       scene.engine.script.parts = sampleParts(12);
       scene.engine.tell(scene.engine.script.cache);
       pressControl(scene, Qt::Key_P);
       scene.state.nameParts({2, 3});
     }},
};

INSTANTIATE_TEST_SUITE_P(States, GermanWindow, testing::ValuesIn(kWindows),
                         [](const auto& chosen) { return std::string(chosen.param.name); });

QStringList entriesOf(const QMenu& menu) {
  QStringList all;
  for (const QAction* action : menu.actions())
    if (!action->isSeparator()) all.append(action->text());
  return all;
}

// Opens the menu of the settings, and does something with it.
void inSettings(Scene& scene, const std::function<void(QMenu&)>& act) {
  bool done = false;
  QTimer::singleShot(0, scene.window.get(), [&] {
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    ASSERT_NE(menu, nullptr);
    act(*menu);
    done = true;
    menu->close();
  });
  for (IconButton* button : scene.window->findChildren<IconButton*>())
    if (button->accessibleName() == u"More (F10)"_s) button->click();
  EXPECT_TRUE(done);
}

QMenu* subMenu(const QMenu& menu, const QString& title) {
  for (const QAction* action : menu.actions())
    if (action->text() == title) return action->menu();
  return nullptr;
}

TEST(Settings, have_appearance_language_and_keys) {
  Scene scene;
  scene.show();
  QSignalSpy chosen(scene.window.get(), &MainWindow::languageChosen);
  inSettings(scene, [](QMenu& menu) {
    EXPECT_TRUE(entriesOf(menu).contains(u"Keyboard shortcuts…"_s));
    EXPECT_EQ(entriesOf(*subMenu(menu, u"Appearance"_s)).size(), 3);
    QMenu* languages = subMenu(menu, u"Language"_s);
    EXPECT_EQ(entriesOf(*languages),
              QStringList({u"System"_s, u"English"_s, u"Deutsch"_s, u"Français"_s}));
    EXPECT_TRUE(languages->actions()[0]->isChecked());
    languages->actions()[2]->trigger();
  });
  ASSERT_EQ(chosen.count(), 1);
  EXPECT_EQ(chosen[0][0].value<Language>(), Language::German);
  EXPECT_TRUE(scene.window->banner()->isVisible());
  EXPECT_TRUE(scene.window->banner()->text().contains(u"start Satchel again"_s));
  inSettings(scene, [](QMenu& menu) {
    EXPECT_TRUE(subMenu(menu, u"Language"_s)->actions()[2]->isChecked());
  });
}

}  // namespace
}  // namespace satchel::ui
