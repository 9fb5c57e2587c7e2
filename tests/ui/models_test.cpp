// The model library: what it says of models, imports and downloads, on tools of the test's own.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMimeData>
#include <QPushButton>
#include <QSemaphore>
#include <QSignalSpy>
#include <QTest>
#include <atomic>

#include "scenes.h"
#include "support/bundled_model.h"
#include "ui/widgets/models_dialog.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;

// Blanks that hold a number and its unit together, as others.
QString plain(QString text) {
  return text.replace(QChar::Nbsp, u' ');
}

ModelDetails sampleDetails() {
  ModelDetails details;
  details.facts.title = "SmolLM2 135M";
  details.facts.architecture = "llama";
  details.facts.licence = "apache-2.0";
  details.facts.has_template = true;
  details.facts.chat_template = "chatml";
  details.facts.weights = "Q4_K";
  details.facts.n_parameters = 134'515'008;
  details.facts.n_bytes = 94'000'000;
  details.facts.n_context = 8192;
  details.weightBytes = 94'000'000;
  details.freeBytes = 5'140'000'000;
  details.fits = {{u"Fits with Full"_s, 198'000'000, 8192, true},
                  {u"Fits with Compact"_s, 0, 0, false}};
  return details;
}

class ModelsTest : public testing::Test {
 protected:
  ModelsTest() {
    ModelTools tools;
    tools.list = [this] { return models; };
    tools.look = [](const QString& path, std::stop_token) -> Result<ModelDetails> {
      if (path.contains(u"damaged"_s))
        return Error{ErrorKind::corrupt, "MODEL_MAGIC", "This is no GGUF file."};
      return sampleDetails();
    };
    tools.import = [this](const QString& path, std::stop_token, const FetchFn&) -> Result<QString> {
      models.append({u"/models/"_s + path.section(u'/', -1), u"new"_s, 7});
      return models.back().path;
    };
    tools.download = [this](const QString& url, const QString& sha256, std::stop_token stop,
                            const FetchFn& progress) -> Result<QString> {
      asked = url + u' ' + sha256;
      progress({25'000'000, 100'000'000});
      while (!goOn.tryAcquire(1, 10))
        if (stop.stop_requested()) return Error{ErrorKind::cancelled, "STOPPED", "Stopped."};
      if (!failsWith.isEmpty())
        return Error{ErrorKind::corrupt, "DOWNLOAD_HASH", failsWith.toStdString()};
      models.append({u"/models/got.gguf"_s, u"got"_s, 100});
      return u"/models/got.gguf"_s;
    };
    library = std::make_unique<ModelLibrary>(std::move(tools));
  }
  ModelsDialog* open() {
    dialog = std::make_unique<ModelsDialog>(library.get(), u"~/models"_s, u"/models/b.gguf"_s);
    dialog->setAttribute(Qt::WA_DeleteOnClose, false);
    dialog->show();
    return dialog.get();
  }
  static bool wait(const std::function<bool()>& done) { return QTest::qWaitFor(done, 20'000); }

  QList<ModelChoice> models = {{u"/models/a.gguf"_s, u"a"_s, 94'000'000},
                               {u"/models/b.gguf"_s, u"b"_s, 2'000'000},
                               {u"/models/damaged.gguf"_s, u"damaged"_s, 3}};
  QString asked, failsWith;
  QSemaphore goOn;
  std::unique_ptr<ModelLibrary> library;  // ends its threads before what they use
  std::unique_ptr<ModelsDialog> dialog;
};

TEST(ModelLibrary, says_what_a_model_is_in_words) {
  const auto rows = ModelLibrary::rowsOf(sampleDetails());
  QStringList lines;
  for (const auto& [name, text] : rows) lines.append(name + u": "_s + text);
  EXPECT_EQ(plain(lines.join(u'\n')),
            u"Architecture: llama\nContext: 8,192 tokens\n"
            "Size: 135 million parameters, 94.0 MB, mostly Q4_K\n"
            "Chat template: chatml\nLicence: apache-2.0\n"
            "Memory: 94.0 MB for the weights, 5.14 GB free\n"
            "Fits with Full: 8,192 tokens in 198 MB\n"
            "Fits with Compact: does not fit"_s);
}

TEST_F(ModelsTest, the_open_model_is_chosen_and_described) {
  ModelsDialog* shown = open();
  EXPECT_EQ(shown->list()->currentIndex().row(), 1);
  ASSERT_TRUE(wait([&] { return shown->detailsText().contains(u"Architecture: llama"_s); }));
  shown->list()->setCurrentIndex(library->index(2));
  ASSERT_TRUE(wait([&] { return shown->detailsText().contains(u"This is no GGUF file."_s); }));
}

TEST_F(ModelsTest, is_opened_by_the_keyboard) {
  ModelsDialog* shown = open();
  QSignalSpy opened(shown, &ModelsDialog::opened);
  shown->list()->setFocus();
  QTest::keyClick(shown->list(), Qt::Key_Up);
  QTest::keyClick(shown->list(), Qt::Key_Return);
  ASSERT_EQ(opened.count(), 1);
  EXPECT_EQ(opened[0][0].toString(), u"/models/a.gguf"_s);
}

TEST_F(ModelsTest, a_dropped_file_is_imported_and_chosen) {
  const QAbstractItemModelTester laws(library.get());
  ModelsDialog* shown = open();
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(u"/elsewhere/new.gguf"_s)});
  // Qt drops only where something was dragged to.
  QDragEnterEvent enter(QPoint(5, 5), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(shown, &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent drop(QPointF(5, 5), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(shown, &drop);
  ASSERT_TRUE(wait([&] { return shown->list()->currentIndex().row() == 3; }));
  EXPECT_EQ(shown->fetchText(), u"new.gguf is in the library."_s);
}

TEST_F(ModelsTest, a_download_shows_its_progress_and_goes_on_when_the_dialog_is_closed) {
  ModelsDialog* shown = open();
  EXPECT_FALSE(shown->fetchButton()->isEnabled());
  QTest::keyClicks(shown->address(), u" https://host.example/m/got.gguf?download=true"_s);
  QTest::keyClicks(shown->sha256(), u"abc"_s);
  QTest::keyClick(shown->sha256(), Qt::Key_Return);
  ASSERT_TRUE(wait([&] { return plain(shown->fetchText()) == u"got.gguf: 25.0 MB of 100 MB"_s; }))
      << shown->fetchText().toStdString();
  EXPECT_EQ(asked, u"https://host.example/m/got.gguf?download=true abc"_s);
  EXPECT_EQ(shown->fetchButton()->text(), u"Stop"_s);
  dialog.reset();
  goOn.release();
  ASSERT_TRUE(wait([&] { return !library->isFetching(); }));
  EXPECT_EQ(library->rowOf(u"/models/got.gguf"_s), 3);
}

TEST_F(ModelsTest, a_download_is_stopped_and_a_failed_one_says_why) {
  ModelsDialog* shown = open();
  shown->address()->setText(u"https://host.example/got.gguf"_s);
  shown->fetchButton()->click();
  ASSERT_TRUE(wait([&] { return library->fetchShare() > 0; }));
  shown->fetchButton()->click();
  ASSERT_TRUE(wait([&] { return !library->isFetching(); }));
  EXPECT_TRUE(shown->fetchText().startsWith(u"Stopped."_s));
  failsWith = u"Another SHA-256."_s;
  goOn.release();
  shown->fetchButton()->click();
  ASSERT_TRUE(wait([&] { return shown->fetchText() == failsWith; }));
  EXPECT_EQ(library->rowCount(), 3);
}

TEST_F(ModelsTest, closing_the_window_stops_a_download) {
  open()->address()->setText(u"https://host.example/got.gguf"_s);
  dialog->fetchButton()->click();
  ASSERT_TRUE(wait([&] { return library->fetchShare() > 0; }));
  library->disconnect();
  dialog.reset();
  library.reset();  // hangs if it is not stopped
}

TEST_F(ModelsTest, every_control_has_a_name) {
  for (const QWidget* widget : open()->findChildren<QWidget*>()) {
    const auto* button = qobject_cast<const QAbstractButton*>(widget);
    const bool isNamed =
        !widget->accessibleName().isEmpty() || (button != nullptr && !button->text().isEmpty());
    if (widget->focusPolicy() != Qt::NoFocus && widget->isVisible() &&
        !widget->objectName().startsWith(u"qt_"_s) &&
        qobject_cast<const QLabel*>(widget) == nullptr) {
      EXPECT_TRUE(isNamed) << widget->metaObject()->className();
    }
  }
}

TEST(FileFacts, of_the_bundled_model) {
  const auto facts = runtime::file_facts(test::kBundledModel);
  ASSERT_TRUE(facts.ok()) << facts.error().message;
  EXPECT_FALSE(facts->architecture.empty());
  EXPECT_TRUE(facts->unsupported.empty()) << facts->unsupported;
  EXPECT_EQ(facts->weights, "Q8_0");
  EXPECT_TRUE(facts->has_template);
  EXPECT_FALSE(facts->chat_template.empty());
  EXPECT_GT(facts->n_context, 0u);
  EXPECT_GT(facts->n_parameters, 1'000'000u);
}

}  // namespace
}  // namespace satchel::ui
