select variant, position_id, count(*) as rows
from lookahead_labels
group by variant, position_id
having rows > 1;
