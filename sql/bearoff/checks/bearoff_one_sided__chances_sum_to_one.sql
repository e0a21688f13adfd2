-- 32 float32 chances, each within 6e-8
select variant, position_index, list_sum(chances) as total from bearoff_one_sided where abs(list_sum(chances) - 1) > 2e-6;
