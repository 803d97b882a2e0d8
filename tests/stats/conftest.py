"""The tests of the statistics also run by themselves, without what other tests need."""

from tests import hypothesis_profiles

hypothesis_profiles.load()
