"""What every source keeps, and what databases are tested for, on Spark."""

# ruff: noqa: F401  tests, which the fixture `place` of this folder runs here

from tests.sources.sql.test_amounts import (
    TestByAmount,
    TestSampledLog,
    test_released_items_are_drawn_as_from_a_file_of_duckdb,
)
from tests.sources.sql.test_columns import (
    test_a_predicted_class_of_each_type_is_read,
    test_columns_may_have_any_name,
    test_each_candidate_has_the_group_of_its_row_or_none_without_a_value,
    test_scores_of_each_type_are_cut_alike,
)
from tests.sources.sql.test_contract import (
    TestByPredictedClass,
    TestByThreshold,
    TestChallengerByClass,
    TestChallengerByScore,
    TestJudge,
)
from tests.sources.sql.test_ids import (
    test_a_row_without_an_id_is_counted_and_spaces_are_one,
    test_an_id_of_each_type_has_one_text_form,
    test_an_id_that_is_written_otherwise_is_no_row_of_it,
    test_ids_that_a_database_takes_for_equal_are_different_items,
    test_people_see_the_row_of_exactly_the_id_that_was_drawn,
)
from tests.sources.sql.test_shared_scans import test_each_monitor_gets_the_frame_of_its_own_scan
from tests.sources.sql.test_times import (
    test_local_times_around_a_change_of_clocks_become_utc,
    test_times_may_be_numbers_since_1970,
    test_times_without_a_zone_are_refused_unless_the_config_names_one,
)
