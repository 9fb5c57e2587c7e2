// LayoutCache: the layouts of the messages on the screen and some around it (LRU), and the heights
// of all that were ever laid out. What was not has an estimated height.
#pragma once

#include <QHash>
#include <QModelIndex>
#include <list>
#include <memory>
#include <unordered_map>

#include "ui/widgets/conversation/message_layout.h"

namespace satchel::ui {

class LayoutCache {
 public:
  // Indexes: valid, of a ConversationModel. Forgets everything when one of them differs.
  void setView(int width, const QFont& font, const Theme& theme);
  // Laid out now if need be. Valid until the next call.
  MessageLayout& layout(const QModelIndex& index);
  // Measured if it was laid out, else estimated.
  int height(const QModelIndex& index);
  bool isMeasured(const QModelIndex& index) const;
  // The row changed: its height is not known any more, its layout is kept to grow.
  void touch(const QModelIndex& index);
  void clear();
  int size() const { return int(m_layouts.size()); }

 private:
  struct Entry {
    std::unique_ptr<MessageLayout> layout;
    std::list<qint64>::iterator age;
  };
  struct Height {
    int pixels = 0;
    bool isMeasured = false;
  };

  int m_width = 0;
  QFont m_font;
  const Theme* m_theme = nullptr;
  QHash<qint64, Height> m_heights;
  std::unordered_map<qint64, Entry> m_layouts;
  std::list<qint64> m_ages;  // newest first
};

}  // namespace satchel::ui
