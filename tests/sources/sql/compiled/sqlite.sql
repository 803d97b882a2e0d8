-- sqlite. Run by the tests.
pragma query_only = on;
begin;

-- counts of the window
SELECT anon_1.bucket, anon_1.version, count(*) AS count_1, max(anon_1.t) AS max_1, min(CASE WHEN (anon_1.bucket = -11) THEN anon_1.score_text END) AS min_1
FROM (SELECT anon_2.id AS id, anon_2.t AS t, anon_2.score AS score, anon_2.predicted AS predicted, anon_2.version AS version, anon_2.score_text AS score_text, anon_2.segment_0 AS segment_0, CASE WHEN (anon_2.id IS NULL OR length(anon_2.id) = 0) THEN -5 WHEN (anon_2.version IS NULL) THEN -6 WHEN (anon_2.score IS NULL AND anon_2.score_text IS NOT NULL) THEN -11 WHEN anon_2.score in (9e999, -9e999) THEN -10 WHEN ((anon_2.predicted NOT IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?))) THEN -13 WHEN (anon_2.predicted IS NULL) THEN -7 WHEN (anon_2.predicted IN (?, ?, ?, ?, ?, ?, ?)) THEN CASE WHEN (anon_2.score IS NULL) THEN -8 ELSE CASE WHEN (anon_2.score < ?) THEN 0 ELSE 1 END END ELSE CASE WHEN (anon_2.score IS NULL) THEN -8 ELSE CASE WHEN (anon_2.score < ?) THEN 2 ELSE 3 END END END AS bucket
FROM (SELECT case when instr(cast(mails.scored."mail id" as text) collate binary, char(0)) > 0 then monitor_visible(cast(mails.scored."mail id" as text) collate binary) else cast(mails.scored."mail id" as text) collate binary end AS id, monitor_time(mails.scored.scored_at) AS t, case when typeof(mails.scored.score) in ('real', 'integer') then cast(mails.scored.score as real) end AS score, nullif(nullif(trim(cast(mails.scored."order" as text) collate binary), ?), ?) AS predicted, nullif(cast(mails.scored.version as text) collate binary, ?) AS version, cast(mails.scored.score as text) collate binary AS score_text, coalesce(substr(nullif(trim(cast(mails.scored.country as text) collate binary), ?), 1, 100), ?) AS segment_0
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate binary IN (?, ?, ?, ?) AND monitor_time(mails.scored.scored_at) BETWEEN ? AND ?) AS anon_2) AS anon_1 GROUP BY anon_1.bucket, anon_1.version;

-- counts by segment
SELECT anon_1.bucket, anon_1.segment_0, count(*) AS count_1
FROM (SELECT anon_2.id AS id, anon_2.t AS t, anon_2.score AS score, anon_2.predicted AS predicted, anon_2.version AS version, anon_2.score_text AS score_text, anon_2.segment_0 AS segment_0, CASE WHEN (anon_2.id IS NULL OR length(anon_2.id) = 0) THEN -5 WHEN (anon_2.version IS NULL) THEN -6 WHEN (anon_2.score IS NULL AND anon_2.score_text IS NOT NULL) THEN -11 WHEN anon_2.score in (9e999, -9e999) THEN -10 WHEN ((anon_2.predicted NOT IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?))) THEN -13 WHEN (anon_2.predicted IS NULL) THEN -7 WHEN (anon_2.predicted IN (?, ?, ?, ?, ?, ?, ?)) THEN CASE WHEN (anon_2.score IS NULL) THEN -8 ELSE CASE WHEN (anon_2.score < ?) THEN 0 ELSE 1 END END ELSE CASE WHEN (anon_2.score IS NULL) THEN -8 ELSE CASE WHEN (anon_2.score < ?) THEN 2 ELSE 3 END END END AS bucket
FROM (SELECT case when instr(cast(mails.scored."mail id" as text) collate binary, char(0)) > 0 then monitor_visible(cast(mails.scored."mail id" as text) collate binary) else cast(mails.scored."mail id" as text) collate binary end AS id, monitor_time(mails.scored.scored_at) AS t, case when typeof(mails.scored.score) in ('real', 'integer') then cast(mails.scored.score as real) end AS score, nullif(nullif(trim(cast(mails.scored."order" as text) collate binary), ?), ?) AS predicted, nullif(cast(mails.scored.version as text) collate binary, ?) AS version, cast(mails.scored.score as text) collate binary AS score_text, coalesce(substr(nullif(trim(cast(mails.scored.country as text) collate binary), ?), 1, 100), ?) AS segment_0
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate binary IN (?, ?, ?, ?) AND monitor_time(mails.scored.scored_at) BETWEEN ? AND ?) AS anon_2) AS anon_1
WHERE anon_1.bucket >= 0 AND anon_1.version = ? GROUP BY anon_1.bucket, anon_1.segment_0;

-- draw
SELECT CASE WHEN (anon_1.id IS NULL OR length(anon_1.id) = 0) THEN -5 WHEN (anon_1.version IS NULL) THEN -6 WHEN (anon_1.score IS NULL AND anon_1.score_text IS NOT NULL) THEN -11 WHEN anon_1.score in (9e999, -9e999) THEN -10 WHEN ((anon_1.predicted NOT IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?))) THEN -13 WHEN (anon_1.predicted IS NULL) THEN -7 WHEN (anon_1.predicted IN (?, ?, ?, ?, ?, ?, ?)) THEN CASE WHEN (anon_1.score IS NULL) THEN -8 ELSE CASE WHEN (anon_1.score < ?) THEN 0 ELSE 1 END END ELSE CASE WHEN (anon_1.score IS NULL) THEN -8 ELSE CASE WHEN (anon_1.score < ?) THEN 2 ELSE 3 END END END AS bucket, monitor_md5(? || anon_1.id) AS h, anon_1.id, anon_1.score, anon_1.segment_0
FROM (SELECT case when instr(cast(mails.scored."mail id" as text) collate binary, char(0)) > 0 then monitor_visible(cast(mails.scored."mail id" as text) collate binary) else cast(mails.scored."mail id" as text) collate binary end AS id, monitor_time(mails.scored.scored_at) AS t, case when typeof(mails.scored.score) in ('real', 'integer') then cast(mails.scored.score as real) end AS score, nullif(nullif(trim(cast(mails.scored."order" as text) collate binary), ?), ?) AS predicted, nullif(cast(mails.scored.version as text) collate binary, ?) AS version, cast(mails.scored.score as text) collate binary AS score_text, coalesce(substr(nullif(trim(cast(mails.scored.country as text) collate binary), ?), 1, 100), ?) AS segment_0
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate binary IN (?, ?, ?, ?) AND monitor_time(mails.scored.scored_at) BETWEEN ? AND ?) AS anon_1
WHERE monitor_md5(? || anon_1.id) < CASE WHEN (anon_1.id IS NULL OR length(anon_1.id) = 0) THEN '' WHEN (anon_1.version IS NULL) THEN '' WHEN (anon_1.score IS NULL AND anon_1.score_text IS NOT NULL) THEN '' WHEN anon_1.score in (9e999, -9e999) THEN '' WHEN ((anon_1.predicted NOT IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?))) THEN '' WHEN (anon_1.predicted IS NULL) THEN '' WHEN (anon_1.predicted IN (?, ?, ?, ?, ?, ?, ?)) THEN CASE WHEN (anon_1.score IS NULL) THEN '' ELSE CASE WHEN (anon_1.score < ?) THEN 'g' ELSE '00aabbccddee' END END ELSE CASE WHEN (anon_1.score IS NULL) THEN '' ELSE CASE WHEN (anon_1.score < ?) THEN '0123456789ab' ELSE '000fffffffff' END END END AND anon_1.version = ?;

-- rows of the window
SELECT count(*) AS count_1
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate binary IN (?, ?, ?, ?) AND monitor_time(mails.scored.scored_at) BETWEEN ? AND ?;

-- rows without a time
SELECT anon_1.bucket, count(*) AS count_1, min(anon_1.text) AS min_1
FROM (SELECT CASE WHEN (coalesce(trim(cast(mails.scored.scored_at as text) collate binary), ?) = ?) THEN -3 WHEN (monitor_naive(mails.scored.scored_at) = 1) THEN -2 ELSE -4 END AS bucket, cast(mails.scored.scored_at as text) collate binary AS text
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate binary IN (?, ?, ?, ?) AND monitor_time(mails.scored.scored_at) IS NULL) AS anon_1 GROUP BY anon_1.bucket;

-- rows with a time
SELECT count(*) AS count_1
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate binary IN (?, ?, ?, ?) AND monitor_time(mails.scored.scored_at) IS NOT NULL;

-- a time without a zone
SELECT cast(mails.scored.scored_at as text) collate binary AS anon_1
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate binary IN (?, ?, ?, ?) AND monitor_naive(mails.scored.scored_at) = 1
 LIMIT ? OFFSET ?;

-- values that the config does not name
SELECT anon_1.value, count(*) AS rows_of_it
FROM (SELECT substr(anon_2.predicted, 1, 100) AS value
FROM (SELECT case when instr(cast(mails.scored."mail id" as text) collate binary, char(0)) > 0 then monitor_visible(cast(mails.scored."mail id" as text) collate binary) else cast(mails.scored."mail id" as text) collate binary end AS id, monitor_time(mails.scored.scored_at) AS t, case when typeof(mails.scored.score) in ('real', 'integer') then cast(mails.scored.score as real) end AS score, nullif(nullif(trim(cast(mails.scored."order" as text) collate binary), ?), ?) AS predicted, nullif(cast(mails.scored.version as text) collate binary, ?) AS version, cast(mails.scored.score as text) collate binary AS score_text, coalesce(substr(nullif(trim(cast(mails.scored.country as text) collate binary), ?), 1, 100), ?) AS segment_0
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate binary IN (?, ?, ?, ?) AND monitor_time(mails.scored.scored_at) BETWEEN ? AND ?) AS anon_2
WHERE (anon_2.predicted NOT IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?))) AS anon_1 GROUP BY anon_1.value ORDER BY rows_of_it DESC, anon_1.value
 LIMIT ? OFFSET ?;

-- span
SELECT min(monitor_time(mails.scored.scored_at)) AS min_1, max(monitor_time(mails.scored.scored_at)) AS max_1
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate binary IN (?, ?, ?, ?);

-- what people see
SELECT case when instr(cast(mails.scored."mail id" as text) collate binary, char(0)) > 0 then monitor_visible(cast(mails.scored."mail id" as text) collate binary) else cast(mails.scored."mail id" as text) collate binary end AS anon_1, cast(mails.scored.text as text) collate binary AS anon_2, substr(mails.scored.face, ?, ?) AS substr_1
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate binary IN (?, ?, ?, ?) AND monitor_time(mails.scored.scored_at) BETWEEN ? AND ? AND mails.scored."mail id" IN (?, ?);

-- truth of some ids
SELECT anon_1.id, anon_1.value, max(anon_1.t) AS max_1
FROM (SELECT case when instr(cast(mails.scored."mail id" as text) collate binary, char(0)) > 0 then monitor_visible(cast(mails.scored."mail id" as text) collate binary) else cast(mails.scored."mail id" as text) collate binary end AS id, nullif(trim(cast(mails.scored."order" as text) collate binary), ?) AS value, CASE WHEN 1 THEN monitor_time(mails.scored.scored_at) END AS t
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate binary IN (?, ?, ?, ?) AND mails.scored."mail id" IN (?, ?)) AS anon_1
WHERE anon_1.value IS NOT NULL GROUP BY anon_1.id, anon_1.value;

-- values of the truth
SELECT anon_1.value, count(*) AS count_1
FROM (SELECT nullif(trim(cast(mails.scored."order" as text) collate binary), ?) AS value
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate binary IN (?, ?, ?, ?)) AS anon_1
WHERE anon_1.value IS NOT NULL GROUP BY anon_1.value;

-- first ids
SELECT DISTINCT anon_1.id
FROM (SELECT case when instr(cast(mails.scored."mail id" as text) collate binary, char(0)) > 0 then monitor_visible(cast(mails.scored."mail id" as text) collate binary) else cast(mails.scored."mail id" as text) collate binary end AS id
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate binary IN (?, ?, ?, ?)) AS anon_1
WHERE coalesce(anon_1.id, ?) != ? ORDER BY anon_1.id
 LIMIT ? OFFSET ?;

-- counts for two monitors
SELECT anon_1.k, anon_1.bucket, anon_1.version, count(*) AS count_1, max(CASE WHEN (anon_1.k = 0) THEN anon_1.t END) AS max_1
FROM (SELECT anon_2.k AS k, anon_2.t AS t, anon_2.version AS version, anon_2.segment_0 AS segment_0, CASE WHEN (anon_2.k < 1) THEN CASE WHEN (anon_2.id IS NULL OR length(anon_2.id) = 0) THEN -5 WHEN (anon_2.version IS NULL) THEN -6 WHEN (anon_2.score_0 IS NULL AND anon_2.score_text_0 IS NOT NULL) THEN -11 WHEN anon_2.score_0 in (9e999, -9e999) THEN -10 WHEN ((anon_2.predicted_0 NOT IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?))) THEN -13 WHEN (anon_2.predicted_0 IS NULL) THEN -7 WHEN (anon_2.predicted_0 IN (?, ?, ?, ?, ?, ?, ?)) THEN CASE WHEN (anon_2.score_0 IS NULL) THEN -8 ELSE CASE WHEN (anon_2.score_0 < ?) THEN 0 ELSE 1 END END ELSE CASE WHEN (anon_2.score_0 IS NULL) THEN -8 ELSE CASE WHEN (anon_2.score_0 < ?) THEN 2 ELSE 3 END END END ELSE CASE WHEN (anon_2.id IS NULL OR length(anon_2.id) = 0) THEN -5 WHEN (anon_2.version IS NULL) THEN -6 WHEN (anon_2.score_1 IS NULL AND anon_2.score_text_1 IS NOT NULL) THEN -11 WHEN anon_2.score_1 in (9e999, -9e999) THEN -10 WHEN ((anon_2.predicted_1 NOT IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?))) THEN -13 WHEN (anon_2.predicted_1 IS NULL) THEN -7 WHEN (anon_2.predicted_1 IN (?, ?, ?, ?, ?, ?, ?)) THEN CASE WHEN (anon_2.score_1 IS NULL) THEN 0 ELSE 0 END ELSE CASE WHEN (anon_2.score_1 IS NULL) THEN 1 ELSE 1 END END END AS bucket
FROM (SELECT anon_3.id AS id, anon_3.t AS t, anon_3.version AS version, anon_3.segment_0 AS segment_0, anon_3.score_0 AS score_0, anon_3.predicted_0 AS predicted_0, anon_3.score_text_0 AS score_text_0, anon_3.score_1 AS score_1, anon_3.predicted_1 AS predicted_1, anon_3.score_text_1 AS score_text_1, anon_4.k AS k
FROM (SELECT case when instr(cast(mails.scored."mail id" as text) collate binary, char(0)) > 0 then monitor_visible(cast(mails.scored."mail id" as text) collate binary) else cast(mails.scored."mail id" as text) collate binary end AS id, monitor_time(mails.scored.scored_at) AS t, nullif(cast(mails.scored.version as text) collate binary, ?) AS version, coalesce(substr(nullif(trim(cast(mails.scored.country as text) collate binary), ?), 1, 100), ?) AS segment_0, case when typeof(mails.scored.score) in ('real', 'integer') then cast(mails.scored.score as real) end AS score_0, nullif(nullif(trim(cast(mails.scored."order" as text) collate binary), ?), ?) AS predicted_0, cast(mails.scored.score as text) collate binary AS score_text_0, case when typeof(mails.scored.score) in ('real', 'integer') then cast(mails.scored.score as real) end AS score_1, nullif(nullif(trim(cast(mails.scored."order" as text) collate binary), ?), ?) AS predicted_1, cast(mails.scored.score as text) collate binary AS score_text_1
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate binary IN (?, ?, ?, ?) AND monitor_time(mails.scored.scored_at) BETWEEN ? AND ?) AS anon_3 CROSS JOIN (SELECT 0 AS k UNION ALL SELECT 1 AS k) AS anon_4) AS anon_2) AS anon_1 GROUP BY anon_1.k, anon_1.bucket, anon_1.version;

-- counts by segment for two monitors
SELECT anon_1.k, anon_1.bucket, anon_1.segment_0, count(*) AS count_1
FROM (SELECT anon_2.k AS k, anon_2.t AS t, anon_2.version AS version, anon_2.segment_0 AS segment_0, CASE WHEN (anon_2.k < 1) THEN CASE WHEN (anon_2.id IS NULL OR length(anon_2.id) = 0) THEN -5 WHEN (anon_2.version IS NULL) THEN -6 WHEN (anon_2.score_0 IS NULL AND anon_2.score_text_0 IS NOT NULL) THEN -11 WHEN anon_2.score_0 in (9e999, -9e999) THEN -10 WHEN ((anon_2.predicted_0 NOT IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?))) THEN -13 WHEN (anon_2.predicted_0 IS NULL) THEN -7 WHEN (anon_2.predicted_0 IN (?, ?, ?, ?, ?, ?, ?)) THEN CASE WHEN (anon_2.score_0 IS NULL) THEN -8 ELSE CASE WHEN (anon_2.score_0 < ?) THEN 0 ELSE 1 END END ELSE CASE WHEN (anon_2.score_0 IS NULL) THEN -8 ELSE CASE WHEN (anon_2.score_0 < ?) THEN 2 ELSE 3 END END END ELSE CASE WHEN (anon_2.id IS NULL OR length(anon_2.id) = 0) THEN -5 WHEN (anon_2.version IS NULL) THEN -6 WHEN (anon_2.score_1 IS NULL AND anon_2.score_text_1 IS NOT NULL) THEN -11 WHEN anon_2.score_1 in (9e999, -9e999) THEN -10 WHEN ((anon_2.predicted_1 NOT IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?))) THEN -13 WHEN (anon_2.predicted_1 IS NULL) THEN -7 WHEN (anon_2.predicted_1 IN (?, ?, ?, ?, ?, ?, ?)) THEN CASE WHEN (anon_2.score_1 IS NULL) THEN 0 ELSE 0 END ELSE CASE WHEN (anon_2.score_1 IS NULL) THEN 1 ELSE 1 END END END AS bucket
FROM (SELECT anon_3.id AS id, anon_3.t AS t, anon_3.version AS version, anon_3.segment_0 AS segment_0, anon_3.score_0 AS score_0, anon_3.predicted_0 AS predicted_0, anon_3.score_text_0 AS score_text_0, anon_3.score_1 AS score_1, anon_3.predicted_1 AS predicted_1, anon_3.score_text_1 AS score_text_1, anon_4.k AS k
FROM (SELECT case when instr(cast(mails.scored."mail id" as text) collate binary, char(0)) > 0 then monitor_visible(cast(mails.scored."mail id" as text) collate binary) else cast(mails.scored."mail id" as text) collate binary end AS id, monitor_time(mails.scored.scored_at) AS t, nullif(cast(mails.scored.version as text) collate binary, ?) AS version, coalesce(substr(nullif(trim(cast(mails.scored.country as text) collate binary), ?), 1, 100), ?) AS segment_0, case when typeof(mails.scored.score) in ('real', 'integer') then cast(mails.scored.score as real) end AS score_0, nullif(nullif(trim(cast(mails.scored."order" as text) collate binary), ?), ?) AS predicted_0, cast(mails.scored.score as text) collate binary AS score_text_0, case when typeof(mails.scored.score) in ('real', 'integer') then cast(mails.scored.score as real) end AS score_1, nullif(nullif(trim(cast(mails.scored."order" as text) collate binary), ?), ?) AS predicted_1, cast(mails.scored.score as text) collate binary AS score_text_1
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate binary IN (?, ?, ?, ?) AND monitor_time(mails.scored.scored_at) BETWEEN ? AND ?) AS anon_3 CROSS JOIN (SELECT 0 AS k UNION ALL SELECT 1 AS k) AS anon_4) AS anon_2) AS anon_1
WHERE anon_1.bucket >= 0 AND anon_1.version = ? GROUP BY anon_1.k, anon_1.bucket, anon_1.segment_0;

-- draw for two monitors
SELECT monitor_md5(? || anon_1.id) AS h, anon_1.id, anon_1.segment_0, CASE WHEN (anon_1.id IS NULL OR length(anon_1.id) = 0) THEN -5 WHEN (anon_1.version IS NULL) THEN -6 WHEN (anon_1.score_0 IS NULL AND anon_1.score_text_0 IS NOT NULL) THEN -11 WHEN anon_1.score_0 in (9e999, -9e999) THEN -10 WHEN ((anon_1.predicted_0 NOT IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?))) THEN -13 WHEN (anon_1.predicted_0 IS NULL) THEN -7 WHEN (anon_1.predicted_0 IN (?, ?, ?, ?, ?, ?, ?)) THEN CASE WHEN (anon_1.score_0 IS NULL) THEN -8 ELSE CASE WHEN (anon_1.score_0 < ?) THEN 0 ELSE 1 END END ELSE CASE WHEN (anon_1.score_0 IS NULL) THEN -8 ELSE CASE WHEN (anon_1.score_0 < ?) THEN 2 ELSE 3 END END END AS bucket_0, CASE WHEN (anon_1.id IS NULL OR length(anon_1.id) = 0) THEN -5 WHEN (anon_1.version IS NULL) THEN -6 WHEN (anon_1.score_1 IS NULL AND anon_1.score_text_1 IS NOT NULL) THEN -11 WHEN anon_1.score_1 in (9e999, -9e999) THEN -10 WHEN ((anon_1.predicted_1 NOT IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?))) THEN -13 WHEN (anon_1.predicted_1 IS NULL) THEN -7 WHEN (anon_1.predicted_1 IN (?, ?, ?, ?, ?, ?, ?)) THEN CASE WHEN (anon_1.score_1 IS NULL) THEN 0 ELSE 0 END ELSE CASE WHEN (anon_1.score_1 IS NULL) THEN 1 ELSE 1 END END AS bucket_1, anon_1.score_0, anon_1.score_1
FROM (SELECT case when instr(cast(mails.scored."mail id" as text) collate binary, char(0)) > 0 then monitor_visible(cast(mails.scored."mail id" as text) collate binary) else cast(mails.scored."mail id" as text) collate binary end AS id, monitor_time(mails.scored.scored_at) AS t, nullif(cast(mails.scored.version as text) collate binary, ?) AS version, coalesce(substr(nullif(trim(cast(mails.scored.country as text) collate binary), ?), 1, 100), ?) AS segment_0, case when typeof(mails.scored.score) in ('real', 'integer') then cast(mails.scored.score as real) end AS score_0, nullif(nullif(trim(cast(mails.scored."order" as text) collate binary), ?), ?) AS predicted_0, cast(mails.scored.score as text) collate binary AS score_text_0, case when typeof(mails.scored.score) in ('real', 'integer') then cast(mails.scored.score as real) end AS score_1, nullif(nullif(trim(cast(mails.scored."order" as text) collate binary), ?), ?) AS predicted_1, cast(mails.scored.score as text) collate binary AS score_text_1
FROM mails.scored
WHERE cast(mails.scored.tenant as text) collate binary IN (?, ?, ?, ?) AND monitor_time(mails.scored.scored_at) BETWEEN ? AND ?) AS anon_1
WHERE monitor_md5(? || anon_1.id) < max(CASE WHEN (anon_1.id IS NULL OR length(anon_1.id) = 0) THEN '' WHEN (anon_1.version IS NULL) THEN '' WHEN (anon_1.score_0 IS NULL AND anon_1.score_text_0 IS NOT NULL) THEN '' WHEN anon_1.score_0 in (9e999, -9e999) THEN '' WHEN ((anon_1.predicted_0 NOT IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?))) THEN '' WHEN (anon_1.predicted_0 IS NULL) THEN '' WHEN (anon_1.predicted_0 IN (?, ?, ?, ?, ?, ?, ?)) THEN CASE WHEN (anon_1.score_0 IS NULL) THEN '' ELSE CASE WHEN (anon_1.score_0 < ?) THEN 'g' ELSE '00aabbccddee' END END ELSE CASE WHEN (anon_1.score_0 IS NULL) THEN '' ELSE CASE WHEN (anon_1.score_0 < ?) THEN '0123456789ab' ELSE '000fffffffff' END END END, CASE WHEN (anon_1.id IS NULL OR length(anon_1.id) = 0) THEN '' WHEN (anon_1.version IS NULL) THEN '' WHEN (anon_1.score_1 IS NULL AND anon_1.score_text_1 IS NOT NULL) THEN '' WHEN anon_1.score_1 in (9e999, -9e999) THEN '' WHEN ((anon_1.predicted_1 NOT IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?))) THEN '' WHEN (anon_1.predicted_1 IS NULL) THEN '' WHEN (anon_1.predicted_1 IN (?, ?, ?, ?, ?, ?, ?)) THEN CASE WHEN (anon_1.score_1 IS NULL) THEN 'g' ELSE 'g' END ELSE CASE WHEN (anon_1.score_1 IS NULL) THEN '00aabbccddee' ELSE '00aabbccddee' END END) AND anon_1.version = ?;
