from tests.deploy.program import program  # noqa: F401  a fixture
