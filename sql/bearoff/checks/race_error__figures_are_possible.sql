-- a mean lies between the extremes, and sizes are no smaller than their mean, nor much larger than the deviation
select * from race_error
where not coalesce(pairs > 0
                   and sd_difference >= 0
                   and abs(mean_difference) <= mean_absolute_difference + 1e-12
                   and mean_absolute_difference <= sqrt(sd_difference ** 2 + mean_difference ** 2) + 1e-9
                   and mean_difference between smallest_difference - 1e-6 and largest_difference + 1e-6
                   and least(largest_on_roll_index, largest_opponent_index) > 0
                   and least(smallest_on_roll_index, smallest_opponent_index) > 0, false);
