// PresetTable: the stops between accuracy and memory as rows: name, tokens that fit, fidelity with
// its tag. A click or the arrow keys choose.
#pragma once

#include <QList>
#include <QWidget>

#include "ui/model/memory_panel_state.h"

namespace satchel::ui {

class PresetTable : public QWidget {
  Q_OBJECT

 public:
  explicit PresetTable(QWidget* parent = nullptr);

  void setLines(const QList<PresetLine>& lines, int chosen);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 Q_SIGNALS:
  void chosen(int index);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  QRectF rowRect(int row) const;
  void drawRow(QPainter& painter, int row) const;

  QList<PresetLine> m_lines;
  int m_chosen = 0;
};

}  // namespace satchel::ui
