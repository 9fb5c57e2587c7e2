"""Writes tests/golden/documents: one small document in each format that app/documents reads."""

import pathlib
import zipfile

FOLDER = pathlib.Path(__file__).parent.parent / "golden" / "documents"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def paragraph(text, style=None, listed=False):
    about = f'<w:pStyle w:val="{style}"/>' if style else ""
    about += "<w:numPr><w:ilvl w:val='0'/></w:numPr>" if listed else ""
    return f"<w:p><w:pPr>{about}</w:pPr><w:r><w:t xml:space='preserve'>{text}</w:t></w:r></w:p>"


def cells(*texts):
    return "<w:tr>" + "".join(f"<w:tc>{paragraph(text)}</w:tc>" for text in texts) + "</w:tr>"


def zipped(name, entries):
    with zipfile.ZipFile(FOLDER / name, "w", zipfile.ZIP_DEFLATED) as file:
        for entry, text in entries:
            file.writestr(zipfile.ZipInfo(entry, (2026, 1, 1, 0, 0, 0)), text, zipfile.ZIP_DEFLATED)


def docx():
    body = (
        paragraph("Pets of the street", style="Heading1")
        + "<w:p><w:r><w:t>Matteo </w:t></w:r>"
        + "<w:r><w:t>Thorsen keeps a rabbit &amp; a cat.</w:t></w:r>"
        + "<w:del><w:r><w:delText>This was deleted.</w:delText></w:r></w:del></w:p>"
        + paragraph("first", listed=True)
        + paragraph("second", listed=True)
        + f"<w:tbl><w:tblPr/>{cells('Name', 'Pet')}{cells('Ana', 'parrot')}</w:tbl>"
        + "<w:p><w:r><w:t>One</w:t><w:tab/><w:t>two</w:t><w:br/><w:t>three.</w:t></w:r></w:p>"
    )
    document = f'<?xml version="1.0"?><w:document xmlns:w="{WORD}">'
    document += f"<w:body>{body}</w:body></w:document>"
    zipped("pets.docx", [("[Content_Types].xml", "<Types/>"), ("word/document.xml", document)])
    zipped("bomb.docx", [("word/document.xml", "<a>" + " " * (40 << 20) + "</a>")])


def epub():
    container = '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>'
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><manifest>'
        '<item id="b" href="two.xhtml"/><item id="a" href="text/one%20.xhtml#x"/></manifest>'
        '<spine><itemref idref="a"/><itemref idref="b"/><itemref idref="gone"/></spine></package>'
    )
    chapter = (
        '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>no</title></head>'
        "<body>{}</body></html>"
    )
    zipped(
        "pets.epub",
        [
            ("META-INF/container.xml", container),
            ("OPS/book.opf", package),
            ("OPS/text/one .xhtml", chapter.format("<h1>One</h1><p>Matteo keeps a rabbit.</p>")),
            ("OPS/two.xhtml", chapter.format("<h1>Two</h1><p>Ana keeps\n a parrot.</p>")),
        ],
    )


def pdf():
    def page(text):
        return f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"

    pages = ["Matteo Thorsen keeps a rabbit.", "", "Ana keeps a parrot."]
    objects = ["<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>")
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for i, text in enumerate(pages):
        stream = page(text)
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * i} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out, places = b"%PDF-1.4\n", []
    for i, text in enumerate(objects):
        places.append(len(out))
        out += f"{i + 1} 0 obj\n{text}\nendobj\n".encode()
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{place:010d} 00000 n \n".encode() for place in places)
    out += f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\n".encode()
    out += f"startxref\n{start}\n%%EOF\n".encode()
    (FOLDER / "pets.pdf").write_bytes(out)


def html():
    (FOLDER / "pets.html").write_text(
        "<!doctype html><title>no</title><style>p { color: red }</style>"
        "<script>var no = 1;</script>"
        "<h1>Pets of <em>the</em> street</h1>"
        "<p>Matteo  Thorsen\nkeeps a rabbit &amp; a c\u00e4t.<p>Open"
        "<ul><li>first<li>second</ul><pre>a\n  b</pre>"
        "<table><tr><th>Name<th>Pet<tr><td>Ana<td>parrot"
        "</table>one<br>two</b></p>",
        encoding="utf-8",
    )


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    docx()
    epub()
    pdf()
    html()
