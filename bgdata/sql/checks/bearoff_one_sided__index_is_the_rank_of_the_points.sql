-- a sample, for the macro is slow on millions of rows
select variant, position_index, points
from bearoff_one_sided
where position_index % 1009 = 0
  and (position_index <> bearoff_index(points) or checkers <> list_sum(points) or pip_count <> pip_count(points));
