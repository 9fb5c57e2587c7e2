#include "ui/widgets/prompts_dialog.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include "ui/model/engine_values.h"
#include "ui/widgets/theme.h"

namespace satchel::ui {
namespace {

constexpr int kPromptsWidth = 700, kPromptsHeight = 480, kNamesWidth = 210;

}  // namespace

PromptsDialog::PromptsDialog(QWidget* parent)
    : QDialog(parent),
      m_filter(new QLineEdit(this)),
      m_list(new QListView(this)),
      m_name(new QLineEdit(this)),
      m_text(new QPlainTextEdit(this)),
      m_new(new QPushButton(tr("New"), this)),
      m_delete(new QPushButton(tr("Delete"), this)),
      m_save(new QPushButton(tr("Save"), this)),
      m_insert(new QPushButton(tr("Insert"), this)) {
  setWindowTitle(tr("Saved prompts"));
  setAttribute(Qt::WA_DeleteOnClose);
  m_filtered.setSourceModel(&m_prompts);
  m_filtered.setFilterCaseSensitivity(Qt::CaseInsensitive);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(kGapHuge, kGapHuge, kGapHuge, kGapHuge);
  row->setSpacing(kGapLarge);
  row->addWidget(makeNames());
  row->addWidget(makeText(), 1);
  resize(kPromptsWidth, kPromptsHeight);
  connectAll();
  begin();
  m_filter->setFocus();
}

QWidget* PromptsDialog::makeNames() {
  auto* part = new QWidget(this);
  part->setFixedWidth(kNamesWidth);
  m_filter->setObjectName(QStringLiteral("field"));
  m_filter->setPlaceholderText(tr("Find by name"));
  m_filter->setAccessibleName(tr("Find by name"));
  m_filter->installEventFilter(this);
  m_list->setModel(&m_filtered);
  m_list->setObjectName(QStringLiteral("plain"));
  m_list->setFrameShape(QFrame::NoFrame);
  m_list->setEditTriggers(QAbstractItemView::NoEditTriggers);
  m_list->setUniformItemSizes(true);
  m_list->setAccessibleName(tr("Saved prompts"));
  auto* column = new QVBoxLayout(part);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(kGap);
  column->addWidget(m_filter);
  column->addWidget(m_list, 1);
  column->addWidget(m_new);
  return part;
}

QWidget* PromptsDialog::makeText() {
  auto* part = new QWidget(this);
  m_name->setObjectName(QStringLiteral("field"));
  m_name->setPlaceholderText(tr("Name"));
  m_name->setAccessibleName(tr("Name of the prompt"));
  m_text->setObjectName(QStringLiteral("field"));
  m_text->setPlaceholderText(tr("Text"));
  m_text->setAccessibleName(tr("Text of the prompt"));
  m_text->setTabChangesFocus(true);
  m_insert->setObjectName(QStringLiteral("primary"));
  m_insert->setToolTip(tr("Puts the text into the message that you are writing"));
  for (QPushButton* button : {m_new, m_delete, m_save, m_insert}) button->setAutoDefault(false);
  auto* buttons = new QHBoxLayout;
  buttons->setSpacing(kGap);
  buttons->addWidget(m_delete);
  buttons->addStretch();
  buttons->addWidget(m_save);
  buttons->addWidget(m_insert);
  auto* column = new QVBoxLayout(part);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(kGap);
  column->addWidget(m_name);
  column->addWidget(m_text, 1);
  column->addLayout(buttons);
  return part;
}

void PromptsDialog::connectAll() {
  connect(m_filter, &QLineEdit::textChanged, &m_filtered,
          &QSortFilterProxyModel::setFilterFixedString);
  connect(m_list->selectionModel(), &QItemSelectionModel::currentChanged, this,
          [this](const QModelIndex& index) { showAt(index); });
  connect(m_list, &QListView::activated, this, &PromptsDialog::insert);
  connect(m_name, &QLineEdit::textChanged, this, &PromptsDialog::refresh);
  connect(m_text, &QPlainTextEdit::textChanged, this, &PromptsDialog::refresh);
  connect(m_new, &QPushButton::clicked, this, [this] {
    m_list->setCurrentIndex({});
    begin();
    m_name->setFocus();
  });
  connect(m_save, &QPushButton::clicked, this, &PromptsDialog::save);
  connect(m_insert, &QPushButton::clicked, this, &PromptsDialog::insert);
  connect(m_delete, &QPushButton::clicked, this, [this] {
    const QString name = m_shown;
    begin();
    Q_EMIT removeAsked(name);
  });
}

void PromptsDialog::setPrompts(const std::vector<runtime::SavedPrompt>& prompts) {
  const QString shown = m_shown;
  const QSignalBlocker quiet(m_list->selectionModel());
  m_prompts.clear();
  for (const runtime::SavedPrompt& prompt : prompts) {
    auto* item = new QStandardItem(textOf(prompt.name));
    item->setData(textOf(prompt.text), Qt::UserRole);
    m_prompts.appendRow(item);
  }
  for (int row = 0; row < m_filtered.rowCount(); ++row)
    if (m_filtered.index(row, 0).data().toString() == shown)
      m_list->setCurrentIndex(m_filtered.index(row, 0));
  m_list->viewport()->update();
  refresh();
}

void PromptsDialog::showAt(const QModelIndex& index) {
  if (!index.isValid()) return;
  m_shown = index.data().toString();
  m_name->setText(m_shown);
  m_text->setPlainText(index.data(Qt::UserRole).toString());
  refresh();
}

// A new one.
void PromptsDialog::begin() {
  m_shown.clear();
  m_name->clear();
  m_text->clear();
  refresh();
}

// Under another name it is renamed: the old one goes.
void PromptsDialog::save() {
  const QString before = m_shown;
  m_shown = m_name->text().trimmed();
  Q_EMIT keepAsked(m_shown, m_text->toPlainText());
  if (!before.isEmpty() && before != m_shown) Q_EMIT removeAsked(before);
}

void PromptsDialog::insert() {
  if (m_text->toPlainText().isEmpty()) return;
  Q_EMIT chosen(m_text->toPlainText());
  close();
}

void PromptsDialog::refresh() {
  const bool hasText = !m_text->toPlainText().isEmpty();
  m_save->setEnabled(hasText && !m_name->text().trimmed().isEmpty());
  m_insert->setEnabled(hasText);
  m_delete->setEnabled(!m_shown.isEmpty());
}

bool PromptsDialog::eventFilter(QObject* watched, QEvent* event) {
  if (watched != m_filter || event->type() != QEvent::KeyPress || m_filtered.rowCount() == 0)
    return QDialog::eventFilter(watched, event);
  switch (static_cast<QKeyEvent*>(event)->key()) {
    case Qt::Key_Down:
      m_list->setFocus(Qt::OtherFocusReason);
      m_list->setCurrentIndex(m_filtered.index(0, 0));
      return true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      m_list->setCurrentIndex(m_filtered.index(0, 0));
      insert();
      return true;
    default:
      return false;
  }
}

}  // namespace satchel::ui
