// ProgressStrip: what is being read or resumed, how far it is and how long it will take.
#pragma once

#include <QWidget>

namespace satchel::ui {

class ProgressStrip : public QWidget {
  Q_OBJECT

 public:
  explicit ProgressStrip(QWidget* parent = nullptr);

  // share 0 … 1; below 0: not known
  void setProgress(double share, const QString& text);
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  double m_share = -1;
  QString m_text;
};

}  // namespace satchel::ui
