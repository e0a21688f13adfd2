-- rolls up to 50 times the error of each float32 chance
select variant, position_index, mean_rolls
from bearoff_one_sided
where abs(mean_rolls - list_sum(list_transform(chances, lambda chance, n: chance::double * (n - 1)))) > 1e-5;
