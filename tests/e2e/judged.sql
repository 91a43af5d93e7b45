-- The verdict that a scenario must get. The format is that of truth.sql.

--- the verdict is the one that this scenario must get
SELECT t.value must, v.code, v.headline FROM truth_figure t LEFT JOIN v_verdict v
WHERE t.kind = 'verdict' AND v.code IS NOT t.value;

--- the verdict is none that this scenario must not get
SELECT t.value must_not, v.headline FROM truth_figure t JOIN v_verdict v ON v.code = t.value
WHERE t.kind = 'verdict_not';

--- there is one verdict
SELECT count(*) FROM v_verdict HAVING count(*) <> 1;
