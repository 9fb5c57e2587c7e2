#include "ui/model/layer_bar.h"

#include <QCoreApplication>
#include <algorithm>

#include "ui/model/format.h"

namespace satchel::ui {
namespace {

class LayerText {
  Q_DECLARE_TR_FUNCTIONS(LayerBar)
};

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
    bar.text = LayerText::tr("Layer %1: %2 tokens kept").arg(bars.size()).arg(kept);
    if (hasBody)
      bar.text += LayerText::tr(", older ones with %1-bit keys and %2-bit values")
                      .arg(formatDecimal(layer.k_bits, 1), formatDecimal(layer.v_bits, 1));
    bars.append(bar);
  }
  return bars;
}

}  // namespace satchel::ui
