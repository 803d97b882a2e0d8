-- mssql. Compiled, not run.
set transaction isolation level snapshot;

-- counts of the window
SELECT anon_1.k, anon_1.bucket, anon_1.version, count(*) AS count_1, max(anon_1.t) AS max_1, NULL AS anon_2
FROM (SELECT anon_3.k AS k, anon_3.t AS t, anon_3.version AS version, anon_3.segment_0 AS segment_0, CASE WHEN (anon_3.id IS NULL OR datalength(anon_3.id) = 0) THEN -5 WHEN (anon_3.version IS NULL) THEN -6 WHEN ((anon_3.predicted_0 NOT IN (:predicted_0_1_1, :predicted_0_1_2, :predicted_0_1_3, :predicted_0_1_4, :predicted_0_1_5, :predicted_0_1_6, :predicted_0_1_7, :predicted_0_1_8, :predicted_0_1_9, :predicted_0_1_10, :predicted_0_1_11, :predicted_0_1_12))) THEN -13 WHEN (anon_3.predicted_0 IS NULL) THEN -7 WHEN (anon_3.predicted_0 IN (:predicted_0_2_1, :predicted_0_2_2, :predicted_0_2_3, :predicted_0_2_4, :predicted_0_2_5, :predicted_0_2_6, :predicted_0_2_7)) THEN CASE WHEN (anon_3.score_0 IS NULL) THEN -8 ELSE CASE WHEN (anon_3.score_0 < :param_1) THEN 0 ELSE 1 END END ELSE CASE WHEN (anon_3.score_0 IS NULL) THEN -8 ELSE CASE WHEN (anon_3.score_0 < :param_2) THEN 2 ELSE 3 END END END AS bucket
FROM (SELECT anon_4.id AS id, anon_4.t AS t, anon_4.version AS version, anon_4.segment_0 AS segment_0, anon_4.score_0 AS score_0, anon_4.predicted_0 AS predicted_0, 0 AS k
FROM (SELECT cast(cast(mails.scored.[mail id] as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) AS id, mails.scored.scored_at AS t, nullif(trim(cast(cast(mails.scored.version as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000))), :nullif_1) AS version, coalesce(left(nullif(trim(cast(cast(mails.scored.country as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000))), :nullif_2), 100), :param_3) AS segment_0, cast(mails.scored.score as float) AS score_0, nullif(nullif(trim(cast(cast(mails.scored.[order] as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000))), :nullif_3), :nullif_4) AS predicted_0
FROM mails.scored
WHERE cast(cast(mails.scored.tenant as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) IN (:param_4_1, :param_4_2, :param_4_3, :param_4_4) AND mails.scored.scored_at >= :param_5 AND mails.scored.scored_at < :param_6) AS anon_4) AS anon_3) AS anon_1 GROUP BY anon_1.k, anon_1.bucket, anon_1.version;

-- counts by segment
SELECT anon_1.k, anon_1.bucket, anon_1.segment_0, count(*) AS count_1
FROM (SELECT anon_2.k AS k, anon_2.t AS t, anon_2.version AS version, anon_2.segment_0 AS segment_0, CASE WHEN (anon_2.id IS NULL OR datalength(anon_2.id) = 0) THEN -5 WHEN (anon_2.version IS NULL) THEN -6 WHEN ((anon_2.predicted_0 NOT IN (:predicted_0_1_1, :predicted_0_1_2, :predicted_0_1_3, :predicted_0_1_4, :predicted_0_1_5, :predicted_0_1_6, :predicted_0_1_7, :predicted_0_1_8, :predicted_0_1_9, :predicted_0_1_10, :predicted_0_1_11, :predicted_0_1_12))) THEN -13 WHEN (anon_2.predicted_0 IS NULL) THEN -7 WHEN (anon_2.predicted_0 IN (:predicted_0_2_1, :predicted_0_2_2, :predicted_0_2_3, :predicted_0_2_4, :predicted_0_2_5, :predicted_0_2_6, :predicted_0_2_7)) THEN CASE WHEN (anon_2.score_0 IS NULL) THEN -8 ELSE CASE WHEN (anon_2.score_0 < :param_1) THEN 0 ELSE 1 END END ELSE CASE WHEN (anon_2.score_0 IS NULL) THEN -8 ELSE CASE WHEN (anon_2.score_0 < :param_2) THEN 2 ELSE 3 END END END AS bucket
FROM (SELECT anon_3.id AS id, anon_3.t AS t, anon_3.version AS version, anon_3.segment_0 AS segment_0, anon_3.score_0 AS score_0, anon_3.predicted_0 AS predicted_0, 0 AS k
FROM (SELECT cast(cast(mails.scored.[mail id] as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) AS id, mails.scored.scored_at AS t, nullif(trim(cast(cast(mails.scored.version as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000))), :nullif_1) AS version, coalesce(left(nullif(trim(cast(cast(mails.scored.country as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000))), :nullif_2), 100), :param_3) AS segment_0, cast(mails.scored.score as float) AS score_0, nullif(nullif(trim(cast(cast(mails.scored.[order] as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000))), :nullif_3), :nullif_4) AS predicted_0
FROM mails.scored
WHERE cast(cast(mails.scored.tenant as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) IN (:param_4_1, :param_4_2, :param_4_3, :param_4_4) AND mails.scored.scored_at >= :param_5 AND mails.scored.scored_at < :param_6) AS anon_3) AS anon_2) AS anon_1
WHERE anon_1.bucket >= 0 AND anon_1.version = :version_1 GROUP BY anon_1.k, anon_1.bucket, anon_1.segment_0;

-- draw
SELECT lower(convert(varchar(32), hashbytes('MD5', :param_1 + anon_1.id), 2)) AS h, anon_1.id, anon_1.segment_0, CASE WHEN (anon_1.id IS NULL OR datalength(anon_1.id) = 0) THEN -5 WHEN (anon_1.version IS NULL) THEN -6 WHEN ((anon_1.predicted_0 NOT IN (:predicted_0_1_1, :predicted_0_1_2, :predicted_0_1_3, :predicted_0_1_4, :predicted_0_1_5, :predicted_0_1_6, :predicted_0_1_7, :predicted_0_1_8, :predicted_0_1_9, :predicted_0_1_10, :predicted_0_1_11, :predicted_0_1_12))) THEN -13 WHEN (anon_1.predicted_0 IS NULL) THEN -7 WHEN (anon_1.predicted_0 IN (:predicted_0_2_1, :predicted_0_2_2, :predicted_0_2_3, :predicted_0_2_4, :predicted_0_2_5, :predicted_0_2_6, :predicted_0_2_7)) THEN CASE WHEN (anon_1.score_0 IS NULL) THEN -8 ELSE CASE WHEN (anon_1.score_0 < :param_2) THEN 0 ELSE 1 END END ELSE CASE WHEN (anon_1.score_0 IS NULL) THEN -8 ELSE CASE WHEN (anon_1.score_0 < :param_3) THEN 2 ELSE 3 END END END AS bucket_0, anon_1.score_0 AS score_0, NULL AS challenged_0, NULL AS chance_0
FROM (SELECT cast(cast(mails.scored.[mail id] as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) AS id, mails.scored.scored_at AS t, nullif(trim(cast(cast(mails.scored.version as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000))), :nullif_1) AS version, coalesce(left(nullif(trim(cast(cast(mails.scored.country as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000))), :nullif_2), 100), :param_4) AS segment_0, cast(mails.scored.score as float) AS score_0, nullif(nullif(trim(cast(cast(mails.scored.[order] as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000))), :nullif_3), :nullif_4) AS predicted_0
FROM mails.scored
WHERE cast(cast(mails.scored.tenant as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) IN (:param_5_1, :param_5_2, :param_5_3, :param_5_4) AND mails.scored.scored_at >= :param_6 AND mails.scored.scored_at < :param_7) AS anon_1
WHERE lower(convert(varchar(32), hashbytes('MD5', :param_1 + anon_1.id), 2)) < CASE WHEN (anon_1.id IS NULL OR datalength(anon_1.id) = 0) THEN '' WHEN (anon_1.version IS NULL) THEN '' WHEN ((anon_1.predicted_0 NOT IN (:predicted_0_3_1, :predicted_0_3_2, :predicted_0_3_3, :predicted_0_3_4, :predicted_0_3_5, :predicted_0_3_6, :predicted_0_3_7, :predicted_0_3_8, :predicted_0_3_9, :predicted_0_3_10, :predicted_0_3_11, :predicted_0_3_12))) THEN '' WHEN (anon_1.predicted_0 IS NULL) THEN '' WHEN (anon_1.predicted_0 IN (:predicted_0_4_1, :predicted_0_4_2, :predicted_0_4_3, :predicted_0_4_4, :predicted_0_4_5, :predicted_0_4_6, :predicted_0_4_7)) THEN CASE WHEN (anon_1.score_0 IS NULL) THEN '' ELSE CASE WHEN (anon_1.score_0 < :param_8) THEN 'g' ELSE '00aabbccddee' END END ELSE CASE WHEN (anon_1.score_0 IS NULL) THEN '' ELSE CASE WHEN (anon_1.score_0 < :param_9) THEN '0123456789ab' ELSE '000fffffffff' END END END AND anon_1.version = :version_1;

-- rows of the window
SELECT count(*) AS count_1
FROM mails.scored
WHERE cast(cast(mails.scored.tenant as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) IN (:param_1_1, :param_1_2, :param_1_3, :param_1_4) AND mails.scored.scored_at >= :param_2 AND mails.scored.scored_at < :param_3;

-- rows without a time
SELECT -3, count(*) AS count_1, NULL AS anon_1
FROM mails.scored
WHERE cast(cast(mails.scored.tenant as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) IN (:param_1_1, :param_1_2, :param_1_3, :param_1_4) AND mails.scored.scored_at IS NULL;

-- rows with a time
SELECT count(*) AS count_1
FROM mails.scored
WHERE cast(cast(mails.scored.tenant as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) IN (:param_1_1, :param_1_2, :param_1_3, :param_1_4) AND mails.scored.scored_at IS NOT NULL;

-- a time without a zone
SELECT TOP 1 cast(cast(mails.scored.scored_at as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) AS anon_1
FROM mails.scored
WHERE cast(cast(mails.scored.tenant as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) IN (:param_2_1, :param_2_2, :param_2_3, :param_2_4) AND mails.scored.scored_at IS NOT NULL;

-- values that the config does not name
SELECT TOP 20 anon_1.value, count(*) AS rows_of_it
FROM (SELECT left(anon_2.predicted, 100) AS value
FROM (SELECT cast(cast(mails.scored.[mail id] as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) AS id, mails.scored.scored_at AS t, cast(mails.scored.score as float) AS score, nullif(nullif(trim(cast(cast(mails.scored.[order] as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000))), :nullif_1), :nullif_2) AS predicted, nullif(trim(cast(cast(mails.scored.version as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000))), :nullif_3) AS version, coalesce(left(nullif(trim(cast(cast(mails.scored.country as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000))), :nullif_4), 100), :param_2) AS segment_0
FROM mails.scored
WHERE cast(cast(mails.scored.tenant as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) IN (:param_3_1, :param_3_2, :param_3_3, :param_3_4) AND mails.scored.scored_at >= :param_4 AND mails.scored.scored_at < :param_5) AS anon_2
WHERE (anon_2.predicted NOT IN (:predicted_1_1, :predicted_1_2, :predicted_1_3, :predicted_1_4, :predicted_1_5, :predicted_1_6, :predicted_1_7, :predicted_1_8, :predicted_1_9, :predicted_1_10, :predicted_1_11, :predicted_1_12))) AS anon_1 GROUP BY anon_1.value ORDER BY rows_of_it DESC, anon_1.value;

-- span
SELECT min(mails.scored.scored_at) AS min_1, max(mails.scored.scored_at) AS max_1
FROM mails.scored
WHERE cast(cast(mails.scored.tenant as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) IN (:param_1_1, :param_1_2, :param_1_3, :param_1_4) AND mails.scored.scored_at BETWEEN :param_2 AND :param_3;

-- what people see
SELECT cast(cast(mails.scored.[mail id] as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) AS anon_1, cast(cast(mails.scored.text as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) AS anon_2, substring(mails.scored.face, :substring_2, :substring_3) AS substring_1
FROM mails.scored
WHERE cast(cast(mails.scored.tenant as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) IN (:param_1_1, :param_1_2, :param_1_3, :param_1_4) AND mails.scored.scored_at >= :param_2 AND mails.scored.scored_at < :param_3 AND mails.scored.[mail id] IN (:mail_id_1_1, :mail_id_1_2);

-- times of some ids
SELECT anon_1.id, min(anon_1.t) AS min_1
FROM (SELECT cast(cast(mails.scored.[mail id] as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) AS id, mails.scored.scored_at AS t
FROM mails.scored
WHERE cast(cast(mails.scored.tenant as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) IN (:param_1_1, :param_1_2, :param_1_3, :param_1_4) AND mails.scored.scored_at >= :param_2 AND mails.scored.scored_at < :param_3 AND mails.scored.[mail id] IN (:mail_id_1_1, :mail_id_1_2)) AS anon_1 GROUP BY anon_1.id;

-- truth of some ids
SELECT anon_1.id, anon_1.value, max(anon_1.t) AS max_1, NULL AS anon_2
FROM (SELECT cast(cast(mails.scored.[mail id] as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) AS id, coalesce(nullif(trim(cast(cast(mails.scored.[order] as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000))), :nullif_1), :coalesce_1) AS value, CASE WHEN (mails.scored.scored_at BETWEEN :param_1 AND :param_2) THEN mails.scored.scored_at END AS t
FROM mails.scored
WHERE cast(cast(mails.scored.tenant as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) IN (:param_3_1, :param_3_2, :param_3_3, :param_3_4) AND mails.scored.[mail id] IN (:mail_id_1_1, :mail_id_1_2)) AS anon_1
WHERE anon_1.value IS NOT NULL GROUP BY anon_1.id, anon_1.value;

-- values of the truth
SELECT anon_1.value, count(*) AS count_1
FROM (SELECT nullif(trim(cast(cast(mails.scored.[order] as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000))), :nullif_1) AS value
FROM mails.scored
WHERE cast(cast(mails.scored.tenant as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) IN (:param_1_1, :param_1_2, :param_1_3, :param_1_4)) AS anon_1
WHERE anon_1.value IS NOT NULL GROUP BY anon_1.value;

-- first ids
SELECT DISTINCT TOP 3 anon_1.id
FROM (SELECT cast(cast(mails.scored.[mail id] as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) AS id
FROM mails.scored
WHERE cast(cast(mails.scored.tenant as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) IN (:param_2_1, :param_2_2, :param_2_3, :param_2_4)) AS anon_1
WHERE coalesce(anon_1.id, :coalesce_1) != :coalesce_2 ORDER BY anon_1.id;

-- ids with blanks around them
SELECT count(*) AS count_1
FROM (SELECT cast(cast(mails.scored.[mail id] as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) AS id
FROM mails.scored
WHERE cast(cast(mails.scored.tenant as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) IN (:param_1_1, :param_1_2, :param_1_3, :param_1_4) AND mails.scored.scored_at >= :param_2 AND mails.scored.scored_at < :param_3) AS anon_1
WHERE left(anon_1.id, 1) IN (:param_4_1, :param_4_2, :param_4_3, :param_4_4, :param_4_5, :param_4_6, :param_4_7, :param_4_8, :param_4_9, :param_4_10, :param_4_11) OR right(anon_1.id, 1) IN (:param_5_1, :param_5_2, :param_5_3, :param_5_4, :param_5_5, :param_5_6, :param_5_7, :param_5_8, :param_5_9, :param_5_10, :param_5_11);

-- items by what the truth has of them
SELECT anon_1.bucket, count(*) AS count_1, anon_2.value, anon_2.values_of, anon_1.segment_0
FROM (SELECT anon_3.id AS id, anon_3.bucket AS bucket, anon_3.segment_0 AS segment_0, anon_3.id AS [key]
FROM (SELECT anon_4.id AS id, min(anon_4.bucket) AS bucket, min(anon_4.segment_0) AS segment_0
FROM (SELECT anon_5.id AS id, anon_5.t AS t, anon_5.score AS score, anon_5.predicted AS predicted, anon_5.version AS version, anon_5.segment_0 AS segment_0, CASE WHEN (anon_5.id IS NULL OR datalength(anon_5.id) = 0) THEN -5 WHEN (anon_5.version IS NULL) THEN -6 WHEN ((anon_5.predicted NOT IN (:predicted_1_1, :predicted_1_2, :predicted_1_3, :predicted_1_4, :predicted_1_5, :predicted_1_6, :predicted_1_7, :predicted_1_8, :predicted_1_9, :predicted_1_10, :predicted_1_11, :predicted_1_12))) THEN -13 WHEN (anon_5.predicted IS NULL) THEN -7 WHEN (anon_5.predicted IN (:predicted_2_1, :predicted_2_2, :predicted_2_3, :predicted_2_4, :predicted_2_5, :predicted_2_6, :predicted_2_7)) THEN CASE WHEN (anon_5.score IS NULL) THEN -8 ELSE CASE WHEN (anon_5.score < :param_1) THEN 0 ELSE 1 END END ELSE CASE WHEN (anon_5.score IS NULL) THEN -8 ELSE CASE WHEN (anon_5.score < :param_2) THEN 2 ELSE 3 END END END AS bucket
FROM (SELECT cast(cast(mails.scored.[mail id] as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) AS id, mails.scored.scored_at AS t, cast(mails.scored.score as float) AS score, nullif(nullif(trim(cast(cast(mails.scored.[order] as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000))), :nullif_1), :nullif_2) AS predicted, nullif(trim(cast(cast(mails.scored.version as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000))), :nullif_3) AS version, coalesce(left(nullif(trim(cast(cast(mails.scored.country as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000))), :nullif_4), 100), :param_3) AS segment_0
FROM mails.scored
WHERE cast(cast(mails.scored.tenant as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) IN (:param_4_1, :param_4_2, :param_4_3, :param_4_4) AND mails.scored.scored_at >= :param_5 AND mails.scored.scored_at < :param_6) AS anon_5) AS anon_4
WHERE anon_4.bucket >= 0 AND anon_4.version = :version_1 GROUP BY anon_4.id) AS anon_3) AS anon_1 LEFT OUTER JOIN (SELECT anon_6.id AS [key], count(DISTINCT anon_6.value) AS values_of, min(anon_6.value) AS value
FROM (SELECT anon_7.id AS id, anon_7.value AS value, anon_7.max_1 AS known, anon_7.anon_8 AS style
FROM (SELECT anon_9.id AS id, anon_9.value AS value, max(anon_9.t) AS max_1, NULL AS anon_8
FROM (SELECT cast(cast(mails.scored.[mail id] as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) AS id, coalesce(nullif(trim(cast(cast(mails.scored.[order] as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000))), :nullif_5), :coalesce_1) AS value, CASE WHEN (mails.scored.scored_at BETWEEN :param_7 AND :param_8) THEN mails.scored.scored_at END AS t
FROM mails.scored
WHERE cast(cast(mails.scored.tenant as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) IN (:param_9_1, :param_9_2, :param_9_3, :param_9_4)) AS anon_9
WHERE anon_9.value IS NOT NULL GROUP BY anon_9.id, anon_9.value) AS anon_7) AS anon_6
WHERE (anon_6.value NOT IN (:value_1_1)) GROUP BY anon_6.id) AS anon_2 ON anon_2.[key] = anon_1.[key] GROUP BY anon_1.bucket, anon_2.value, anon_2.values_of, anon_1.segment_0;

-- items of which the truth has several values
SELECT anon_1.id, anon_1.bucket, anon_2.value, anon_2.known, anon_2.style, anon_1.segment_0
FROM (SELECT anon_3.id AS id, anon_3.bucket AS bucket, anon_3.segment_0 AS segment_0, anon_3.id AS [key]
FROM (SELECT anon_4.id AS id, min(anon_4.bucket) AS bucket, min(anon_4.segment_0) AS segment_0
FROM (SELECT anon_5.id AS id, anon_5.t AS t, anon_5.score AS score, anon_5.predicted AS predicted, anon_5.version AS version, anon_5.segment_0 AS segment_0, CASE WHEN (anon_5.id IS NULL OR datalength(anon_5.id) = 0) THEN -5 WHEN (anon_5.version IS NULL) THEN -6 WHEN ((anon_5.predicted NOT IN (:predicted_1_1, :predicted_1_2, :predicted_1_3, :predicted_1_4, :predicted_1_5, :predicted_1_6, :predicted_1_7, :predicted_1_8, :predicted_1_9, :predicted_1_10, :predicted_1_11, :predicted_1_12))) THEN -13 WHEN (anon_5.predicted IS NULL) THEN -7 WHEN (anon_5.predicted IN (:predicted_2_1, :predicted_2_2, :predicted_2_3, :predicted_2_4, :predicted_2_5, :predicted_2_6, :predicted_2_7)) THEN CASE WHEN (anon_5.score IS NULL) THEN -8 ELSE CASE WHEN (anon_5.score < :param_1) THEN 0 ELSE 1 END END ELSE CASE WHEN (anon_5.score IS NULL) THEN -8 ELSE CASE WHEN (anon_5.score < :param_2) THEN 2 ELSE 3 END END END AS bucket
FROM (SELECT cast(cast(mails.scored.[mail id] as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) AS id, mails.scored.scored_at AS t, cast(mails.scored.score as float) AS score, nullif(nullif(trim(cast(cast(mails.scored.[order] as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000))), :nullif_1), :nullif_2) AS predicted, nullif(trim(cast(cast(mails.scored.version as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000))), :nullif_3) AS version, coalesce(left(nullif(trim(cast(cast(mails.scored.country as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000))), :nullif_4), 100), :param_3) AS segment_0
FROM mails.scored
WHERE cast(cast(mails.scored.tenant as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) IN (:param_4_1, :param_4_2, :param_4_3, :param_4_4) AND mails.scored.scored_at >= :param_5 AND mails.scored.scored_at < :param_6) AS anon_5) AS anon_4
WHERE anon_4.bucket >= 0 AND anon_4.version = :version_1 GROUP BY anon_4.id) AS anon_3) AS anon_1 JOIN (SELECT anon_2.id AS [key], count(DISTINCT anon_2.value) AS values_of, min(anon_2.value) AS value
FROM (SELECT anon_7.id AS id, anon_7.value AS value, anon_7.max_1 AS known, anon_7.anon_8 AS style
FROM (SELECT anon_9.id AS id, anon_9.value AS value, max(anon_9.t) AS max_1, NULL AS anon_8
FROM (SELECT cast(cast(mails.scored.[mail id] as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) AS id, coalesce(nullif(trim(cast(cast(mails.scored.[order] as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000))), :nullif_5), :coalesce_1) AS value, CASE WHEN (mails.scored.scored_at BETWEEN :param_7 AND :param_8) THEN mails.scored.scored_at END AS t
FROM mails.scored
WHERE cast(cast(mails.scored.tenant as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) IN (:param_9_1, :param_9_2, :param_9_3, :param_9_4)) AS anon_9
WHERE anon_9.value IS NOT NULL GROUP BY anon_9.id, anon_9.value) AS anon_7) AS anon_2
WHERE (anon_2.value NOT IN (:value_1_1)) GROUP BY anon_2.id) AS anon_6 ON anon_6.[key] = anon_1.[key] JOIN (SELECT anon_7.id AS id, anon_7.value AS value, anon_7.max_1 AS known, anon_7.anon_8 AS style
FROM (SELECT anon_9.id AS id, anon_9.value AS value, max(anon_9.t) AS max_1, NULL AS anon_8
FROM (SELECT cast(cast(mails.scored.[mail id] as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) AS id, coalesce(nullif(trim(cast(cast(mails.scored.[order] as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000))), :nullif_5), :coalesce_1) AS value, CASE WHEN (mails.scored.scored_at BETWEEN :param_7 AND :param_8) THEN mails.scored.scored_at END AS t
FROM mails.scored
WHERE cast(cast(mails.scored.tenant as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) IN (:param_9_1, :param_9_2, :param_9_3, :param_9_4)) AS anon_9
WHERE anon_9.value IS NOT NULL GROUP BY anon_9.id, anon_9.value) AS anon_7) AS anon_2 ON anon_2.id = anon_1.[key]
WHERE anon_6.values_of > 1;

-- rows that another spelling leaves out
SELECT anon_1.value, count(*) AS count_1
FROM (SELECT cast(cast(mails.scored.tenant as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) AS value
FROM mails.scored
WHERE mails.scored.scored_at >= :param_1 AND mails.scored.scored_at < :param_2 AND lower(trim(cast(cast(mails.scored.tenant as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)))) IN (:lower_1_1, :lower_1_2, :lower_1_3, :lower_1_4) AND (cast(cast(mails.scored.tenant as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 as varchar(8000)) NOT IN (:param_3_1, :param_3_2, :param_3_3, :param_3_4))) AS anon_1 GROUP BY anon_1.value;
