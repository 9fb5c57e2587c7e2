// Meter: a share of a whole as a thin bar with its name and figure above; a lighter stretch may
// come before it.
#pragma once

#include <QWidget>

namespace satchel::ui {

class Meter : public QWidget {
  Q_OBJECT

 public:
  explicit Meter(const QString& name, QWidget* parent = nullptr);

  // before: of the lighter stretch
  void setValue(double share, const QString& figure, double before = 0);
  void setWarns(bool warns);  // when it is nearly full
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QString m_name, m_figure;
  double m_share = 0, m_before = 0;
  bool m_warns = true;
};

}  // namespace satchel::ui
