from tests.labeling.conftest import _files_settle_at_once  # noqa: F401  a fixture
