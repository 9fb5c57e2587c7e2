#include "ui/widgets/models_dialog.h"

#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMimeData>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QUrl>
#include <QVBoxLayout>

#include "ui/model/model_library.h"
#include "ui/widgets/theme.h"

namespace satchel::ui {
namespace {

constexpr int kModelsWidth = 820, kModelsHeight = 600, kListWidth = 270;

QStringList modelFilesOf(const QMimeData* data) {
  QStringList paths;
  for (const QUrl& url : data->urls())
    if (url.isLocalFile() &&
        url.toLocalFile().endsWith(QStringLiteral(".gguf"), Qt::CaseInsensitive))
      paths.append(url.toLocalFile());
  return paths;
}

}  // namespace

ModelsDialog::ModelsDialog(ModelLibrary* library, const QString& folder, const QString& current,
                           QWidget* parent)
    : QDialog(parent),
      m_library(library),
      m_list(new QListView(this)),
      m_title(new QLabel(this)),
      m_open(new QPushButton(tr("Open"), this)),
      m_import(new QPushButton(tr("Import a file…"), this)),
      m_address(new QLineEdit(this)),
      m_sha256(new QLineEdit(this)),
      m_fetch(new QPushButton(this)),
      m_progress(new QProgressBar(this)),
      m_fetchText(new QLabel(this)) {
  setWindowTitle(tr("Models"));
  setAttribute(Qt::WA_DeleteOnClose);
  setAcceptDrops(true);
  auto* upper = new QHBoxLayout;
  upper->setSpacing(kGapLarge);
  upper->addWidget(makeModels(folder));
  upper->addWidget(makeDetails(), 1);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kGapHuge, kGapHuge, kGapHuge, kGapHuge);
  column->setSpacing(kGapLarge);
  column->addLayout(upper, 1);
  column->addWidget(makeFetch());
  resize(kModelsWidth, kModelsHeight);
  connectAll();
  library->refresh();
  choose(current);
  refreshFetch();
}

QWidget* ModelsDialog::makeModels(const QString& folder) {
  auto* part = new QWidget(this);
  part->setFixedWidth(kListWidth);
  m_list->setModel(m_library);
  m_list->setObjectName(QStringLiteral("plain"));
  m_list->setFrameShape(QFrame::NoFrame);
  m_list->setUniformItemSizes(true);
  m_list->setEditTriggers(QAbstractItemView::NoEditTriggers);
  m_list->setTextElideMode(Qt::ElideMiddle);
  m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  m_list->setAccessibleName(tr("Models"));
  auto* note = new QLabel(tr("Drop a .gguf file here to import it. Folder: %1").arg(folder), part);
  note->setObjectName(QStringLiteral("muted"));
  note->setFont(scaledFont(font(), 0.92));
  note->setTextFormat(Qt::PlainText);
  note->setWordWrap(true);
  m_import->setAutoDefault(false);
  auto* column = new QVBoxLayout(part);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(kGap);
  column->addWidget(m_list, 1);
  column->addWidget(m_import);
  column->addWidget(note);
  return part;
}

QWidget* ModelsDialog::makeDetails() {
  auto* part = new QWidget(this);
  m_title->setFont(scaledFont(font(), 1.1, QFont::DemiBold));
  m_title->setTextFormat(Qt::PlainText);
  m_title->setWordWrap(true);
  m_details = new QWidget(part);
  m_form = new QFormLayout(m_details);
  m_form->setContentsMargins(0, 0, 0, 0);
  m_form->setHorizontalSpacing(kGapLarge);
  m_form->setVerticalSpacing(kGap);
  auto* scroll = new QScrollArea(part);
  scroll->setWidget(m_details);
  scroll->setWidgetResizable(true);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setAccessibleName(tr("About the model"));
  m_open->setObjectName(QStringLiteral("primary"));
  m_open->setAutoDefault(false);  // Enter in a field is not for it
  auto* buttons = new QHBoxLayout;
  buttons->addStretch();
  buttons->addWidget(m_open);
  auto* column = new QVBoxLayout(part);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(kGap);
  column->addWidget(m_title);
  column->addWidget(scroll, 1);
  column->addLayout(buttons);
  return part;
}

QWidget* ModelsDialog::makeFetch() {
  auto* part = new QWidget(this);
  const std::pair<QLineEdit*, QString> fields[] = {{m_address, tr("https address of a .gguf file")},
                                                   {m_sha256, tr("SHA-256, if you know it")}};
  for (const auto& [field, name] : fields) {
    field->setObjectName(QStringLiteral("field"));
    field->setPlaceholderText(name);
    field->setAccessibleName(name);
  }
  m_progress->setTextVisible(false);
  m_progress->setFixedHeight(6);
  m_progress->setAccessibleName(tr("Progress of the download"));
  m_fetchText->setObjectName(QStringLiteral("muted"));
  m_fetchText->setTextFormat(Qt::PlainText);
  m_fetchText->setWordWrap(true);
  m_fetch->setAutoDefault(false);
  auto* row = new QHBoxLayout;
  row->setSpacing(kGap);
  row->addWidget(m_address, 3);
  row->addWidget(m_sha256, 2);
  row->addWidget(m_fetch);
  auto* column = new QVBoxLayout(part);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(kGap);
  column->addLayout(row);
  column->addWidget(m_progress);
  column->addWidget(m_fetchText);
  return part;
}

void ModelsDialog::connectAll() {
  connect(m_list->selectionModel(), &QItemSelectionModel::currentChanged, this,
          &ModelsDialog::showChosen);
  connect(m_list, &QListView::activated, m_open, &QPushButton::click);
  connect(m_open, &QPushButton::clicked, this, [this] {
    if (chosen().isEmpty()) return;
    Q_EMIT opened(chosen());
    close();
  });
  connect(m_import, &QPushButton::clicked, this, &ModelsDialog::chooseFile);
  connect(m_fetch, &QPushButton::clicked, this, [this] {
    if (m_library->isFetching())
      m_library->stopFetching();
    else
      m_library->download(m_address->text(), m_sha256->text());
  });
  connect(m_address, &QLineEdit::returnPressed, m_fetch, &QPushButton::click);
  connect(m_sha256, &QLineEdit::returnPressed, m_fetch, &QPushButton::click);
  connect(m_address, &QLineEdit::textChanged, this, &ModelsDialog::refreshFetch);
  connect(m_library, &ModelLibrary::fetchChanged, this, &ModelsDialog::refreshFetch);
  connect(m_library, &ModelLibrary::fetched, this, &ModelsDialog::choose);
  connect(m_library, &ModelLibrary::detailsFound, this,
          [this](const QString& path, const ModelDetails& details) {
            if (path == chosen())
              showRows(QString::fromStdString(details.facts.title), ModelLibrary::rowsOf(details));
          });
  connect(m_library, &ModelLibrary::detailsFailed, this,
          [this](const QString& path, const QString& message) {
            if (path == chosen()) showRows(m_title->text(), {{tr("Cannot be read"), message}});
          });
}

QString ModelsDialog::chosen() const {
  return m_list->currentIndex().data(ModelLibrary::PathRole).toString();
}

void ModelsDialog::choose(const QString& path) {
  const int row = std::max(m_library->rowOf(path), 0);
  m_list->setCurrentIndex(m_library->index(row));
  showChosen();
}

void ModelsDialog::showChosen() {
  const QString path = chosen();
  m_open->setEnabled(!path.isEmpty());
  if (path.isEmpty()) return showRows(tr("No model"), {});
  showRows(m_library->choice(m_list->currentIndex().row()).title,
           {{tr("File"), path}, {tr("Fits"), tr("The file is being read…")}});
  m_library->look(path);
}

void ModelsDialog::showRows(const QString& title, const QList<std::pair<QString, QString>>& rows) {
  m_title->setText(title);
  while (m_form->rowCount() > 0) m_form->removeRow(0);
  for (const auto& [name, text] : rows) {
    auto* label = new QLabel(name, m_details);
    label->setObjectName(QStringLiteral("muted"));
    auto* value = new QLabel(text, m_details);
    value->setTextFormat(Qt::PlainText);
    value->setTextInteractionFlags(Qt::TextSelectableByMouse);
    value->setWordWrap(true);
    m_form->addRow(label, value);
  }
}

QString ModelsDialog::detailsText() const {
  QStringList lines;
  for (int row = 0; row < m_form->rowCount(); ++row) {
    const auto text = [&](QFormLayout::ItemRole role) {
      return qobject_cast<QLabel*>(m_form->itemAt(row, role)->widget())->text();
    };
    lines.append(text(QFormLayout::LabelRole) + QStringLiteral(": ") +
                 text(QFormLayout::FieldRole));
  }
  return lines.join(u'\n');
}

QString ModelsDialog::fetchText() const {
  return m_fetchText->text();
}

void ModelsDialog::chooseFile() {
  const QString path = QFileDialog::getOpenFileName(this, tr("Import a model"), {},
                                                    tr("GGUF models (*.gguf);;All files (*)"));
  if (!path.isEmpty()) m_library->import(path);
}

void ModelsDialog::refreshFetch() {
  const bool isFetching = m_library->isFetching();
  m_fetch->setText(isFetching ? tr("Stop") : tr("Download"));
  m_fetch->setEnabled(isFetching || !m_address->text().trimmed().isEmpty());
  m_import->setEnabled(!isFetching);
  m_progress->setVisible(isFetching);
  const double share = m_library->fetchShare();
  m_progress->setRange(0, share < 0 ? 0 : 1000);
  if (share >= 0) m_progress->setValue(int(share * 1000));
  const QString text = m_library->fetchText();
  m_fetchText->setText(text.isEmpty() ? tr("Nothing is fetched but what you ask for here. A "
                                           "download that ends early goes on where it ended.")
                                      : text);
}

void ModelsDialog::dragEnterEvent(QDragEnterEvent* event) {
  if (!modelFilesOf(event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void ModelsDialog::dropEvent(QDropEvent* event) {
  const QStringList paths = modelFilesOf(event->mimeData());
  event->acceptProposedAction();
  if (!paths.isEmpty()) m_library->import(paths.first());
}

}  // namespace satchel::ui
