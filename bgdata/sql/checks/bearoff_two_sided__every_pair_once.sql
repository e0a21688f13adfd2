select variant, count(*) as rows from bearoff_two_sided group by variant
having count(*) <> (max(on_roll_index) + 1)::bigint * (max(opponent_index) + 1) or max(on_roll_index) <> max(opponent_index);
