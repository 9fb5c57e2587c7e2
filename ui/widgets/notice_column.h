// NoticeColumn: what is said over the top of another widget, so that what stands there never moves
// when something is said. As high as what it shows; clicks beside that reach what lies below.
#pragma once

#include <QWidget>

class QVBoxLayout;

namespace satchel::ui {

class NoticeColumn : public QWidget {
  Q_OBJECT

 public:
  // below: over which it stands; not owned, a sibling
  explicit NoticeColumn(QWidget* below, QWidget* parent = nullptr);

  // At the end of the column; shown where the notice is.
  void add(QWidget* notice);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void place();

  QWidget* m_below;
  QVBoxLayout* m_column;
};

}  // namespace satchel::ui
