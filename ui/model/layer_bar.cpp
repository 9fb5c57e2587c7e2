#include "ui/model/layer_bar.h"

#include <QCoreApplication>
#include <algorithm>

#include "ui/model/format.h"

namespace satchel::ui {
namespace {

QString translated(const char* text) {
  return QCoreApplication::translate("LayerBar", text);
}

}  // namespace

QList<LayerBar> layerBarsOf(const kvcache::CacheStats& stats) {
  QList<LayerBar> bars;
  const auto all = double(std::max<std::size_t>(stats.n_tokens, 1));
  for (const kvcache::LayerStats& layer : stats.layers) {
    LayerBar bar;
    bar.keptShare = (double(layer.n_kept_min) + double(layer.n_kept_max)) / 2 / all;
    const bool hasBody = layer.n_pages > 0;
    bar.bits = hasBody ? (layer.k_bits + layer.v_bits) / 2 : 16;
    const QString kept = layer.n_kept_min == layer.n_kept_max
                             ? formatCount(qint64(layer.n_kept_min))
                             : QStringLiteral("%1–%2").arg(formatCount(qint64(layer.n_kept_min)),
                                                           formatCount(qint64(layer.n_kept_max)));
    bar.text = translated("Layer %1: %2 tokens kept").arg(bars.size()).arg(kept);
    if (hasBody)
      bar.text +=
          translated(", older ones with %1-bit keys and %2-bit values")
              .arg(QString::number(layer.k_bits, 'f', 1), QString::number(layer.v_bits, 'f', 1));
    bars.append(bar);
  }
  return bars;
}

}  // namespace satchel::ui
