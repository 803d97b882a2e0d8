from tests.coarse import coarsely  # noqa: F401  a fixture
