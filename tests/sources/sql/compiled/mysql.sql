-- mysql. Compiled, not run.
set session time_zone = '+00:00';
set session transaction isolation level repeatable read;
set session max_execution_time = %(ms)d;
start transaction with consistent snapshot, read only;

-- counts of the window
SELECT anon_1.k, anon_1.bucket, anon_1.version, count(*) AS count_1, max(anon_1.t) AS max_1, NULL AS anon_2
FROM (SELECT anon_3.k AS k, anon_3.t AS t, anon_3.version AS version, anon_3.segment_0 AS segment_0, CASE WHEN (anon_3.id IS NULL OR length(anon_3.id) = 0) THEN -5 WHEN (anon_3.version IS NULL) THEN -6 WHEN ((anon_3.predicted_0 NOT IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s))) THEN -13 WHEN (anon_3.predicted_0 IS NULL) THEN -7 WHEN (anon_3.predicted_0 IN (%s, %s, %s, %s, %s, %s, %s)) THEN CASE WHEN (anon_3.score_0 IS NULL) THEN -8 ELSE CASE WHEN (anon_3.score_0 < %s) THEN 0 ELSE 1 END END ELSE CASE WHEN (anon_3.score_0 IS NULL) THEN -8 ELSE CASE WHEN (anon_3.score_0 < %s) THEN 2 ELSE 3 END END END AS bucket
FROM (SELECT anon_4.id AS id, anon_4.t AS t, anon_4.version AS version, anon_4.segment_0 AS segment_0, anon_4.score_0 AS score_0, anon_4.predicted_0 AS predicted_0, 0 AS k
FROM (SELECT replace(convert(mails.scored.`mail id` using utf8mb4) collate utf8mb4_0900_bin, char(0 using utf8mb4), concat(char(92 using utf8mb4), 'x00')) AS id, mails.scored.scored_at AS t, nullif(trim(convert(mails.scored.version using utf8mb4) collate utf8mb4_0900_bin), %s) AS version, coalesce(substr(nullif(trim(convert(mails.scored.country using utf8mb4) collate utf8mb4_0900_bin), %s), 1, 100), %s) AS segment_0, (mails.scored.score + 0e0) AS score_0, nullif(nullif(trim(convert((mails.scored.`order` + 0) using utf8mb4) collate utf8mb4_0900_bin), %s), %s) AS predicted_0
FROM mails.scored
WHERE convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin IN (%s, %s, %s, %s) AND mails.scored.scored_at >= %s AND mails.scored.scored_at < %s) AS anon_4) AS anon_3) AS anon_1 GROUP BY anon_1.k, anon_1.bucket, anon_1.version;

-- counts by segment
SELECT anon_1.k, anon_1.bucket, anon_1.segment_0, count(*) AS count_1
FROM (SELECT anon_2.k AS k, anon_2.t AS t, anon_2.version AS version, anon_2.segment_0 AS segment_0, CASE WHEN (anon_2.id IS NULL OR length(anon_2.id) = 0) THEN -5 WHEN (anon_2.version IS NULL) THEN -6 WHEN ((anon_2.predicted_0 NOT IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s))) THEN -13 WHEN (anon_2.predicted_0 IS NULL) THEN -7 WHEN (anon_2.predicted_0 IN (%s, %s, %s, %s, %s, %s, %s)) THEN CASE WHEN (anon_2.score_0 IS NULL) THEN -8 ELSE CASE WHEN (anon_2.score_0 < %s) THEN 0 ELSE 1 END END ELSE CASE WHEN (anon_2.score_0 IS NULL) THEN -8 ELSE CASE WHEN (anon_2.score_0 < %s) THEN 2 ELSE 3 END END END AS bucket
FROM (SELECT anon_3.id AS id, anon_3.t AS t, anon_3.version AS version, anon_3.segment_0 AS segment_0, anon_3.score_0 AS score_0, anon_3.predicted_0 AS predicted_0, 0 AS k
FROM (SELECT replace(convert(mails.scored.`mail id` using utf8mb4) collate utf8mb4_0900_bin, char(0 using utf8mb4), concat(char(92 using utf8mb4), 'x00')) AS id, mails.scored.scored_at AS t, nullif(trim(convert(mails.scored.version using utf8mb4) collate utf8mb4_0900_bin), %s) AS version, coalesce(substr(nullif(trim(convert(mails.scored.country using utf8mb4) collate utf8mb4_0900_bin), %s), 1, 100), %s) AS segment_0, (mails.scored.score + 0e0) AS score_0, nullif(nullif(trim(convert((mails.scored.`order` + 0) using utf8mb4) collate utf8mb4_0900_bin), %s), %s) AS predicted_0
FROM mails.scored
WHERE convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin IN (%s, %s, %s, %s) AND mails.scored.scored_at >= %s AND mails.scored.scored_at < %s) AS anon_3) AS anon_2) AS anon_1
WHERE anon_1.bucket >= 0 AND anon_1.version = %s GROUP BY anon_1.k, anon_1.bucket, anon_1.segment_0;

-- draw
SELECT md5(concat(%s, anon_1.id)) AS h, anon_1.id, anon_1.segment_0, CASE WHEN (anon_1.id IS NULL OR length(anon_1.id) = 0) THEN -5 WHEN (anon_1.version IS NULL) THEN -6 WHEN ((anon_1.predicted_0 NOT IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s))) THEN -13 WHEN (anon_1.predicted_0 IS NULL) THEN -7 WHEN (anon_1.predicted_0 IN (%s, %s, %s, %s, %s, %s, %s)) THEN CASE WHEN (anon_1.score_0 IS NULL) THEN -8 ELSE CASE WHEN (anon_1.score_0 < %s) THEN 0 ELSE 1 END END ELSE CASE WHEN (anon_1.score_0 IS NULL) THEN -8 ELSE CASE WHEN (anon_1.score_0 < %s) THEN 2 ELSE 3 END END END AS bucket_0, anon_1.score_0 AS score_0, NULL AS challenged_0, NULL AS chance_0
FROM (SELECT replace(convert(mails.scored.`mail id` using utf8mb4) collate utf8mb4_0900_bin, char(0 using utf8mb4), concat(char(92 using utf8mb4), 'x00')) AS id, mails.scored.scored_at AS t, nullif(trim(convert(mails.scored.version using utf8mb4) collate utf8mb4_0900_bin), %s) AS version, coalesce(substr(nullif(trim(convert(mails.scored.country using utf8mb4) collate utf8mb4_0900_bin), %s), 1, 100), %s) AS segment_0, (mails.scored.score + 0e0) AS score_0, nullif(nullif(trim(convert((mails.scored.`order` + 0) using utf8mb4) collate utf8mb4_0900_bin), %s), %s) AS predicted_0
FROM mails.scored
WHERE convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin IN (%s, %s, %s, %s) AND mails.scored.scored_at >= %s AND mails.scored.scored_at < %s) AS anon_1
WHERE md5(concat(%s, anon_1.id)) < CASE WHEN (anon_1.id IS NULL OR length(anon_1.id) = 0) THEN '' WHEN (anon_1.version IS NULL) THEN '' WHEN ((anon_1.predicted_0 NOT IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s))) THEN '' WHEN (anon_1.predicted_0 IS NULL) THEN '' WHEN (anon_1.predicted_0 IN (%s, %s, %s, %s, %s, %s, %s)) THEN CASE WHEN (anon_1.score_0 IS NULL) THEN '' ELSE CASE WHEN (anon_1.score_0 < %s) THEN 'g' ELSE '00aabbccddee' END END ELSE CASE WHEN (anon_1.score_0 IS NULL) THEN '' ELSE CASE WHEN (anon_1.score_0 < %s) THEN '0123456789ab' ELSE '000fffffffff' END END END AND anon_1.version = %s;

-- rows of the window
SELECT count(*) AS count_1
FROM mails.scored
WHERE convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin IN (%s, %s, %s, %s) AND mails.scored.scored_at >= %s AND mails.scored.scored_at < %s;

-- rows without a time
SELECT -3, count(*) AS count_1, NULL AS anon_1
FROM mails.scored
WHERE convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin IN (%s, %s, %s, %s) AND mails.scored.scored_at IS NULL;

-- rows with a time
SELECT count(*) AS count_1
FROM mails.scored
WHERE convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin IN (%s, %s, %s, %s) AND mails.scored.scored_at IS NOT NULL;

-- a time without a zone
SELECT convert(mails.scored.scored_at using utf8mb4) collate utf8mb4_0900_bin AS anon_1
FROM mails.scored
WHERE convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin IN (%s, %s, %s, %s) AND mails.scored.scored_at IS NOT NULL
 LIMIT %s;

-- values that the config does not name
SELECT anon_1.value, count(*) AS rows_of_it
FROM (SELECT substr(anon_2.predicted, 1, 100) AS value
FROM (SELECT replace(convert(mails.scored.`mail id` using utf8mb4) collate utf8mb4_0900_bin, char(0 using utf8mb4), concat(char(92 using utf8mb4), 'x00')) AS id, mails.scored.scored_at AS t, (mails.scored.score + 0e0) AS score, nullif(nullif(trim(convert((mails.scored.`order` + 0) using utf8mb4) collate utf8mb4_0900_bin), %s), %s) AS predicted, nullif(trim(convert(mails.scored.version using utf8mb4) collate utf8mb4_0900_bin), %s) AS version, coalesce(substr(nullif(trim(convert(mails.scored.country using utf8mb4) collate utf8mb4_0900_bin), %s), 1, 100), %s) AS segment_0
FROM mails.scored
WHERE convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin IN (%s, %s, %s, %s) AND mails.scored.scored_at >= %s AND mails.scored.scored_at < %s) AS anon_2
WHERE (anon_2.predicted NOT IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s))) AS anon_1 GROUP BY anon_1.value ORDER BY rows_of_it DESC, anon_1.value
 LIMIT %s;

-- span
SELECT min(mails.scored.scored_at) AS min_1, max(mails.scored.scored_at) AS max_1
FROM mails.scored
WHERE convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin IN (%s, %s, %s, %s) AND mails.scored.scored_at BETWEEN %s AND %s;

-- what people see
SELECT replace(convert(mails.scored.`mail id` using utf8mb4) collate utf8mb4_0900_bin, char(0 using utf8mb4), concat(char(92 using utf8mb4), 'x00')) AS anon_1, convert(mails.scored.text using utf8mb4) collate utf8mb4_0900_bin AS anon_2, substring(mails.scored.face, %s, %s) AS substring_1
FROM mails.scored
WHERE convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin IN (%s, %s, %s, %s) AND mails.scored.scored_at >= %s AND mails.scored.scored_at < %s AND mails.scored.`mail id` IN (%s, %s);

-- times of some ids
SELECT anon_1.id, min(anon_1.t) AS min_1
FROM (SELECT replace(convert(mails.scored.`mail id` using utf8mb4) collate utf8mb4_0900_bin, char(0 using utf8mb4), concat(char(92 using utf8mb4), 'x00')) AS id, mails.scored.scored_at AS t
FROM mails.scored
WHERE convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin IN (%s, %s, %s, %s) AND mails.scored.scored_at >= %s AND mails.scored.scored_at < %s AND mails.scored.`mail id` IN (%s, %s)) AS anon_1 GROUP BY anon_1.id;

-- truth of some ids
SELECT anon_1.id, anon_1.value, max(anon_1.t) AS max_1, NULL AS anon_2
FROM (SELECT replace(convert(mails.scored.`mail id` using utf8mb4) collate utf8mb4_0900_bin, char(0 using utf8mb4), concat(char(92 using utf8mb4), 'x00')) AS id, coalesce(nullif(trim(convert((mails.scored.`order` + 0) using utf8mb4) collate utf8mb4_0900_bin), %s), %s) AS value, CASE WHEN (mails.scored.scored_at BETWEEN %s AND %s) THEN mails.scored.scored_at END AS t
FROM mails.scored
WHERE convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin IN (%s, %s, %s, %s) AND mails.scored.`mail id` IN (%s, %s)) AS anon_1
WHERE anon_1.value IS NOT NULL GROUP BY anon_1.id, anon_1.value;

-- values of the truth
SELECT anon_1.value, count(*) AS count_1
FROM (SELECT nullif(trim(convert((mails.scored.`order` + 0) using utf8mb4) collate utf8mb4_0900_bin), %s) AS value
FROM mails.scored
WHERE convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin IN (%s, %s, %s, %s)) AS anon_1
WHERE anon_1.value IS NOT NULL GROUP BY anon_1.value;

-- first ids
SELECT DISTINCT anon_1.id
FROM (SELECT replace(convert(mails.scored.`mail id` using utf8mb4) collate utf8mb4_0900_bin, char(0 using utf8mb4), concat(char(92 using utf8mb4), 'x00')) AS id
FROM mails.scored
WHERE convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin IN (%s, %s, %s, %s)) AS anon_1
WHERE coalesce(anon_1.id, %s) != %s ORDER BY anon_1.id
 LIMIT %s;

-- ids with blanks around them
SELECT count(*) AS count_1
FROM (SELECT replace(convert(mails.scored.`mail id` using utf8mb4) collate utf8mb4_0900_bin, char(0 using utf8mb4), concat(char(92 using utf8mb4), 'x00')) AS id
FROM mails.scored
WHERE convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin IN (%s, %s, %s, %s) AND mails.scored.scored_at >= %s AND mails.scored.scored_at < %s) AS anon_1
WHERE left(anon_1.id, 1) IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) OR right(anon_1.id, 1) IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s);

-- items by what the truth has of them
SELECT anon_1.bucket, count(*) AS count_1, anon_2.value, anon_2.values_of, anon_1.segment_0
FROM (SELECT anon_3.id AS id, anon_3.bucket AS bucket, anon_3.segment_0 AS segment_0, anon_3.id AS `key`
FROM (SELECT anon_4.id AS id, min(anon_4.bucket) AS bucket, min(anon_4.segment_0) AS segment_0
FROM (SELECT anon_5.id AS id, anon_5.t AS t, anon_5.score AS score, anon_5.predicted AS predicted, anon_5.version AS version, anon_5.segment_0 AS segment_0, CASE WHEN (anon_5.id IS NULL OR length(anon_5.id) = 0) THEN -5 WHEN (anon_5.version IS NULL) THEN -6 WHEN ((anon_5.predicted NOT IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s))) THEN -13 WHEN (anon_5.predicted IS NULL) THEN -7 WHEN (anon_5.predicted IN (%s, %s, %s, %s, %s, %s, %s)) THEN CASE WHEN (anon_5.score IS NULL) THEN -8 ELSE CASE WHEN (anon_5.score < %s) THEN 0 ELSE 1 END END ELSE CASE WHEN (anon_5.score IS NULL) THEN -8 ELSE CASE WHEN (anon_5.score < %s) THEN 2 ELSE 3 END END END AS bucket
FROM (SELECT replace(convert(mails.scored.`mail id` using utf8mb4) collate utf8mb4_0900_bin, char(0 using utf8mb4), concat(char(92 using utf8mb4), 'x00')) AS id, mails.scored.scored_at AS t, (mails.scored.score + 0e0) AS score, nullif(nullif(trim(convert((mails.scored.`order` + 0) using utf8mb4) collate utf8mb4_0900_bin), %s), %s) AS predicted, nullif(trim(convert(mails.scored.version using utf8mb4) collate utf8mb4_0900_bin), %s) AS version, coalesce(substr(nullif(trim(convert(mails.scored.country using utf8mb4) collate utf8mb4_0900_bin), %s), 1, 100), %s) AS segment_0
FROM mails.scored
WHERE convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin IN (%s, %s, %s, %s) AND mails.scored.scored_at >= %s AND mails.scored.scored_at < %s) AS anon_5) AS anon_4
WHERE anon_4.bucket >= 0 AND anon_4.version = %s GROUP BY anon_4.id) AS anon_3) AS anon_1 LEFT OUTER JOIN (SELECT anon_6.id AS `key`, count(DISTINCT anon_6.value) AS values_of, min(anon_6.value) AS value
FROM (SELECT anon_7.id AS id, anon_7.value AS value, anon_7.max_1 AS known, anon_7.anon_8 AS style
FROM (SELECT anon_9.id AS id, anon_9.value AS value, max(anon_9.t) AS max_1, NULL AS anon_8
FROM (SELECT replace(convert(mails.scored.`mail id` using utf8mb4) collate utf8mb4_0900_bin, char(0 using utf8mb4), concat(char(92 using utf8mb4), 'x00')) AS id, coalesce(nullif(trim(convert((mails.scored.`order` + 0) using utf8mb4) collate utf8mb4_0900_bin), %s), %s) AS value, CASE WHEN (mails.scored.scored_at BETWEEN %s AND %s) THEN mails.scored.scored_at END AS t
FROM mails.scored
WHERE convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin IN (%s, %s, %s, %s)) AS anon_9
WHERE anon_9.value IS NOT NULL GROUP BY anon_9.id, anon_9.value) AS anon_7) AS anon_6
WHERE (anon_6.value NOT IN (%s)) GROUP BY anon_6.id) AS anon_2 ON anon_2.`key` = anon_1.`key` GROUP BY anon_1.bucket, anon_2.value, anon_2.values_of, anon_1.segment_0;

-- items of which the truth has several values
SELECT anon_1.id, anon_1.bucket, anon_2.value, anon_2.known, anon_2.style, anon_1.segment_0
FROM (SELECT anon_3.id AS id, anon_3.bucket AS bucket, anon_3.segment_0 AS segment_0, anon_3.id AS `key`
FROM (SELECT anon_4.id AS id, min(anon_4.bucket) AS bucket, min(anon_4.segment_0) AS segment_0
FROM (SELECT anon_5.id AS id, anon_5.t AS t, anon_5.score AS score, anon_5.predicted AS predicted, anon_5.version AS version, anon_5.segment_0 AS segment_0, CASE WHEN (anon_5.id IS NULL OR length(anon_5.id) = 0) THEN -5 WHEN (anon_5.version IS NULL) THEN -6 WHEN ((anon_5.predicted NOT IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s))) THEN -13 WHEN (anon_5.predicted IS NULL) THEN -7 WHEN (anon_5.predicted IN (%s, %s, %s, %s, %s, %s, %s)) THEN CASE WHEN (anon_5.score IS NULL) THEN -8 ELSE CASE WHEN (anon_5.score < %s) THEN 0 ELSE 1 END END ELSE CASE WHEN (anon_5.score IS NULL) THEN -8 ELSE CASE WHEN (anon_5.score < %s) THEN 2 ELSE 3 END END END AS bucket
FROM (SELECT replace(convert(mails.scored.`mail id` using utf8mb4) collate utf8mb4_0900_bin, char(0 using utf8mb4), concat(char(92 using utf8mb4), 'x00')) AS id, mails.scored.scored_at AS t, (mails.scored.score + 0e0) AS score, nullif(nullif(trim(convert((mails.scored.`order` + 0) using utf8mb4) collate utf8mb4_0900_bin), %s), %s) AS predicted, nullif(trim(convert(mails.scored.version using utf8mb4) collate utf8mb4_0900_bin), %s) AS version, coalesce(substr(nullif(trim(convert(mails.scored.country using utf8mb4) collate utf8mb4_0900_bin), %s), 1, 100), %s) AS segment_0
FROM mails.scored
WHERE convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin IN (%s, %s, %s, %s) AND mails.scored.scored_at >= %s AND mails.scored.scored_at < %s) AS anon_5) AS anon_4
WHERE anon_4.bucket >= 0 AND anon_4.version = %s GROUP BY anon_4.id) AS anon_3) AS anon_1 INNER JOIN (SELECT anon_2.id AS `key`, count(DISTINCT anon_2.value) AS values_of, min(anon_2.value) AS value
FROM (SELECT anon_7.id AS id, anon_7.value AS value, anon_7.max_1 AS known, anon_7.anon_8 AS style
FROM (SELECT anon_9.id AS id, anon_9.value AS value, max(anon_9.t) AS max_1, NULL AS anon_8
FROM (SELECT replace(convert(mails.scored.`mail id` using utf8mb4) collate utf8mb4_0900_bin, char(0 using utf8mb4), concat(char(92 using utf8mb4), 'x00')) AS id, coalesce(nullif(trim(convert((mails.scored.`order` + 0) using utf8mb4) collate utf8mb4_0900_bin), %s), %s) AS value, CASE WHEN (mails.scored.scored_at BETWEEN %s AND %s) THEN mails.scored.scored_at END AS t
FROM mails.scored
WHERE convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin IN (%s, %s, %s, %s)) AS anon_9
WHERE anon_9.value IS NOT NULL GROUP BY anon_9.id, anon_9.value) AS anon_7) AS anon_2
WHERE (anon_2.value NOT IN (%s)) GROUP BY anon_2.id) AS anon_6 ON anon_6.`key` = anon_1.`key` INNER JOIN (SELECT anon_7.id AS id, anon_7.value AS value, anon_7.max_1 AS known, anon_7.anon_8 AS style
FROM (SELECT anon_9.id AS id, anon_9.value AS value, max(anon_9.t) AS max_1, NULL AS anon_8
FROM (SELECT replace(convert(mails.scored.`mail id` using utf8mb4) collate utf8mb4_0900_bin, char(0 using utf8mb4), concat(char(92 using utf8mb4), 'x00')) AS id, coalesce(nullif(trim(convert((mails.scored.`order` + 0) using utf8mb4) collate utf8mb4_0900_bin), %s), %s) AS value, CASE WHEN (mails.scored.scored_at BETWEEN %s AND %s) THEN mails.scored.scored_at END AS t
FROM mails.scored
WHERE convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin IN (%s, %s, %s, %s)) AS anon_9
WHERE anon_9.value IS NOT NULL GROUP BY anon_9.id, anon_9.value) AS anon_7) AS anon_2 ON anon_2.id = anon_1.`key`
WHERE anon_6.values_of > 1;

-- rows that another spelling leaves out
SELECT anon_1.value, count(*) AS count_1
FROM (SELECT convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin AS value
FROM mails.scored
WHERE mails.scored.scored_at >= %s AND mails.scored.scored_at < %s AND lower(trim(convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin)) IN (%s, %s, %s, %s) AND (convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin NOT IN (%s, %s, %s, %s))) AS anon_1 GROUP BY anon_1.value;

-- counts for two monitors
SELECT anon_1.k, anon_1.bucket, anon_1.version, count(*) AS count_1, max(CASE WHEN (anon_1.k = 0) THEN anon_1.t END) AS max_1, NULL AS anon_2
FROM (SELECT anon_3.k AS k, anon_3.t AS t, anon_3.version AS version, anon_3.segment_0 AS segment_0, CASE WHEN (anon_3.k < 1) THEN CASE WHEN (anon_3.id IS NULL OR length(anon_3.id) = 0) THEN -5 WHEN (anon_3.version IS NULL) THEN -6 WHEN ((anon_3.predicted_0 NOT IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s))) THEN -13 WHEN (anon_3.predicted_0 IS NULL) THEN -7 WHEN (anon_3.predicted_0 IN (%s, %s, %s, %s, %s, %s, %s)) THEN CASE WHEN (anon_3.score_0 IS NULL) THEN -8 ELSE CASE WHEN (anon_3.score_0 < %s) THEN 0 ELSE 1 END END ELSE CASE WHEN (anon_3.score_0 IS NULL) THEN -8 ELSE CASE WHEN (anon_3.score_0 < %s) THEN 2 ELSE 3 END END END ELSE CASE WHEN (anon_3.id IS NULL OR length(anon_3.id) = 0) THEN -5 WHEN (anon_3.version IS NULL) THEN -6 WHEN ((anon_3.predicted_1 NOT IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s))) THEN -13 WHEN (anon_3.predicted_1 IS NULL) THEN -7 WHEN (anon_3.predicted_1 IN (%s, %s, %s, %s, %s, %s, %s)) THEN CASE WHEN (anon_3.score_1 IS NULL) THEN 0 ELSE 0 END ELSE CASE WHEN (anon_3.score_1 IS NULL) THEN 1 ELSE 1 END END END AS bucket
FROM (SELECT anon_4.id AS id, anon_4.t AS t, anon_4.version AS version, anon_4.segment_0 AS segment_0, anon_4.score_0 AS score_0, anon_4.predicted_0 AS predicted_0, anon_4.score_1 AS score_1, anon_4.predicted_1 AS predicted_1, anon_5.k AS k
FROM (SELECT replace(convert(mails.scored.`mail id` using utf8mb4) collate utf8mb4_0900_bin, char(0 using utf8mb4), concat(char(92 using utf8mb4), 'x00')) AS id, mails.scored.scored_at AS t, nullif(trim(convert(mails.scored.version using utf8mb4) collate utf8mb4_0900_bin), %s) AS version, coalesce(substr(nullif(trim(convert(mails.scored.country using utf8mb4) collate utf8mb4_0900_bin), %s), 1, 100), %s) AS segment_0, (mails.scored.score + 0e0) AS score_0, nullif(nullif(trim(convert((mails.scored.`order` + 0) using utf8mb4) collate utf8mb4_0900_bin), %s), %s) AS predicted_0, (mails.scored.score + 0e0) AS score_1, nullif(nullif(trim(convert((mails.scored.`order` + 0) using utf8mb4) collate utf8mb4_0900_bin), %s), %s) AS predicted_1
FROM mails.scored
WHERE convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin IN (%s, %s, %s, %s) AND mails.scored.scored_at >= %s AND mails.scored.scored_at < %s) AS anon_4 CROSS JOIN (SELECT 0 AS k UNION ALL SELECT 1 AS k) AS anon_5) AS anon_3) AS anon_1 GROUP BY anon_1.k, anon_1.bucket, anon_1.version;

-- counts by segment for two monitors
SELECT anon_1.k, anon_1.bucket, anon_1.segment_0, count(*) AS count_1
FROM (SELECT anon_2.k AS k, anon_2.t AS t, anon_2.version AS version, anon_2.segment_0 AS segment_0, CASE WHEN (anon_2.k < 1) THEN CASE WHEN (anon_2.id IS NULL OR length(anon_2.id) = 0) THEN -5 WHEN (anon_2.version IS NULL) THEN -6 WHEN ((anon_2.predicted_0 NOT IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s))) THEN -13 WHEN (anon_2.predicted_0 IS NULL) THEN -7 WHEN (anon_2.predicted_0 IN (%s, %s, %s, %s, %s, %s, %s)) THEN CASE WHEN (anon_2.score_0 IS NULL) THEN -8 ELSE CASE WHEN (anon_2.score_0 < %s) THEN 0 ELSE 1 END END ELSE CASE WHEN (anon_2.score_0 IS NULL) THEN -8 ELSE CASE WHEN (anon_2.score_0 < %s) THEN 2 ELSE 3 END END END ELSE CASE WHEN (anon_2.id IS NULL OR length(anon_2.id) = 0) THEN -5 WHEN (anon_2.version IS NULL) THEN -6 WHEN ((anon_2.predicted_1 NOT IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s))) THEN -13 WHEN (anon_2.predicted_1 IS NULL) THEN -7 WHEN (anon_2.predicted_1 IN (%s, %s, %s, %s, %s, %s, %s)) THEN CASE WHEN (anon_2.score_1 IS NULL) THEN 0 ELSE 0 END ELSE CASE WHEN (anon_2.score_1 IS NULL) THEN 1 ELSE 1 END END END AS bucket
FROM (SELECT anon_3.id AS id, anon_3.t AS t, anon_3.version AS version, anon_3.segment_0 AS segment_0, anon_3.score_0 AS score_0, anon_3.predicted_0 AS predicted_0, anon_3.score_1 AS score_1, anon_3.predicted_1 AS predicted_1, anon_4.k AS k
FROM (SELECT replace(convert(mails.scored.`mail id` using utf8mb4) collate utf8mb4_0900_bin, char(0 using utf8mb4), concat(char(92 using utf8mb4), 'x00')) AS id, mails.scored.scored_at AS t, nullif(trim(convert(mails.scored.version using utf8mb4) collate utf8mb4_0900_bin), %s) AS version, coalesce(substr(nullif(trim(convert(mails.scored.country using utf8mb4) collate utf8mb4_0900_bin), %s), 1, 100), %s) AS segment_0, (mails.scored.score + 0e0) AS score_0, nullif(nullif(trim(convert((mails.scored.`order` + 0) using utf8mb4) collate utf8mb4_0900_bin), %s), %s) AS predicted_0, (mails.scored.score + 0e0) AS score_1, nullif(nullif(trim(convert((mails.scored.`order` + 0) using utf8mb4) collate utf8mb4_0900_bin), %s), %s) AS predicted_1
FROM mails.scored
WHERE convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin IN (%s, %s, %s, %s) AND mails.scored.scored_at >= %s AND mails.scored.scored_at < %s) AS anon_3 CROSS JOIN (SELECT 0 AS k UNION ALL SELECT 1 AS k) AS anon_4) AS anon_2) AS anon_1
WHERE anon_1.bucket >= 0 AND anon_1.version = %s GROUP BY anon_1.k, anon_1.bucket, anon_1.segment_0;

-- draw for two monitors
SELECT md5(concat(%s, anon_1.id)) AS h, anon_1.id, anon_1.segment_0, CASE WHEN (anon_1.id IS NULL OR length(anon_1.id) = 0) THEN -5 WHEN (anon_1.version IS NULL) THEN -6 WHEN ((anon_1.predicted_0 NOT IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s))) THEN -13 WHEN (anon_1.predicted_0 IS NULL) THEN -7 WHEN (anon_1.predicted_0 IN (%s, %s, %s, %s, %s, %s, %s)) THEN CASE WHEN (anon_1.score_0 IS NULL) THEN -8 ELSE CASE WHEN (anon_1.score_0 < %s) THEN 0 ELSE 1 END END ELSE CASE WHEN (anon_1.score_0 IS NULL) THEN -8 ELSE CASE WHEN (anon_1.score_0 < %s) THEN 2 ELSE 3 END END END AS bucket_0, CASE WHEN (anon_1.id IS NULL OR length(anon_1.id) = 0) THEN -5 WHEN (anon_1.version IS NULL) THEN -6 WHEN ((anon_1.predicted_1 NOT IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s))) THEN -13 WHEN (anon_1.predicted_1 IS NULL) THEN -7 WHEN (anon_1.predicted_1 IN (%s, %s, %s, %s, %s, %s, %s)) THEN CASE WHEN (anon_1.score_1 IS NULL) THEN 0 ELSE 0 END ELSE CASE WHEN (anon_1.score_1 IS NULL) THEN 1 ELSE 1 END END AS bucket_1, anon_1.score_0 AS score_0, anon_1.score_1 AS score_1, NULL AS challenged_0, NULL AS challenged_1, NULL AS chance_0, NULL AS chance_1
FROM (SELECT replace(convert(mails.scored.`mail id` using utf8mb4) collate utf8mb4_0900_bin, char(0 using utf8mb4), concat(char(92 using utf8mb4), 'x00')) AS id, mails.scored.scored_at AS t, nullif(trim(convert(mails.scored.version using utf8mb4) collate utf8mb4_0900_bin), %s) AS version, coalesce(substr(nullif(trim(convert(mails.scored.country using utf8mb4) collate utf8mb4_0900_bin), %s), 1, 100), %s) AS segment_0, (mails.scored.score + 0e0) AS score_0, nullif(nullif(trim(convert((mails.scored.`order` + 0) using utf8mb4) collate utf8mb4_0900_bin), %s), %s) AS predicted_0, (mails.scored.score + 0e0) AS score_1, nullif(nullif(trim(convert((mails.scored.`order` + 0) using utf8mb4) collate utf8mb4_0900_bin), %s), %s) AS predicted_1
FROM mails.scored
WHERE convert(mails.scored.tenant using utf8mb4) collate utf8mb4_0900_bin IN (%s, %s, %s, %s) AND mails.scored.scored_at >= %s AND mails.scored.scored_at < %s) AS anon_1
WHERE md5(concat(%s, anon_1.id)) < greatest(CASE WHEN (anon_1.id IS NULL OR length(anon_1.id) = 0) THEN '' WHEN (anon_1.version IS NULL) THEN '' WHEN ((anon_1.predicted_0 NOT IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s))) THEN '' WHEN (anon_1.predicted_0 IS NULL) THEN '' WHEN (anon_1.predicted_0 IN (%s, %s, %s, %s, %s, %s, %s)) THEN CASE WHEN (anon_1.score_0 IS NULL) THEN '' ELSE CASE WHEN (anon_1.score_0 < %s) THEN 'g' ELSE '00aabbccddee' END END ELSE CASE WHEN (anon_1.score_0 IS NULL) THEN '' ELSE CASE WHEN (anon_1.score_0 < %s) THEN '0123456789ab' ELSE '000fffffffff' END END END, CASE WHEN (anon_1.id IS NULL OR length(anon_1.id) = 0) THEN '' WHEN (anon_1.version IS NULL) THEN '' WHEN ((anon_1.predicted_1 NOT IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s))) THEN '' WHEN (anon_1.predicted_1 IS NULL) THEN '' WHEN (anon_1.predicted_1 IN (%s, %s, %s, %s, %s, %s, %s)) THEN CASE WHEN (anon_1.score_1 IS NULL) THEN 'g' ELSE 'g' END ELSE CASE WHEN (anon_1.score_1 IS NULL) THEN '00aabbccddee' ELSE '00aabbccddee' END END) AND anon_1.version = %s;
