// NoticeColumn: what is said over another widget, so that what stands there never moves when
// something is said. At its end where that has room for it, so that it hides nothing; else over the
// top. As high as what it shows; clicks beside that reach what lies below.
#pragma once

#include <QWidget>
#include <functional>

class QVBoxLayout;

namespace satchel::ui {

class NoticeColumn : public QWidget {
  Q_OBJECT

 public:
  // below: over which it stands; not owned, a sibling
  explicit NoticeColumn(QWidget* below, QWidget* parent = nullptr);

  // At the end of the column; shown where the notice is.
  void add(QWidget* notice);
  // How many pixels at the end of `below` are blank. place(): that changed.
  void setRoom(std::function<int()> room) { m_room = std::move(room); }
  void place();

 Q_SIGNALS:
  // So many pixels of the top of `below` are covered from now on.
  void topCovered(int height);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void coverTop(int height);

  QWidget* m_below;
  QVBoxLayout* m_column;
  std::function<int()> m_room;
  int m_topCovered = 0;
};

}  // namespace satchel::ui
