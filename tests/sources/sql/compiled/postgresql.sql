-- postgresql. Run by the tests.
set transaction isolation level repeatable read, read only;
set local statement_timeout = %(ms)d;
set local time zone 'UTC';
set local datestyle = 'ISO';
set local enable_sort = off;
set local jit = off;

-- counts of the window
SELECT anon_1.bucket, anon_1.version, count(*) AS count_1, max(anon_1.t) AS max_1, NULL AS anon_2
FROM (SELECT anon_3.id AS id, anon_3.t AS t, anon_3.score AS score, anon_3.predicted AS predicted, anon_3.version AS version, anon_3.segment_0 AS segment_0, CASE WHEN (anon_3.id IS NULL OR length(anon_3.id) = 0) THEN -5 WHEN (anon_3.version IS NULL) THEN -6 WHEN anon_3.score = 'NaN'::float8 THEN -9 WHEN anon_3.score in ('Infinity'::float8, '-Infinity'::float8) THEN -10 WHEN ((anon_3.predicted NOT IN (%(predicted_1_1)s::VARCHAR, %(predicted_1_2)s::VARCHAR, %(predicted_1_3)s::VARCHAR, %(predicted_1_4)s::VARCHAR, %(predicted_1_5)s::VARCHAR, %(predicted_1_6)s::VARCHAR, %(predicted_1_7)s::VARCHAR, %(predicted_1_8)s::VARCHAR, %(predicted_1_9)s::VARCHAR, %(predicted_1_10)s::VARCHAR))) THEN -13 WHEN (anon_3.predicted IS NULL) THEN -7 WHEN (anon_3.predicted IN (%(predicted_2_1)s::VARCHAR, %(predicted_2_2)s::VARCHAR, %(predicted_2_3)s::VARCHAR, %(predicted_2_4)s::VARCHAR, %(predicted_2_5)s::VARCHAR)) THEN CASE WHEN (anon_3.score IS NULL) THEN -8 ELSE CASE WHEN (anon_3.score < %(param_1)s) THEN 0 ELSE 1 END END ELSE CASE WHEN (anon_3.score IS NULL) THEN -8 ELSE CASE WHEN (anon_3.score < %(param_2)s) THEN 2 ELSE 3 END END END AS bucket
FROM (SELECT cast(mails.scored."mail id" as text) collate "C" AS id, mails.scored.scored_at AS t, cast(mails.scored.score as double precision) AS score, nullif(nullif(trim(cast(mails.scored."order" as text) collate "C"), %(nullif_1)s::VARCHAR), %(nullif_2)s::VARCHAR) AS predicted, nullif(cast(mails.scored.version as text) collate "C", %(nullif_3)s::VARCHAR) AS version, coalesce(substr(nullif(trim(cast(mails.scored.country as text) collate "C"), %(nullif_4)s::VARCHAR), 1, 100), %(param_3)s::VARCHAR) AS segment_0
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate "C" IN (%(param_4_1)s::VARCHAR, %(param_4_2)s::VARCHAR, %(param_4_3)s::VARCHAR, %(param_4_4)s::VARCHAR) AND mails.scored.scored_at >= %(param_5)s::TIMESTAMP WITH TIME ZONE AND mails.scored.scored_at < %(param_6)s::TIMESTAMP WITH TIME ZONE) AS anon_3) AS anon_1 GROUP BY anon_1.bucket, anon_1.version;

-- counts by segment
SELECT anon_1.bucket, anon_1.segment_0, count(*) AS count_1
FROM (SELECT anon_2.id AS id, anon_2.t AS t, anon_2.score AS score, anon_2.predicted AS predicted, anon_2.version AS version, anon_2.segment_0 AS segment_0, CASE WHEN (anon_2.id IS NULL OR length(anon_2.id) = 0) THEN -5 WHEN (anon_2.version IS NULL) THEN -6 WHEN anon_2.score = 'NaN'::float8 THEN -9 WHEN anon_2.score in ('Infinity'::float8, '-Infinity'::float8) THEN -10 WHEN ((anon_2.predicted NOT IN (%(predicted_1_1)s::VARCHAR, %(predicted_1_2)s::VARCHAR, %(predicted_1_3)s::VARCHAR, %(predicted_1_4)s::VARCHAR, %(predicted_1_5)s::VARCHAR, %(predicted_1_6)s::VARCHAR, %(predicted_1_7)s::VARCHAR, %(predicted_1_8)s::VARCHAR, %(predicted_1_9)s::VARCHAR, %(predicted_1_10)s::VARCHAR))) THEN -13 WHEN (anon_2.predicted IS NULL) THEN -7 WHEN (anon_2.predicted IN (%(predicted_2_1)s::VARCHAR, %(predicted_2_2)s::VARCHAR, %(predicted_2_3)s::VARCHAR, %(predicted_2_4)s::VARCHAR, %(predicted_2_5)s::VARCHAR)) THEN CASE WHEN (anon_2.score IS NULL) THEN -8 ELSE CASE WHEN (anon_2.score < %(param_1)s) THEN 0 ELSE 1 END END ELSE CASE WHEN (anon_2.score IS NULL) THEN -8 ELSE CASE WHEN (anon_2.score < %(param_2)s) THEN 2 ELSE 3 END END END AS bucket
FROM (SELECT cast(mails.scored."mail id" as text) collate "C" AS id, mails.scored.scored_at AS t, cast(mails.scored.score as double precision) AS score, nullif(nullif(trim(cast(mails.scored."order" as text) collate "C"), %(nullif_1)s::VARCHAR), %(nullif_2)s::VARCHAR) AS predicted, nullif(cast(mails.scored.version as text) collate "C", %(nullif_3)s::VARCHAR) AS version, coalesce(substr(nullif(trim(cast(mails.scored.country as text) collate "C"), %(nullif_4)s::VARCHAR), 1, 100), %(param_3)s::VARCHAR) AS segment_0
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate "C" IN (%(param_4_1)s::VARCHAR, %(param_4_2)s::VARCHAR, %(param_4_3)s::VARCHAR, %(param_4_4)s::VARCHAR) AND mails.scored.scored_at >= %(param_5)s::TIMESTAMP WITH TIME ZONE AND mails.scored.scored_at < %(param_6)s::TIMESTAMP WITH TIME ZONE) AS anon_2) AS anon_1
WHERE anon_1.bucket >= 0 AND anon_1.version = %(version_1)s::VARCHAR GROUP BY anon_1.bucket, anon_1.segment_0;

-- draw
SELECT CASE WHEN (anon_1.id IS NULL OR length(anon_1.id) = 0) THEN -5 WHEN (anon_1.version IS NULL) THEN -6 WHEN anon_1.score = 'NaN'::float8 THEN -9 WHEN anon_1.score in ('Infinity'::float8, '-Infinity'::float8) THEN -10 WHEN ((anon_1.predicted NOT IN (%(predicted_1_1)s::VARCHAR, %(predicted_1_2)s::VARCHAR, %(predicted_1_3)s::VARCHAR, %(predicted_1_4)s::VARCHAR, %(predicted_1_5)s::VARCHAR, %(predicted_1_6)s::VARCHAR, %(predicted_1_7)s::VARCHAR, %(predicted_1_8)s::VARCHAR, %(predicted_1_9)s::VARCHAR, %(predicted_1_10)s::VARCHAR))) THEN -13 WHEN (anon_1.predicted IS NULL) THEN -7 WHEN (anon_1.predicted IN (%(predicted_2_1)s::VARCHAR, %(predicted_2_2)s::VARCHAR, %(predicted_2_3)s::VARCHAR, %(predicted_2_4)s::VARCHAR, %(predicted_2_5)s::VARCHAR)) THEN CASE WHEN (anon_1.score IS NULL) THEN -8 ELSE CASE WHEN (anon_1.score < %(param_1)s) THEN 0 ELSE 1 END END ELSE CASE WHEN (anon_1.score IS NULL) THEN -8 ELSE CASE WHEN (anon_1.score < %(param_2)s) THEN 2 ELSE 3 END END END AS bucket, md5(%(param_3)s::VARCHAR || anon_1.id) collate "C" AS h, anon_1.id, anon_1.score, anon_1.segment_0
FROM (SELECT cast(mails.scored."mail id" as text) collate "C" AS id, mails.scored.scored_at AS t, cast(mails.scored.score as double precision) AS score, nullif(nullif(trim(cast(mails.scored."order" as text) collate "C"), %(nullif_1)s::VARCHAR), %(nullif_2)s::VARCHAR) AS predicted, nullif(cast(mails.scored.version as text) collate "C", %(nullif_3)s::VARCHAR) AS version, coalesce(substr(nullif(trim(cast(mails.scored.country as text) collate "C"), %(nullif_4)s::VARCHAR), 1, 100), %(param_4)s::VARCHAR) AS segment_0
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate "C" IN (%(param_5_1)s::VARCHAR, %(param_5_2)s::VARCHAR, %(param_5_3)s::VARCHAR, %(param_5_4)s::VARCHAR) AND mails.scored.scored_at >= %(param_6)s::TIMESTAMP WITH TIME ZONE AND mails.scored.scored_at < %(param_7)s::TIMESTAMP WITH TIME ZONE) AS anon_1
WHERE md5(%(param_3)s::VARCHAR || anon_1.id) collate "C" < CASE WHEN (anon_1.id IS NULL OR length(anon_1.id) = 0) THEN '' WHEN (anon_1.version IS NULL) THEN '' WHEN anon_1.score = 'NaN'::float8 THEN '' WHEN anon_1.score in ('Infinity'::float8, '-Infinity'::float8) THEN '' WHEN ((anon_1.predicted NOT IN (%(predicted_3_1)s::VARCHAR, %(predicted_3_2)s::VARCHAR, %(predicted_3_3)s::VARCHAR, %(predicted_3_4)s::VARCHAR, %(predicted_3_5)s::VARCHAR, %(predicted_3_6)s::VARCHAR, %(predicted_3_7)s::VARCHAR, %(predicted_3_8)s::VARCHAR, %(predicted_3_9)s::VARCHAR, %(predicted_3_10)s::VARCHAR))) THEN '' WHEN (anon_1.predicted IS NULL) THEN '' WHEN (anon_1.predicted IN (%(predicted_4_1)s::VARCHAR, %(predicted_4_2)s::VARCHAR, %(predicted_4_3)s::VARCHAR, %(predicted_4_4)s::VARCHAR, %(predicted_4_5)s::VARCHAR)) THEN CASE WHEN (anon_1.score IS NULL) THEN '' ELSE CASE WHEN (anon_1.score < %(param_8)s) THEN 'g' ELSE '00aabbccddee' END END ELSE CASE WHEN (anon_1.score IS NULL) THEN '' ELSE CASE WHEN (anon_1.score < %(param_9)s) THEN '0123456789ab' ELSE '000fffffffff' END END END AND anon_1.version = %(version_1)s::VARCHAR;

-- rows of the window
SELECT count(*) AS count_1
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate "C" IN (%(param_1_1)s::VARCHAR, %(param_1_2)s::VARCHAR, %(param_1_3)s::VARCHAR, %(param_1_4)s::VARCHAR) AND mails.scored.scored_at >= %(param_2)s::TIMESTAMP WITH TIME ZONE AND mails.scored.scored_at < %(param_3)s::TIMESTAMP WITH TIME ZONE;

-- rows without a time
SELECT -3, count(*) AS count_1, NULL AS anon_1
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate "C" IN (%(param_1_1)s::VARCHAR, %(param_1_2)s::VARCHAR, %(param_1_3)s::VARCHAR, %(param_1_4)s::VARCHAR) AND mails.scored.scored_at IS NULL;

-- rows with a time
SELECT count(*) AS count_1
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate "C" IN (%(param_1_1)s::VARCHAR, %(param_1_2)s::VARCHAR, %(param_1_3)s::VARCHAR, %(param_1_4)s::VARCHAR) AND mails.scored.scored_at IS NOT NULL;

-- a time without a zone
SELECT cast(mails.scored.scored_at as text) collate "C" AS anon_1
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate "C" IN (%(param_1_1)s::VARCHAR, %(param_1_2)s::VARCHAR, %(param_1_3)s::VARCHAR, %(param_1_4)s::VARCHAR) AND mails.scored.scored_at IS NOT NULL
 LIMIT %(param_2)s::INTEGER;

-- values that the config does not name
SELECT anon_1.value, count(*) AS rows_of_it
FROM (SELECT substr(anon_2.predicted, 1, 100) AS value
FROM (SELECT cast(mails.scored."mail id" as text) collate "C" AS id, mails.scored.scored_at AS t, cast(mails.scored.score as double precision) AS score, nullif(nullif(trim(cast(mails.scored."order" as text) collate "C"), %(nullif_1)s::VARCHAR), %(nullif_2)s::VARCHAR) AS predicted, nullif(cast(mails.scored.version as text) collate "C", %(nullif_3)s::VARCHAR) AS version, coalesce(substr(nullif(trim(cast(mails.scored.country as text) collate "C"), %(nullif_4)s::VARCHAR), 1, 100), %(param_1)s::VARCHAR) AS segment_0
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate "C" IN (%(param_2_1)s::VARCHAR, %(param_2_2)s::VARCHAR, %(param_2_3)s::VARCHAR, %(param_2_4)s::VARCHAR) AND mails.scored.scored_at >= %(param_3)s::TIMESTAMP WITH TIME ZONE AND mails.scored.scored_at < %(param_4)s::TIMESTAMP WITH TIME ZONE) AS anon_2
WHERE (anon_2.predicted NOT IN (%(predicted_1_1)s::VARCHAR, %(predicted_1_2)s::VARCHAR, %(predicted_1_3)s::VARCHAR, %(predicted_1_4)s::VARCHAR, %(predicted_1_5)s::VARCHAR, %(predicted_1_6)s::VARCHAR, %(predicted_1_7)s::VARCHAR, %(predicted_1_8)s::VARCHAR, %(predicted_1_9)s::VARCHAR, %(predicted_1_10)s::VARCHAR))) AS anon_1 GROUP BY anon_1.value ORDER BY rows_of_it DESC, anon_1.value
 LIMIT %(param_5)s::INTEGER;

-- span
SELECT min(mails.scored.scored_at) AS min_1, max(mails.scored.scored_at) AS max_1
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate "C" IN (%(param_1_1)s::VARCHAR, %(param_1_2)s::VARCHAR, %(param_1_3)s::VARCHAR, %(param_1_4)s::VARCHAR) AND mails.scored.scored_at BETWEEN %(param_2)s::TIMESTAMP WITH TIME ZONE AND %(param_3)s::TIMESTAMP WITH TIME ZONE;

-- what people see
SELECT cast(mails.scored."mail id" as text) collate "C" AS anon_1, cast(mails.scored.text as text) collate "C" AS anon_2, SUBSTRING(mails.scored.face FROM %(substring_2)s::INTEGER FOR %(substring_3)s::INTEGER) AS substring_1
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate "C" IN (%(param_1_1)s::VARCHAR, %(param_1_2)s::VARCHAR, %(param_1_3)s::VARCHAR, %(param_1_4)s::VARCHAR) AND mails.scored.scored_at >= %(param_2)s::TIMESTAMP WITH TIME ZONE AND mails.scored.scored_at < %(param_3)s::TIMESTAMP WITH TIME ZONE AND mails.scored."mail id" IN (%(mail_id_1_1)s::VARCHAR, %(mail_id_1_2)s::VARCHAR);

-- truth of some ids
SELECT anon_1.id, anon_1.value, max(anon_1.t) AS max_1
FROM (SELECT cast(mails.scored."mail id" as text) collate "C" AS id, nullif(trim(cast(mails.scored."order" as text) collate "C"), %(nullif_1)s::VARCHAR) AS value, CASE WHEN (mails.scored.scored_at BETWEEN %(param_1)s::TIMESTAMP WITH TIME ZONE AND %(param_2)s::TIMESTAMP WITH TIME ZONE) THEN mails.scored.scored_at END AS t
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate "C" IN (%(param_3_1)s::VARCHAR, %(param_3_2)s::VARCHAR, %(param_3_3)s::VARCHAR, %(param_3_4)s::VARCHAR) AND mails.scored."mail id" IN (%(mail_id_1_1)s::VARCHAR, %(mail_id_1_2)s::VARCHAR)) AS anon_1
WHERE anon_1.value IS NOT NULL GROUP BY anon_1.id, anon_1.value;

-- values of the truth
SELECT anon_1.value, count(*) AS count_1
FROM (SELECT nullif(trim(cast(mails.scored."order" as text) collate "C"), %(nullif_1)s::VARCHAR) AS value
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate "C" IN (%(param_1_1)s::VARCHAR, %(param_1_2)s::VARCHAR, %(param_1_3)s::VARCHAR, %(param_1_4)s::VARCHAR)) AS anon_1
WHERE anon_1.value IS NOT NULL GROUP BY anon_1.value;

-- first ids
SELECT DISTINCT anon_1.id
FROM (SELECT cast(mails.scored."mail id" as text) collate "C" AS id
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate "C" IN (%(param_1_1)s::VARCHAR, %(param_1_2)s::VARCHAR, %(param_1_3)s::VARCHAR, %(param_1_4)s::VARCHAR)) AS anon_1
WHERE coalesce(anon_1.id, %(coalesce_1)s::VARCHAR) != %(coalesce_2)s::VARCHAR ORDER BY anon_1.id
 LIMIT %(param_2)s::INTEGER;
