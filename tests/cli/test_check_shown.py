"""What `check`, `run-once` and `show` say of what people are to be shown."""

import os
from unittest import mock

import pytest

from tests.cli.workplace import PEOPLE
from tests.pictures import png

SHOWN = "show: [subject]"
IN_FOLDER = "show: [{column: photo, kind: image, folder: photos}]"
NOBODY = "http://127.0.0.1:9"
PAGE = '{kind: page, question: "Is it about travel?"}'


def with_photos(place, labeling=PAGE, *, missing="false", **changes):
    place.predictions(photo=f"case when {missing} then 'none.png' else 'a.png' end")
    place.config(labeling, shown=(SHOWN, IN_FOLDER), **changes)
    (place.folder / "photos").mkdir()
    (place.folder / "photos" / "a.png").write_bytes(png())


def test_pictures_that_cannot_be_shown_are_waited_for(place):
    with_photos(place, missing="i % 2 = 0")

    checked, ran = place.run("check"), place.run("run-once")
    (place.folder / "photos" / "none.png").write_bytes(png())
    again = place.run("run-once")

    why = "items have a picture that cannot be shown ("
    assert "PROBLEM" in checked.line(why)
    assert "more than bad_rows_max = 0.01 allows" in ran.line(why)
    assert (checked.code, ran.code, again.code) == (65, 65, 0)
    assert "is labeling" in again.out


@pytest.mark.parametrize(
    ("labeling", "kind"),
    [
        (PAGE, "page"),
        (PEOPLE, "files"),
        (PAGE.replace("page", "mlflow"), "mlflow"),
        (PAGE.replace("page", f"label_studio, url: {NOBODY}, token: '${{TOKEN}}'"), "label_studio"),
    ],
)
def test_pictures_are_said_to_be_paths_where_labelers_show_texts_only(place, labeling, kind):
    with_photos(place, labeling)
    with mock.patch.dict(os.environ, TOKEN="0123456789" * 4):
        checked = place.run("check")

    said = [line for line in checked.lines if "pictures (photo)" in line]
    paths = f"pictures (photo) are only paths or a remark with labeling of kind {kind}"
    assert [paths in line for line in said] == ([] if kind == "page" else [True])
