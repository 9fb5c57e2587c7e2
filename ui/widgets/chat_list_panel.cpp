#include "ui/widgets/chat_list_panel.h"

#include <QApplication>
#include <QComboBox>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>
#include <utility>

#include "ui/model/app_state.h"
#include "ui/model/format.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/deleted_chats_popup.h"
#include "ui/widgets/found_list.h"
#include "ui/widgets/icon_button.h"

namespace satchel::ui {
namespace {

constexpr int kChatsWidthLeast = 190;
constexpr double kTopMark = 12;     // the side of the mark, in pixels
constexpr int kSearchRestMs = 150;  // chosen: two quick letters are one search

}  // namespace

void ChatListDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                             const QModelIndex& index) const {
  const Theme& theme = themeOf(option.palette);
  const bool current = index.data(ChatListModel::CurrentRole).toBool();
  const bool hovered = (option.state & QStyle::State_MouseOver) != 0;
  const bool focused = (option.state & QStyle::State_HasFocus) != 0;
  const QRectF box = QRectF(option.rect).adjusted(kGap, 1, -kGap, -1);
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  painter->setPen(focused ? QPen(theme.accent) : QPen(Qt::NoPen));
  painter->setBrush(current   ? QBrush(theme.accentSoft)
                    : hovered ? QBrush(theme.surface)
                              : QBrush(Qt::NoBrush));
  painter->drawRoundedRect(box, 8, 8);
  const QFont font = current ? scaledFont(option.font, 1, QFont::DemiBold) : option.font;
  painter->setFont(font);
  painter->setPen(theme.text);
  QRectF text = box.adjusted(12, 0, -12, 0);
  if (index.data(ChatListModel::AtTopRole).toBool()) {
    const QRectF mark(text.right() - kTopMark, text.center().y() - kTopMark / 2, kTopMark,
                      kTopMark);
    drawIcon(*painter, Icon::Top, mark, theme.muted);
    text.setRight(mark.left() - kGapSmall);
  }
  painter->drawText(
      text, Qt::AlignLeft | Qt::AlignVCenter,
      QFontMetricsF(font).elidedText(index.data().toString(), Qt::ElideRight, text.width()));
  painter->restore();
}

QSize ChatListDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const {
  return {120, option.fontMetrics.height() + 20};
}

void ChatListDelegate::updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option,
                                            const QModelIndex&) const {
  editor->setGeometry(option.rect.adjusted(kGap + 6, 4, -kGap - 6, -4));
}

ChatListPanel::ChatListPanel(AppState* state, QWidget* parent)
    : QWidget(parent),
      m_state(state),
      m_filter(new QLineEdit(this)),
      m_folders(new QComboBox(this)),
      m_list(new QListView(this)),
      m_foundTitle(new QLabel(tr("In messages"), this)),
      m_found(new FoundList(state->found(), this)),
      m_undo(new Banner(this)),
      m_deleted(new QPushButton(tr("Deleted chats"), this)) {
  auto* name = new QLabel(QStringLiteral("Satchel"), this);
  name->setFont(scaledFont(font(), 1.2, QFont::DemiBold));
  auto* fresh = new IconButton(Icon::Plus, tr("New chat (Ctrl+N)"), this);
  m_filtered.setSourceModel(state->chats());
  m_filtered.setFilterCaseSensitivity(Qt::CaseInsensitive);
  m_filter->setObjectName(QStringLiteral("field"));
  m_filter->setPlaceholderText(tr("Search chats (Ctrl+K)"));
  m_filter->setAccessibleName(tr("Search chats"));
  m_filter->setClearButtonEnabled(true);
  m_filter->installEventFilter(this);
  m_list->setModel(&m_filtered);
  m_list->setItemDelegate(new ChatListDelegate(m_list));
  m_list->setFrameShape(QFrame::NoFrame);
  m_list->setMouseTracking(true);
  m_list->setUniformItemSizes(true);
  m_list->setEditTriggers(QAbstractItemView::EditKeyPressed);
  m_list->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  m_list->setContextMenuPolicy(Qt::CustomContextMenu);
  m_list->setAccessibleName(tr("Chats"));
  m_list->viewport()->setAutoFillBackground(false);

  auto* head = new QHBoxLayout;
  head->setContentsMargins(kGapLarge + 4, kGap + 2, kGap + 2, kGapSmall);
  head->addWidget(name, 1);
  head->addWidget(fresh);
  auto* field = new QHBoxLayout;
  field->setContentsMargins(kGap + 4, 0, kGap + 4, kGap);
  field->addWidget(m_filter);
  m_deleted->setObjectName(QStringLiteral("quiet"));
  m_deleted->setFont(scaledFont(font(), 0.92));
  m_deleted->setCursor(Qt::PointingHandCursor);
  auto* foot = new QVBoxLayout;
  foot->setContentsMargins(kGap, 0, kGap, kGap);
  foot->addWidget(m_undo);
  foot->addWidget(m_deleted, 0, Qt::AlignLeft);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(kGapSmall);
  column->addLayout(head);
  column->addLayout(field);
  auto* folders = new QHBoxLayout;
  folders->setContentsMargins(kGap + 4, 0, kGap + 4, kGap);
  folders->addWidget(m_folders);
  column->addLayout(folders);
  m_foundTitle->setObjectName(QStringLiteral("muted"));
  m_foundTitle->setFont(scaledFont(font(), 0.92));
  m_foundTitle->setContentsMargins(kGapLarge + 4, kGap, kGap, 0);
  column->addWidget(m_list, 1);
  column->addWidget(m_foundTitle);
  column->addWidget(m_found, 2);
  column->addLayout(foot);

  connect(fresh, &QAbstractButton::clicked, state, &AppState::newChat);
  connect(m_filter, &QLineEdit::textChanged, &m_filtered,
          &QSortFilterProxyModel::setFilterFixedString);
  connectSearch();
  connectFolders();
  connect(m_list, &QListView::clicked, this, &ChatListPanel::openAt);
  connect(m_list, &QListView::activated, this, &ChatListPanel::openAt);
  connect(m_list, &QWidget::customContextMenuRequested, this, &ChatListPanel::showMenu);
  connect(state, &AppState::deletedChanged, this, &ChatListPanel::showDeleted);
  connect(m_deleted, &QPushButton::clicked, this, &ChatListPanel::askDeletedChats);
  connect(state, &AppState::deletedListed, this, &ChatListPanel::showDeletedChats);
  connect(state, &AppState::listingFailed, this, &ChatListPanel::endAskingDeleted);
  connect(m_undo, &Banner::actionChosen, state, &AppState::restoreDeleted);
  connect(m_undo, &Banner::closed, state, &AppState::forgetDeleted);
}

QSize ChatListPanel::minimumSizeHint() const {
  return QWidget::minimumSizeHint().expandedTo({kChatsWidthLeast, 0});
}

void ChatListPanel::connectSearch() {
  m_searchRest.setSingleShot(true);
  m_searchRest.setInterval(kSearchRestMs);
  connect(m_filter, &QLineEdit::textChanged, &m_searchRest, qOverload<>(&QTimer::start));
  connect(&m_searchRest, &QTimer::timeout, this, [this] { m_state->search(m_filter->text()); });
  connect(m_state, &AppState::foundChanged, this, &ChatListPanel::refreshFound);
  connect(&m_filtered, &QAbstractItemModel::rowsRemoved, this, &ChatListPanel::refreshFound);
  connect(&m_filtered, &QAbstractItemModel::rowsInserted, this, &ChatListPanel::refreshFound);
  connect(m_found, &QListView::clicked, this, &ChatListPanel::openFound);
  connect(m_found, &QListView::activated, this, &ChatListPanel::openFound);
  refreshFound();
}

void ChatListPanel::focusFilter() {
  m_filter->setFocus(Qt::ShortcutFocusReason);
  m_filter->selectAll();
}

ChatKey ChatListPanel::keyAt(const QModelIndex& index) const {
  return index.data(ChatListModel::KeyRole).toLongLong();
}

void ChatListPanel::openAt(const QModelIndex& index) {
  if (!index.isValid()) return;
  m_state->openChat(keyAt(index));
  m_filter->clear();
}

// What was looked for stays: the next passage is a click away.
void ChatListPanel::openFound(const QModelIndex& index) {
  if (index.isValid()) m_state->openFound(index.row());
}

void ChatListPanel::refreshFound() {
  const bool hasSome = m_state->found()->rowCount() > 0;
  m_foundTitle->setVisible(hasSome);
  m_found->setVisible(hasSome);
  m_list->setVisible(!hasSome || m_filtered.rowCount() > 0);
}

void ChatListPanel::showMenu(const QPoint& point) {
  const QModelIndex index = m_list->indexAt(point);
  if (!index.isValid()) return;
  const ChatKey key = keyAt(index);
  QMenu menu(this);
  menu.addAction(tr("Open"), this, [this, index] { openAt(index); });
  menu.addAction(tr("Rename"), this, [this, index] { m_list->edit(index); });
  addTopAction(menu, key);
  addFolderActions(*menu.addMenu(tr("Folder")), key);
  menu.addAction(tr("Export…"), this,
                 [this, key, title = index.data().toString()] { Q_EMIT exportAsked(key, title); });
  menu.addSeparator();
  menu.addAction(tr("Delete"), this, [this, key] { m_state->deleteChat(key); });
  menu.exec(m_list->viewport()->mapToGlobal(point));
}

void ChatListPanel::showDeleted() {
  const ChatEntry& chat = m_state->deleted();
  if (chat.id == 0) {
    m_undo->hide();
    return;
  }
  m_undo->showNotice(tr("Chat deleted."));
  m_undo->setToolTip(tipText(chat.title));
  m_undo->setAction(tr("Undo"));
}

// The list may have to wait for an answer: it is asked for once, and is not forced on who has gone
// on to something else meanwhile.
void ChatListPanel::askDeletedChats() {
  if (std::exchange(m_isDeletedAsked, true)) return;
  m_deleted->setEnabled(false);
  m_state->listDeleted();
}

void ChatListPanel::endAskingDeleted() {
  m_isDeletedAsked = false;
  m_deleted->setEnabled(true);
}

void ChatListPanel::showDeletedChats(const DeletedList& deleted) {
  if (!m_isDeletedAsked) return;
  endAskingDeleted();
  if (!isVisible() || QApplication::activePopupWidget() != nullptr) return;
  auto* popup = new DeletedChatsPopup(deleted, this);
  connect(popup, &DeletedChatsPopup::restoreAsked, m_state, &AppState::restoreChat);
  connect(popup, &DeletedChatsPopup::deleteAsked, m_state, &AppState::deleteNow);
  connect(popup, &DeletedChatsPopup::deleteCopyAsked, m_state, &AppState::deleteCopy);
  popup->showAt(m_deleted->mapToGlobal(QPoint(kGap, 0)));
}

// From the filter straight to the chats: Down goes there, Enter opens the first.
bool ChatListPanel::eventFilter(QObject* watched, QEvent* event) {
  if (watched == m_filter && event->type() == QEvent::KeyPress) {
    switch (static_cast<QKeyEvent*>(event)->key()) {
      case Qt::Key_Down: {
        QListView* const list = m_filtered.rowCount() > 0 ? m_list : m_found;
        list->setFocus(Qt::OtherFocusReason);
        list->setCurrentIndex(list->model()->index(0, 0));
        return true;
      }
      case Qt::Key_Return:
      case Qt::Key_Enter:
        if (m_filtered.rowCount() > 0)
          openAt(m_filtered.index(0, 0));
        else
          m_state->openFound(0);
        return true;
      case Qt::Key_Escape:
        m_filter->clear();
        m_filter->clearFocus();
        return true;
      default:
        break;
    }
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace satchel::ui
