select variant, position_id, count(*) as rows from position_sample group by variant, position_id having rows > 1;
