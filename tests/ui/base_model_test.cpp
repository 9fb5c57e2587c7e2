// A model without a chat template goes on with a text instead of answering: the window says so.
#include <gtest/gtest.h>

#include <QLabel>
#include <QPushButton>

#include "runtime/chat/model_facts.h"
#include "runtime/engine.h"
#include "scenes.h"
#include "support/bundled_model.h"
#include "ui/widgets/composer.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;

class BaseModelTest : public testing::Test {
 protected:
  void openModel(bool hasChatTemplate) {
    scene.engine.script.model.has_chat_template = hasChatTemplate;
    scene.openModel();
  }
  // Whether the sentence stands in the window.
  bool isTold() {
    for (const QLabel* label : scene.window->findChildren<QLabel*>())
      if (label->isVisible() && label->text().contains(u"no chat template"_s)) return true;
    return false;
  }
  QString modelTip() {
    for (const QPushButton* button : scene.window->findChildren<QPushButton*>())
      if (button->accessibleName() == u"Model"_s) return button->toolTip();
    return u"no button"_s;
  }
  QString hint() { return scene.window->composer()->edit()->placeholderText(); }
  Scene scene;
};

TEST_F(BaseModelTest, the_window_says_that_a_base_model_goes_on_with_a_text) {
  scene.show();
  EXPECT_FALSE(isTold()) << "no model is open";
  openModel(false);
  EXPECT_TRUE(isTold());
  EXPECT_EQ(modelTip(), scene.state.modelNote()) << "where a conversation stands in its place";
  EXPECT_EQ(hint(), u"Write the beginning of a text"_s);
  openModel(true);
  EXPECT_FALSE(isTold());
  EXPECT_EQ(modelTip(), QString());
  EXPECT_EQ(hint(), u"Write a message"_s);
}

TEST_F(BaseModelTest, what_the_engine_opened_says_whether_it_has_a_template) {
  runtime::EngineOptions options;
  options.model = test::kBundledModel;
  options.n_threads = 1;
  auto chat = runtime::Engine::open(options);
  ASSERT_TRUE(chat.ok()) << chat.error().message;
  EXPECT_TRUE(runtime::model_facts(**chat, test::kBundledModel).has_chat_template);
  options.chat_template = "plain";
  auto base = runtime::Engine::open(options);
  ASSERT_TRUE(base.ok()) << base.error().message;
  EXPECT_FALSE(runtime::model_facts(**base, test::kBundledModel).has_chat_template);
}

}  // namespace
}  // namespace satchel::ui
