"""Label files as .xlsx workbooks: one sheet, cells of text, nothing in it run or followed.

openpyxl comes with the extra ``xlsx``. Before it sees a workbook that came back, the archive is
looked through: how large it is unpacked, whether it is whole, and that no part of it declares
entities, by which a small file becomes a large one.
"""

from __future__ import annotations

import io
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import IO, Any
from xml.parsers import expat

from monitor.domain.errors import LabelsRefused
from monitor.domain.extras import install_command
from monitor.labeling.cells import own_name
from monitor.labeling.formats import SheetCell, SheetRow

LONGEST_TEXT = 32_000  # Characters of a text; a cell holds 32,767

MOST_COLUMNS = 256
_MOST_ROWS = 2**20  # of any sheet
_MOST_PARTS = 1000
_WIDTHS = {"task": 14, "annotator": 18, "note": 36}  # in characters
_LABEL_WIDTH, _SHOWN_WIDTH = 30, 70
_CHOICES = ("yes", "no", "cannot tell")
_NO_CHARACTERS = str.maketrans({"\ufffe": "\ufffd", "\uffff": "\ufffd"})  # none that XML can hold


_NEEDED = f"needs the extra xlsx: {install_command('xlsx')}, or use .csv"


def workbook_bytes(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Write a workbook of one sheet: the header stays in sight, and answers come from a list."""
    openpyxl = _openpyxl()
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("labels")
    sheet.freeze_panes = "A2"
    for index, name in enumerate(header, start=1):
        letter = openpyxl.utils.get_column_letter(index)
        sheet.column_dimensions[letter].width = _WIDTHS.get(name, _SHOWN_WIDTH)
        if own_name(name) == "label":
            sheet.column_dimensions[letter].width = _LABEL_WIDTH
            sheet.data_validations.append(_choice(openpyxl, letter, name))
    style = openpyxl.styles
    sheet.append([_cell(openpyxl, sheet, name, style.Font(bold=True)) for name in header])
    for row in rows:
        sheet.append([_cell(openpyxl, sheet, value) for value in row])
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def _choice(openpyxl: Any, letter: str, header: str) -> Any:
    validation: Any = openpyxl.worksheet.datavalidation.DataValidation(
        type="list",
        formula1=f'"{",".join(_CHOICES)}"',
        allow_blank=True,
        showInputMessage=True,
        showErrorMessage=True,
        errorTitle="No such answer",
        error="Choose yes, no or cannot tell, or leave the cell empty.",
        prompt=header[:255],
    )
    validation.add(f"{letter}2:{letter}{_MOST_ROWS}")
    return validation


def _cell(openpyxl: Any, sheet: Any, value: object, font: Any = None) -> Any:
    cell = openpyxl.cell.WriteOnlyCell(sheet)
    cell.alignment = openpyxl.styles.Alignment(wrap_text=True, vertical="top")
    cell.number_format = "@"  # what is typed there stays as it was typed
    if font is not None:
        cell.font = font
    if isinstance(value, bool | int | float):
        cell.value = value
    elif value is not None and value != "":
        cell.value = str(value).encode(errors="replace").decode().translate(_NO_CHARACTERS)
        cell.data_type = "s"  # a text, also where it looks like a formula
        cell.quotePrefix = True  # and stays one when somebody edits it
    return cell


def is_whole(stream: IO[bytes], most: int) -> bool:
    """Whether a workbook has its end and all between; true where it is not to be unpacked."""
    try:
        with zipfile.ZipFile(stream) as archive:
            return _problem(archive, most) is not None or archive.testzip() is None
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError):
        return False
    except (RuntimeError, ValueError, NotImplementedError):
        return True  # a password, or a way of packing that reading it reports


def sheet_rows(name: str, stream: IO[bytes], most: int) -> list[SheetRow]:
    """Rows of the only sheet of a workbook, from its first one on, empty ones too.

    Raises `LabelsRefused` if it is no workbook, larger than ``most`` bytes unpacked, or has several
    sheets.
    """
    openpyxl = _openpyxl(name)
    try:
        with zipfile.ZipFile(stream) as archive:
            problem = _problem(archive, most) or _declares(archive)
        if problem is None:
            with warnings.catch_warnings(action="ignore"):  # of styles and dates
                return _rows(name, openpyxl.load_workbook(stream, read_only=True, keep_links=False))
    except LabelsRefused:
        raise
    except Exception as error:  # code of others on a file of strangers may fail in any way
        if isinstance(error, OSError) and error.errno is not None:
            raise  # of the disk, and not of the file
        problem = (
            f"is not a readable .xlsx workbook ({type(error).__name__}); save it again as "
            ".xlsx without a password, or as CSV UTF-8"
        )
    message = f"{name} {problem}"
    raise LabelsRefused(message)


def _rows(name: str, book: Any) -> list[SheetRow]:
    if len(book.sheetnames) != 1 or len(book.worksheets) != 1:
        sheets = ", ".join(ascii(each[:40]) for each in book.sheetnames[:5])
        message = (
            f"{name} has {len(book.sheetnames)} sheets ({sheets}), hidden ones counted; a label "
            "file has one: delete the others"
        )
        raise LabelsRefused(message)
    sheet = book.worksheets[0]
    sheet.reset_dimensions()  # what a sheet says of its size need not be so
    # Each bound is given, since a single cell far away would else be a million empty ones.
    rows: list[SheetRow] = []
    last: object = None
    for row in sheet.iter_rows(min_row=1, max_row=_MOST_ROWS, max_col=MOST_COLUMNS):
        # openpyxl gives one and the same row for each that a sheet leaves out, of a million maybe.
        rows.append(() if row is last else _trimmed(row))
        last = row
    return rows


def _trimmed(row: Sequence[Any]) -> SheetRow:
    end = len(row)
    while end and row[end - 1].value is None:
        end -= 1
    cells = [SheetCell(each.value, each.data_type == "f") for each in row[:end]]
    while cells and cells[-1].is_empty():
        cells.pop()
    return tuple(cells)


def _problem(archive: zipfile.ZipFile, most: int) -> str | None:
    parts = archive.infolist()
    size = sum(part.file_size for part in parts)
    if size > most:
        return (
            f"has {size / 2**20:.0f} MB unpacked, more than the {most / 2**20:.0f} MB that a label "
            "file may have; keep only the columns task, label and annotator"
        )
    if len(parts) > _MOST_PARTS:
        return f"has {len(parts)} parts, so it is more than a sheet; save the sheet alone"
    return None


def _declares(archive: zipfile.ZipFile) -> str | None:
    """Find a document type in any part, by any name and in any encoding: only there are entities.

    What is no XML ends at its first bytes.
    """
    doctypes: list[str] = []
    for part in archive.infolist():
        parser = expat.ParserCreate()
        parser.StartDoctypeDeclHandler = lambda *_: doctypes.append("")
        try:
            with archive.open(part) as stream:
                while not doctypes and (piece := stream.read(2**16)):
                    parser.Parse(piece)
        except expat.ExpatError:
            pass
        if doctypes:
            return "declares entities, as no spreadsheet does; save it again as .xlsx"
    return None


def check_installed() -> None:
    """Refuse a format that nothing here writes, without loading what would write it."""
    if find_spec("openpyxl") is None:
        message = f"labeling.format: xlsx {_NEEDED}"
        raise LabelsRefused(message)


def _openpyxl(name: str | None = None) -> Any:
    try:
        import openpyxl  # noqa: PLC0415  an extra
        import openpyxl.cell  # noqa: PLC0415
        import openpyxl.worksheet.datavalidation  # noqa: PLC0415
    except ImportError as error:
        what = "labeling.format: xlsx" if name is None else f"{name}: to read .xlsx it"
        message = f"{what} {_NEEDED}"
        raise LabelsRefused(message) from error
    return openpyxl
