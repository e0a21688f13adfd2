select variant, score = 'money' as is_money, game, count(*) as decisions
from cube_benchmark
group by all
having decisions > 1;
