-- nobody loses more than was at stake, and no mean is above the largest
select * from race_rules
where mean_loss_per_cube < 0 or mean_loss_per_cube > largest_loss + 1e-9 or isnan(mean_loss_per_cube)
   or largest_loss not between 0 and 4 or error_share not between 0 and 1
   or (largest_loss > 0) <> (on_roll_index is not null and opponent_index is not null);
