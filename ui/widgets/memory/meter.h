// Meter: a share of a whole as a thin bar with its name and figure above.
#pragma once

#include <QWidget>

namespace satchel::ui {

class Meter : public QWidget {
  Q_OBJECT

 public:
  explicit Meter(const QString& name, QWidget* parent = nullptr);

  void setValue(double share, const QString& figure);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QString m_name, m_figure;
  double m_share = 0;
};

}  // namespace satchel::ui
