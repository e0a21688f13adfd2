-- of the ways in which games end, and of the values of the cube when they do
select variant, match_length, setting, measure like 'cube%' as is_cube, sum(value) as total
from cube_studies
where measure like 'cube%share' or measure in ('passed_share', 'single_share', 'gammon_share', 'backgammon_share')
group by all
having not abs(total - 1) < 1e-9;
