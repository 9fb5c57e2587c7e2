// Ten thousand random events: keys, the mouse, the wheel, sizes and answers of the engine in any
// order. Nothing is expected but that the window stays whole; under a sanitizer also that nothing
// is used after its end.
#include <gtest/gtest.h>

#include <QApplication>
#include <QContextMenuEvent>
#include <QMenu>
#include <QPlainTextEdit>
#include <QPointer>
#include <QTest>
#include <QTimer>
#include <QWheelEvent>
#include <algorithm>
#include <random>

#include "scenes.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/conversation/conversation_view.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;

constexpr int kEvents = 10'000;
constexpr unsigned kSeed = 20'261'129;

class RandomEvents {
 public:
  RandomEvents() {
    watchModals();
    scene.engine.script.deltas = {u"One "_s, u"**two**, "_s, u"`three`\n\n"_s,
                                  u"[four](http://x.y)"_s};
    scene.engine.script.change = sampleLoss();
    scene.engine.script.parts = sampleParts(3);
    scene.engine.script.shelf = sampleShelf();
    scene.show();
    // No browser is begun.
    QObject::disconnect(scene.window->conversation(), &ConversationView::linkOpened, nullptr,
                        nullptr);
    scene.openModel();
    addChats(scene);
    addSample(scene, u"compact"_s);
    Scene::settle();
  }

  void next() {
    ++m_count;
    switch (below(10)) {
      case 0:
      case 1:
        return key();
      case 2:
      case 3:
      case 4:
        return mouse();
      case 5:
        return wheel();
      case 6:
        QTest::keyClicks(scene.window->composer()->edit(), u"why not "_s);
        return;
      case 7:
        if (below(20) == 0) scene.window->resize(680 + below(1400), 420 + below(900));
        return fail();
      default:
        scene.engine.play(1 + below(4));
        Scene::settle();
    }
  }

  int below(int n) { return int(m_random() % unsigned(n)); }
  int modals() const { return m_closed; }

  Scene scene;

 private:
  template <class T, std::size_t N>
  const T& one(const T (&of)[N]) {
    return of[std::size_t(below(int(N)))];
  }

  void key() {
    static const Qt::Key kKeys[] = {Qt::Key_Tab,    Qt::Key_Return, Qt::Key_Escape, Qt::Key_Up,
                                    Qt::Key_Down,   Qt::Key_Left,   Qt::Key_Right,  Qt::Key_Space,
                                    Qt::Key_Delete, Qt::Key_Home,   Qt::Key_End,    Qt::Key_PageUp,
                                    Qt::Key_F1,     Qt::Key_F2,     Qt::Key_F3,     Qt::Key_Menu};
    static const Qt::Key kLetters[] = {Qt::Key_A, Qt::Key_B, Qt::Key_C, Qt::Key_D, Qt::Key_E,
                                       Qt::Key_F, Qt::Key_H, Qt::Key_K, Qt::Key_L, Qt::Key_M,
                                       Qt::Key_N, Qt::Key_O, Qt::Key_P, Qt::Key_R, Qt::Key_T,
                                       Qt::Key_V, Qt::Key_X, Qt::Key_Z};
    QWidget* const focus = QApplication::focusWidget();
    QWidget* const target = focus != nullptr ? focus : scene.window.get();
    if (below(3) == 0)
      QTest::keyClick(
          target, one(kLetters),
          below(5) == 0 ? Qt::ControlModifier | Qt::ShiftModifier : Qt::ControlModifier);
    else
      QTest::keyClick(target, one(kKeys), below(6) == 0 ? Qt::ShiftModifier : Qt::NoModifier);
  }

  QWidget* anyWidget() {
    QList<QWidget*> seen;
    for (QWidget* widget : scene.window->findChildren<QWidget*>())
      if (widget->isVisible() && !widget->visibleRegion().isEmpty()) seen.append(widget);
    return seen.isEmpty() ? scene.window.get() : seen[below(int(seen.size()))];
  }
  QPoint anyPoint(const QWidget& widget) {
    return {below(std::max(1, widget.width())), below(std::max(1, widget.height()))};
  }

  void mouse() {
    const QPointer<QWidget> widget = anyWidget();
    const QPoint point = anyPoint(*widget), end = anyPoint(*widget);
    switch (below(8)) {
      case 0:
        return QTest::mouseDClick(widget, Qt::LeftButton, Qt::NoModifier, point);
      case 1: {
        QContextMenuEvent event(QContextMenuEvent::Mouse, point, widget->mapToGlobal(point));
        QApplication::sendEvent(widget, &event);
        return;
      }
      case 2:
        QTest::mousePress(widget, Qt::LeftButton, Qt::NoModifier, point);
        if (widget) QTest::mouseMove(widget, end);
        if (widget) QTest::mouseRelease(widget, Qt::LeftButton, Qt::NoModifier, end);
        return;
      case 3:
        return QTest::mouseMove(widget, point);
      default:
        return QTest::mouseClick(widget, Qt::LeftButton, Qt::NoModifier, point);
    }
  }

  void wheel() {
    QWidget* const widget = anyWidget();
    const QPoint point = anyPoint(*widget);
    QWheelEvent event(point, widget->mapToGlobal(point), {}, {0, below(2) == 0 ? 240 : -240},
                      Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(widget, &event);
  }

  void fail() {
    static const runtime::ChatTask kTasks[] = {
        runtime::ChatTask::send, runtime::ChatTask::open_chat, runtime::ChatTask::attach_document,
        runtime::ChatTask::change_memory, runtime::ChatTask::preview_memory};
    if (scene.engine.script.errors.size() > 2) return;
    scene.engine.script.errors.append(
        {one(kTasks), {ErrorKind::invalid, "DISK_FULL", "Nothing was saved. Free 20 MB."}});
  }

  // What is modal runs its own loop: it gets some keys from here, and is closed. A new timer each
  // time, as what a key opens may be modal as well.
  void watchModals() {
    QTimer::singleShot(1, &m_context, [this] {
      watchModals();
      pokeModal();
    });
  }

  void pokeModal() {
    QWidget* modal = QApplication::activePopupWidget();
    if (modal == nullptr) modal = QApplication::activeModalWidget();
    if (modal == nullptr) return;
    const QPointer<QWidget> still = modal;
    if (below(2) == 0) QTest::keyClick(modal, Qt::Key_Down);
    if (still && below(2) == 0 && qobject_cast<QMenu*>(modal) != nullptr)
      QTest::keyClick(modal, Qt::Key_Return);
    if (still) still->close();
    ++m_closed;
  }

  std::mt19937 m_random{kSeed};
  QObject m_context;
  int m_count = 0, m_closed = 0;
};

TEST(Random, ten_thousand_events_leave_the_window_whole) {
  RandomEvents events;
  for (int i = 0; i < kEvents; ++i) {
    SCOPED_TRACE(i);
    events.next();
    if (i % 100 == 0) Scene::settle();
  }
  EXPECT_GT(events.modals(), 10) << "menus and dialogs were among them";
  Scene& scene = events.scene;
  scene.engine.script.errors.clear();
  scene.engine.script.isDeletedListLate = false;
  scene.engine.playAll();
  Scene::settle();
  // It still does what it is for.
  scene.state.newChat();
  scene.engine.playAll();
  scene.window->composer()->edit()->setPlainText(u"are you there?"_s);
  scene.window->composer()->endEdit();
  scene.window->composer()->edit()->setPlainText(u"are you there?"_s);
  QTest::keyClick(scene.window->composer()->edit(), Qt::Key_Return);
  scene.engine.playAll();
  Scene::settle();
  EXPECT_EQ(scene.state.conversation()->rowCount(), 2);
}

}  // namespace
}  // namespace satchel::ui
