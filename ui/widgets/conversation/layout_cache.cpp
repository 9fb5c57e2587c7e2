#include "ui/widgets/conversation/layout_cache.h"

#include "ui/model/conversation_model.h"

namespace satchel::ui {
namespace {

constexpr std::size_t kLayoutsMax = 64;  // some screens full; chosen, not measured

// index: valid
const Message& messageAt(const QModelIndex& index) {
  return static_cast<const ConversationModel*>(index.model())->message(index.row());
}

}  // namespace

void LayoutCache::setView(int width, const QFont& font, const Theme& theme) {
  if (width == m_width && font == m_font && m_theme == &theme) return;
  m_width = width;
  m_font = font;
  m_theme = &theme;
  clear();
}

MessageLayout& LayoutCache::layout(const QModelIndex& index) {
  const qint64 key = messageAt(index).key;
  auto found = m_layouts.find(key);
  if (found == m_layouts.end()) {
    if (m_layouts.size() >= kLayoutsMax) {
      m_layouts.erase(m_ages.back());
      m_ages.pop_back();
    }
    m_ages.push_front(key);
    found = m_layouts
                .emplace(key, Entry{std::make_unique<MessageLayout>(m_width, m_font, *m_theme),
                                    m_ages.begin()})
                .first;
  } else {
    m_ages.splice(m_ages.begin(), m_ages, found->second.age);
  }
  MessageLayout& layout = *found->second.layout;
  layout.setContent(messageAt(index));
  m_heights[key] = {layout.height(), true};
  return layout;
}

int LayoutCache::height(const QModelIndex& index) {
  Height& height = m_heights[messageAt(index).key];
  if (height.pixels == 0)
    height = {MessageLayout::estimate(messageAt(index), m_width, m_font), false};
  return height.pixels;
}

bool LayoutCache::isMeasured(const QModelIndex& index) const {
  const auto found = m_heights.constFind(messageAt(index).key);
  return found != m_heights.constEnd() && found->isMeasured;
}

void LayoutCache::touch(const QModelIndex& index) {
  const auto found = m_heights.find(messageAt(index).key);
  if (found != m_heights.end()) found->isMeasured = false;
}

void LayoutCache::clear() {
  m_heights.clear();
  m_layouts.clear();
  m_ages.clear();
}

}  // namespace satchel::ui
