-- the index grows by one from row to row, and by checkers; the macro would be slow on millions of rows, so a sample
select variant, position_index, points
from bearoff_one_sided
where position_index % 97 = 0 and (position_index <> bearoff_index(points) or checkers <> list_sum(points) or pip_count <> pip_count(points));
