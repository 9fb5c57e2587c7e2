// LayerBars: a bar for each layer of the model: how high says which share of the tokens it keeps,
// how dark at how many bits. The one under the mouse tells its figures.
#pragma once

#include <QList>
#include <QWidget>

#include "ui/model/layer_bar.h"

namespace satchel::ui {

class LayerBars : public QWidget {
  Q_OBJECT

 public:
  explicit LayerBars(QWidget* parent = nullptr);

  void setBars(const QList<LayerBar>& bars);
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  QRectF barRect(int layer) const;
  QList<LayerBar> m_bars;
};

}  // namespace satchel::ui
