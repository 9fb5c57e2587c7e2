#include "ui/widgets/conversation/conversation_view.h"

#include <QAccessible>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QMenu>
#include <QMessageBox>
#include <QMouseEvent>
#include <QPushButton>
#include <QScrollBar>
#include <QStyle>
#include <QUrl>
#include <algorithm>
#include <utility>

#include "ui/model/chat_finder.h"
#include "ui/model/conversation_model.h"
#include "ui/model/format.h"
#include "ui/model/quote_text.h"

namespace satchel::ui {
namespace {

constexpr int kPassesMax = 4;  // each makes more heights known; the second is nearly always still
constexpr int kBarWidth = 14;  // as theme.cpp has it
constexpr int kEndSlack = 24;  // pixels from the end that still count as the end

QString replaceText(bool isUsers) {
  return isUsers ? ConversationView::tr("Edit") : ConversationView::tr("Answer again");
}

// Of a block of code, in a menu.
QString nameOf(const MessagePart& code) {
  if (!code.language.isEmpty()) return code.language.left(24);
  return code.text.trimmed().section(u'\n', 0, 0).left(24);
}

QString toolTipOf(MessageHit::Kind kind, bool isUsers) {
  if (kind == MessageHit::CopyMessage) return ConversationView::tr("Copy message");
  if (kind == MessageHit::Replace) return replaceText(isUsers);
  if (kind == MessageHit::Older) return ConversationView::tr("Older version");
  return kind == MessageHit::Newer ? ConversationView::tr("Newer version") : QString();
}

}  // namespace

ConversationView::ConversationView(QWidget* parent)
    : QListView(parent), m_delegate(new MessageDelegate(&m_layouts, this)) {
  setItemDelegate(m_delegate);
  setFrameShape(QFrame::NoFrame);
  setVerticalScrollMode(ScrollPerPixel);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setSelectionMode(NoSelection);
  setEditTriggers(NoEditTriggers);
  setFocusPolicy(Qt::StrongFocus);
  setResizeMode(Adjust);
  // A bar that comes and goes would lay everything out anew; its place is kept on the left too, so
  // that the text stands in the middle.
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
  setViewportMargins(kBarWidth, 0, 0, 0);
  connect(verticalScrollBar(), &QScrollBar::rangeChanged, this, &ConversationView::showBar);
  showBar();
  viewport()->setMouseTracking(true);
  verticalScrollBar()->setSingleStep(40);
  setAccessibleName(tr("Conversation"));
}

void ConversationView::setConversation(ConversationModel* model) {
  m_model = model;
  refreshView();
  setModel(model);
  connect(model, &ConversationModel::heldChanged, viewport(), qOverload<>(&QWidget::update));
  connect(model, &ConversationModel::answerFinished, this, &ConversationView::announce);
}

// To screen readers: a row's name is its text. Once an answer, not once a word.
void ConversationView::announce(int row) {
  QAccessibleEvent event(this, QAccessible::NameChanged);
  event.setChild(row);
  QAccessible::updateAccessibility(&event);
}

// A bar with nothing to scroll keeps its place and is not seen.
void ConversationView::showBar() {
  QScrollBar* bar = verticalScrollBar();
  const bool idle = bar->maximum() == bar->minimum();
  if (bar->property("idle").toBool() == idle) return;
  bar->setProperty("idle", idle);
  bar->style()->unpolish(bar);
  bar->style()->polish(bar);
}

void ConversationView::refreshView() {
  m_layouts.setView(viewport()->width(), font(), themeOf(palette()));
}

bool ConversationView::isAtEnd() const {
  const QScrollBar* bar = verticalScrollBar();
  return bar->value() >= bar->maximum() - kEndSlack;
}

QModelIndex ConversationView::rowNear(int y) const {
  for (int probe = y; probe < y + 200; probe += 8)
    if (const QModelIndex found = indexAt({viewport()->width() / 2, probe}); found.isValid())
      return found;
  return {};
}

// Lays out the rows on the screen; true: a height turned out other than was thought.
bool ConversationView::measureVisible() {
  if (m_model == nullptr || m_model->rowCount() == 0) return false;
  const QModelIndex first = rowNear(0);
  if (!first.isValid()) return false;
  bool changed = false;
  int y = visualRect(first).top();
  for (int row = first.row(); row < m_model->rowCount() && y < viewport()->height(); ++row) {
    const QModelIndex index = m_model->index(row);
    const int before = m_layouts.height(index);
    if (!m_layouts.isMeasured(index)) m_layouts.layout(index);
    const int after = m_layouts.height(index);
    changed = changed || before != after;
    y += after;
  }
  return changed;
}

// Measures what is seen until nothing moves any more, holding on to the end or to the first row.
void ConversationView::settle() {
  if (m_isSettling || m_model == nullptr) return;
  m_isSettling = true;
  for (int pass = 0; pass < kPassesMax; ++pass) {
    const QModelIndex held = rowNear(0);
    const int offset = held.isValid() ? visualRect(held).top() : 0;
    if (!measureVisible()) break;
    QListView::doItemsLayout();
    QScrollBar* bar = verticalScrollBar();
    if (m_followsEnd) {
      bar->setValue(bar->maximum());
    } else if (held.isValid()) {
      bar->setValue(bar->value() + visualRect(held).top() - offset);
    }
  }
  m_isSettling = false;
}

void ConversationView::doItemsLayout() {
  refreshView();
  QListView::doItemsLayout();
  if (m_followsEnd) verticalScrollBar()->setValue(verticalScrollBar()->maximum());
  settle();
  if (const int room = roomBelow(); std::exchange(m_roomTold, room) != room) Q_EMIT roomChanged();
}

// Qt's range begins at the first row.
void ConversationView::updateGeometries() {
  QScrollBar* bar = verticalScrollBar();
  const int value = bar->value();
  const bool wasSettling = std::exchange(m_isSettling, true);
  QListView::updateGeometries();
  if (m_model != nullptr && m_model->rowCount() > 0) bar->setMinimum(-m_head);
  if (value < 0) bar->setValue(value);
  m_isSettling = wasSettling;
}

void ConversationView::setHead(int height) {
  m_head = height;
  updateGeometries();
}

int ConversationView::roomBelow() const {
  return std::max(0, viewport()->height() - contentsSize().height());
}

void ConversationView::dataChanged(const QModelIndex& topLeft, const QModelIndex& bottomRight,
                                   const QList<int>& roles) {
  bool grew = false;
  for (int row = topLeft.row(); row <= bottomRight.row(); ++row) {
    const QModelIndex index = m_model->index(row);
    const int before = m_layouts.height(index);
    m_layouts.touch(index);
    // Rows out of sight are laid out when they are seen.
    if (visualRect(index).intersects(viewport()->rect())) m_layouts.layout(index);
    grew = grew || m_layouts.height(index) != before;
  }
  if (grew) doItemsLayout();
  QListView::dataChanged(topLeft, bottomRight, roles);
}

void ConversationView::rowsInserted(const QModelIndex& parent, int start, int end) {
  // What the user sent or what answers it is what the user wants to see.
  m_followsEnd = true;
  QListView::rowsInserted(parent, start, end);
  scheduleDelayedItemsLayout();
}

void ConversationView::reset() {
  m_layouts.clear();
  m_delegate->selection = {};
  m_followsEnd = true;
  QListView::reset();
}

void ConversationView::resizeEvent(QResizeEvent* event) {
  refreshView();
  QListView::resizeEvent(event);
  doItemsLayout();
}

void ConversationView::scrollContentsBy(int dx, int dy) {
  QListView::scrollContentsBy(dx, dy);
  if (m_isSettling) return;
  m_followsEnd = isAtEnd();
  settle();
}

void ConversationView::changeEvent(QEvent* event) {
  QListView::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange ||
      event->type() == QEvent::StyleChange)
    scheduleDelayedItemsLayout();
}

ConversationView::Found ConversationView::find(const QPoint& point) {
  Found found;
  found.row = indexAt(point);
  if (!found.row.isValid()) return found;
  const QRect rect = visualRect(found.row);
  found.hit = m_layouts.layout(found.row).hit(point - rect.topLeft());
  return found;
}

void ConversationView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  setFocus(Qt::MouseFocusReason);
  m_pressed = event->position().toPoint();
  const Found found = find(m_pressed);
  m_isSelecting = found.row.isValid();
  TextSelection& selection = m_delegate->selection;
  selection = {};
  if (m_isSelecting) {
    selection.anchorRow = selection.focusRow = found.row;
    selection.anchor = selection.focus = found.hit.place;
  }
  viewport()->update();
}

void ConversationView::mouseMoveEvent(QMouseEvent* event) {
  const QPoint point = event->position().toPoint();
  const Found found = find(point);
  if (m_isSelecting && (event->buttons() & Qt::LeftButton) != 0) {
    if (found.row.isValid()) {
      m_delegate->selection.focusRow = found.row;
      m_delegate->selection.focus = found.hit.place;
    }
    viewport()->update();
    return;
  }
  const MessageHit::Kind kind = found.hit.kind;
  viewport()->setCursor(kind == MessageHit::Text      ? Qt::IBeamCursor
                        : kind == MessageHit::Nothing ? Qt::ArrowCursor
                                                      : Qt::PointingHandCursor);
  viewport()->setToolTip(tipOf(found));
  setHovered(found.row, kind == MessageHit::CopyCode);
}

QString ConversationView::tipOf(const Found& found) {
  if (!found.row.isValid()) return {};
  const QString held = found.hit.kind == MessageHit::Text || found.hit.kind == MessageHit::Quote
                           ? m_layouts.layout(found.row).heldTextAt(found.hit.place)
                           : QString();
  if (!held.isEmpty()) return tipText(held);
  const Message& message = m_model->message(found.row.row());
  if (found.hit.kind == MessageHit::Quote)
    return tipText(sourceText(message.quotes[found.hit.quote]));
  return toolTipOf(found.hit.kind, isUsers(found.row.row()));
}

void ConversationView::setHeldLook(HeldLook look) {
  m_delegate->heldLook = look;
  viewport()->update();
}

bool ConversationView::isUsers(int row) const {
  return m_model->message(row).role == runtime::Role::user;
}

void ConversationView::leaveEvent(QEvent* event) {
  setHovered({}, false);
  QListView::leaveEvent(event);
}

void ConversationView::setHovered(const QModelIndex& row, bool isOnCopy) {
  const QPersistentModelIndex copy(isOnCopy ? row : QModelIndex());
  if (m_delegate->hovered == row && m_delegate->copyHovered == copy) return;
  m_delegate->hovered = row;
  m_delegate->copyHovered = copy;
  viewport()->update();
}

void ConversationView::mouseReleaseEvent(QMouseEvent* event) {
  m_isSelecting = false;
  if (event->button() != Qt::LeftButton || !m_delegate->selection.isEmpty()) return;
  activate(find(event->position().toPoint()), event->globalPosition().toPoint());
}

void ConversationView::mouseDoubleClickEvent(QMouseEvent* event) {
  const Found found = find(event->position().toPoint());
  if (!found.row.isValid() || found.hit.kind != MessageHit::Text) return;
  const auto [from, to] = m_layouts.layout(found.row).wordAt(found.hit.place);
  m_delegate->selection = {found.row, found.row, from, to};
  viewport()->update();
}

void ConversationView::activate(const Found& found, const QPoint& global) {
  switch (found.hit.kind) {
    case MessageHit::Link:
      askToOpen(found.hit.address, global);
      break;
    case MessageHit::Quote:
      Q_EMIT quoteAsked(found.row.row(), found.hit.quote);
      break;
    case MessageHit::CopyCode:
      QGuiApplication::clipboard()->setText(
          m_layouts.layout(found.row).codeOf(found.hit.place.part));
      break;
    case MessageHit::Expand:
      m_followsEnd = false;
      m_model->setExpanded(found.row.row(), !m_model->message(found.row.row()).isExpanded);
      break;
    case MessageHit::Thoughts:
      toggleThoughts(found.row.row());
      break;
    case MessageHit::Footnote:
      Q_EMIT partsAsked(found.row.row(), global);
      break;
    case MessageHit::CopyMessage:
      QGuiApplication::clipboard()->setText(m_model->message(found.row.row()).text);
      break;
    case MessageHit::Replace:
      Q_EMIT replaceAsked(found.row.row());
      break;
    case MessageHit::Older:
      Q_EMIT versionAsked(found.row.row(), -1);
      break;
    case MessageHit::Newer:
      Q_EMIT versionAsked(found.row.row(), 1);
      break;
    case MessageHit::Packed:
      Q_EMIT packedAsked(found.hit.packed, global);
      break;
    case MessageHit::Text:
    case MessageHit::Nothing:
      break;
  }
}

void ConversationView::addVersionActions(QMenu& menu, int row) {
  const auto add = [this, &menu](const QString& name, auto&& act) {
    menu.addAction(name, this, std::forward<decltype(act)>(act));
  };
  const Message& message = m_model->message(row);
  if (message.canReplace && message.state != runtime::MessageState::streaming)
    add(replaceText(isUsers(row)), [this, row] { Q_EMIT replaceAsked(row); });
  for (const int step : {-1, 1})
    if (m_model->version(row, step) != 0)
      add(toolTipOf(step < 0 ? MessageHit::Older : MessageHit::Newer, false),
          [this, row, step] { Q_EMIT versionAsked(row, step); });
}

void ConversationView::addMarkActions(QMenu& menu, int row) {
  if (!m_canMark || !m_canMark(row)) return;
  menu.addSeparator();
  const auto add = [this, &menu](const QString& name, const QString& tip, auto&& act) {
    menu.addAction(name, this, std::forward<decltype(act)>(act))->setToolTip(tip);
  };
  menu.setToolTipsVisible(true);
  if (m_model->message(row).mark == MessageMark::Pinned)
    add(tr("Unpin"), tr("It may be compressed again."),
        [this, row] { Q_EMIT markAsked(row, MessageMark::None); });
  else
    add(tr("Pin"), tr("From now on it is not compressed."),
        [this, row] { Q_EMIT markAsked(row, MessageMark::Pinned); });
  add(tr("Forget for good…"), tr("The model no longer sees it. Its words stay in the chat."),
      [this, row] { askToForget(m_model->index(row)); });
}

void ConversationView::addPackedActions(QMenu& menu, int row) {
  if (m_model->message(row).packed.isEmpty()) return;
  menu.addSeparator();
  for (const PackedAction action : kPackedActions)
    menu.addAction(packedActionText(action), this, [this, action] {
      Q_EMIT packedAsked(action, viewport()->mapToGlobal(viewport()->rect().center()));
    });
}

// While the box is open, the chat may change: the row goes with its message.
void ConversationView::askToForget(const QPersistentModelIndex& row) {
  auto* box = new QMessageBox(QMessageBox::NoIcon, tr("Forget for good"),
                              tr("Should the model forget this message?"),
                              QMessageBox::Ok | QMessageBox::Cancel, this);
  box->setInformativeText(
      tr("The model no longer sees it, so no later answer can use what it says. Its words stay in "
         "the chat. This can't be undone."));
  box->button(QMessageBox::Ok)->setText(tr("Forget for good"));
  box->setDefaultButton(QMessageBox::Cancel);
  for (QAbstractButton* button : box->buttons()) button->setIcon({});  // as the window's own
  box->setAttribute(Qt::WA_DeleteOnClose);
  connect(box, &QMessageBox::finished, this, [this, row](int chosen) {
    if (chosen == QMessageBox::Ok && row.isValid())
      Q_EMIT markAsked(row.row(), MessageMark::Forgotten);
  });
  box->open();
}

void ConversationView::addMessageActions(QMenu& menu, int row) {
  if (!m_model->message(row).quotes.isEmpty())
    menu.addAction(tr("Show quoted passages"), this, [this, row] { Q_EMIT quoteAsked(row, 0); });
  addVersionActions(menu, row);
  addMarkActions(menu, row);
  addPackedActions(menu, row);
}

void ConversationView::toggleThoughts(int row) {
  m_followsEnd = false;
  m_model->setThoughtsOpen(row, !m_model->message(row).showsThoughts);
}

void ConversationView::showRow(int row) {
  if (m_model == nullptr || row >= m_model->rowCount()) return;
  m_followsEnd = false;
  // Heights above it are estimates until they are seen: settle() holds on to the first row.
  doItemsLayout();
  scrollTo(m_model->index(row), PositionAtTop);
  verticalScrollBar()->setValue(verticalScrollBar()->value() - m_head);
  settle();
}

void ConversationView::setFinder(ChatFinder* finder) {
  m_delegate->finder = finder;
  connect(finder, &ChatFinder::changed, viewport(), qOverload<>(&QWidget::update));
  connect(finder, &ChatFinder::currentChanged, this, &ConversationView::showFound);
}

int ConversationView::firstVisibleRow() const {
  return rowNear(0).row();
}

// A third down, so that what stands before it is read, too; not moved where it is seen already.
void ConversationView::showFound() {
  const int row = m_delegate->finder->currentRow();
  if (row < 0) return;
  m_followsEnd = false;
  m_model->setExpanded(row, true);
  const QModelIndex index = m_model->index(row);
  const auto place = [&] {
    MessageLayout& layout = m_layouts.layout(index);
    layout.setFind(m_delegate->lookOf(row));
    return layout.foundLine().toRect().translated(visualRect(index).topLeft());
  };
  if (const QRect line = place();
      visualRect(index).isValid() && viewport()->rect().contains(line.center()) && !line.isNull())
    return;
  showRow(row);
  QScrollBar* bar = verticalScrollBar();
  bar->setValue(bar->value() + place().top() - viewport()->height() / 3);
}

// Of the last answer before which something was thought.
void ConversationView::toggleLastThoughts() {
  for (int row = m_model->rowCount() - 1; row >= 0; --row)
    if (!m_model->message(row).thoughts.isEmpty()) {
      toggleThoughts(row);
      return;
    }
}

// Of the last answer that could see some; where it ends, if it is on the screen. Of a chat that was
// opened again none is known: then of the last row.
void ConversationView::askLastParts() {
  if (m_model->rowCount() == 0) return;
  int row = m_model->rowCount() - 1;
  while (row > 0 && m_model->message(row).partsAll == 0) --row;
  if (m_model->message(row).partsAll == 0) row = m_model->rowCount() - 1;
  const QRect place = visualRect(m_model->index(row)).intersected(viewport()->rect());
  Q_EMIT partsAsked(row, viewport()->mapToGlobal(place.bottomLeft()));
}

void ConversationView::askToOpen(const QString& address, const QPoint& global) {
  const QUrl url(address, QUrl::StrictMode);
  const QString reached = linkText(url);
  QMenu menu(this);
  menu.addAction(reached.isEmpty() ? address.left(120) : reached)->setEnabled(false);
  menu.addSeparator();
  const QAction* const open =
      reached.isEmpty() ? nullptr : menu.addAction(tr("Open in the browser"));
  const QAction* copy = menu.addAction(tr("Copy address"));
  const QAction* chosen = menu.exec(global);
  if (chosen == nullptr) return;
  if (chosen == copy) QGuiApplication::clipboard()->setText(address);
  if (chosen == open) Q_EMIT linkOpened(url);
}

// The keyboard points at no place: the text that is selected, or the middle of what is seen.
ConversationView::Found ConversationView::foundBy(const QContextMenuEvent& event) {
  if (event.reason() != QContextMenuEvent::Keyboard) return find(event.pos());
  const TextSelection& selection = m_delegate->selection;
  if (!selection.isEmpty()) return {selection.focusRow, {}};
  const int middle = viewport()->height() / 2;
  QModelIndex row = rowNear(middle);
  if (!row.isValid() && m_model->rowCount() > 0) row = m_model->index(m_model->rowCount() - 1);
  return {row, {}};
}

// Every block of code can be copied from here, so that the keyboard reaches it.
void ConversationView::addCopyActions(QMenu& menu, const Found& found) {
  const auto add = [this, &menu](const QString& name, const QString& text) {
    menu.addAction(name, this, [text] { QGuiApplication::clipboard()->setText(text); });
  };
  const Message& message = m_model->message(found.row.row());
  add(tr("Copy message"), message.text);
  if (!message.thoughts.isEmpty()) add(tr("Copy thoughts"), message.thoughts);
  const QList<MessagePart> code = m_layouts.layout(found.row).codeParts();
  for (int i = 0; i < int(code.size()); ++i)
    add(code.size() == 1 ? tr("Copy code")
                         : tr("Copy code %1 (%2)").arg(i + 1).arg(nameOf(code[i])),
        code[i].text);
}

void ConversationView::copyLastAnswer() {
  const int row = m_model->lastRow([](const Message& message) {
    return message.role != runtime::Role::user && !message.text.isEmpty();
  });
  if (row >= 0) QGuiApplication::clipboard()->setText(m_model->message(row).text);
}

void ConversationView::contextMenuEvent(QContextMenuEvent* event) {
  const Found found = foundBy(*event);
  QMenu menu(this);
  if (!m_delegate->selection.isEmpty())
    menu.addAction(tr("Copy"), QKeySequence::Copy, this, &ConversationView::copySelection);
  if (found.row.isValid()) {
    addCopyActions(menu, found);
    addMessageActions(menu, found.row.row());
  }
  menu.addSeparator();
  menu.addActions(actions());
  if (!menu.isEmpty()) menu.exec(event->globalPos());
}

void ConversationView::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Copy)) {
    copySelection();
    return;
  }
  QScrollBar* bar = verticalScrollBar();
  switch (event->key()) {
    case Qt::Key_Home:
      bar->setValue(bar->minimum());
      break;
    case Qt::Key_End:
      bar->setValue(bar->maximum());
      break;
    case Qt::Key_Up:
      bar->setValue(bar->value() - bar->singleStep());
      break;
    case Qt::Key_Down:
      bar->setValue(bar->value() + bar->singleStep());
      break;
    default:
      QListView::keyPressEvent(event);
  }
}

QString ConversationView::selectedText() const {
  const TextSelection& selection = m_delegate->selection;
  if (selection.isEmpty()) return {};
  auto* self = const_cast<ConversationView*>(this);
  const int first = std::min(selection.anchorRow.row(), selection.focusRow.row());
  const int last = std::max(selection.anchorRow.row(), selection.focusRow.row());
  QStringList texts;
  for (int row = first; row <= last; ++row) {
    const QModelIndex index = m_model->index(row);
    const auto [from, to] = m_delegate->selected(index);
    texts.append(self->m_layouts.layout(index).textBetween(from, to));
  }
  return texts.join(QStringLiteral("\n\n"));
}

void ConversationView::copySelection() {
  const QString text = selectedText();
  if (!text.isEmpty()) QGuiApplication::clipboard()->setText(text);
}

}  // namespace satchel::ui
