select variant, count(*) as rows, max(position_index) as last from bearoff_one_sided group by variant
having count(*) <> max(position_index) + 1 or count(distinct position_index) <> count(*) or min(position_index) <> 0;
