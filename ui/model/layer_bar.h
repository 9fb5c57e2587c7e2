// LayerBar: what one layer holds, as the memory panel draws it.
#pragma once

#include <QList>
#include <QString>

#include "kvcache/cache/cache.h"

namespace satchel::ui {

struct LayerBar {
  double keptShare = 0;  // of the chat's tokens, mean of least and most lane, 0 … 1
  double bits = 16;      // per value in the body, mean of K and V
  QString text;          // "Layer 3: 1,204–1,310 tokens kept, older ones with …"
};

// One a layer, from the first on.
QList<LayerBar> layerBarsOf(const kvcache::CacheStats& stats);

}  // namespace satchel::ui
